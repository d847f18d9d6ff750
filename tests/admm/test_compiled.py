"""The cache of compiled code: never stale, never shared while it is written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gridveil

RUN = """
from gridveil import AgentOptions, PolarLaplace, load_case, restore, simulate_loads, solve_acopf
network = load_case("case5_pjm")
noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
costs = solve_acopf(network).generator_costs
found = restore(network, noisy, costs, 0.1, "admm", agents=AgentOptions(max_iterations=200))
print(found.displacement.hex())
"""
FOLDER = """
from gridveil.admm.compiled import PACKAGE
from gridveil.compiled import cache_folder
print(cache_folder('engine', PACKAGE))
"""
OTHER_TYPES = "from gridveil.admm.agents import load_agent; print(load_agent(1, 1, 2, 2))"


def start(code, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def output(process):
    text = process.communicate(timeout=300)[0]
    assert process.returncode == 0
    return text.strip()


def test_processes_that_compile_at_once_do_not_spoil_the_cache(tmp_path):
    home = {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    at_once = {output(process) for process in [start(RUN, **home) for _ in range(2)]}
    folder = Path(output(start(FOLDER, **home)))
    there = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert folder / "complete" in there
    # Nothing half done is left over.
    assert not [path for path in folder.parent.iterdir() if path.name.startswith(".")]
    # Code for other types is not added to what others may be reading.
    assert output(start(OTHER_TYPES, **home)) == "1.5"
    later = output(start(RUN, **home))
    assert {later} == at_once
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == there


def test_a_copy_elsewhere_has_a_cache_of_its_own(tmp_path):
    shutil.copytree(Path(gridveil.__file__).parent, tmp_path / "gridveil")
    assert output(start(FOLDER)) != output(start(FOLDER, PYTHONPATH=str(tmp_path)))
