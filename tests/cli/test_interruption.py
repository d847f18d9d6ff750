"""Ctrl-C in real processes: the command ends at once, and what it says of the ledger is true."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

SECONDS = 3.0
"""A second on a machine with nothing else to do; tests run beside others."""


@dataclass(frozen=True)
class Scene:
    """A command, and when it is interrupted."""

    arguments: tuple[str, ...]
    at: str | float
    """When a line with this text is on standard error, a file of this name is there, or after so
    many seconds."""
    is_file: bool = False
    codes: tuple[int, ...] = (130,)


RELEASE = ("release", "case2869_pegase", "--plain", "-o", "out")
AGENTS = ("--method", "admm", "--tolerance", "0", "--max-iterations", "1000000000")
SCENES = {
    "loading": Scene(RELEASE, 0.5),
    "solving": Scene(("solve", "case9241_pegase"), 2.0),
    "sampling": Scene(RELEASE, "privacy phase"),
    "AC-OPF": Scene(RELEASE, "private costs"),
    "bilevel": Scene(("release", "case118_ieee", "--plain", "-o", "out"), "fidelity phase"),
    "agents of a study": Scene(
        ("simulate", "case118_ieee", *AGENTS, "--checkpoint", "run.npz"), "run.npz", True, (3,)
    ),
    "agents of a release": Scene(
        ("release", "case118_ieee", "-o", "out", *AGENTS, "--checkpoint", "run.npz"),
        "run.npz", True, (3,),
    ),
    "plan": Scene(("plan", "case118_ieee", "--plain"), "simulated release 2 of"),
    "sweep": Scene(("sweep", "study.toml", "-o", "results"), "results", True),
}  # fmt: skip
STUDY = 'cases = ["case118_ieee"]\nalphas = [0.1]\nbetas = [0.01]\ndraws = 400\n'


@dataclass(frozen=True)
class Outcome:
    code: int
    seconds: float
    out: str
    err: str
    charged: int
    """Releases in the ledger."""
    folder: Path


def interrupted(scene: Scene, folder: Path) -> Outcome:
    """Run a command in a folder and interrupt it."""
    folder.mkdir()
    (folder / "study.toml").write_text(STUDY)
    ledger = folder / "ledger.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-m", "gridveil", *scene.arguments],
        cwd=folder,
        env={**os.environ, "GRIDVEIL_LEDGER": str(ledger)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stderr), daemon=True)
    reader.start()
    until = time.monotonic() + (scene.at if isinstance(scene.at, float) else 100.0)
    while process.poll() is None and time.monotonic() < until:
        if isinstance(scene.at, str):
            there = (folder / scene.at).exists() if scene.is_file else None
            if there or (there is None and any(scene.at in line for line in list(lines))):
                break
        time.sleep(0.01)
    started = time.monotonic()
    assert process.poll() is None, (scene, lines)
    process.send_signal(signal.SIGINT)
    code = process.wait(60)
    seconds = time.monotonic() - started
    reader.join(10)
    out = process.stdout.read()
    charged = 0
    if ledger.exists():
        (charged,) = sqlite3.connect(ledger).execute("SELECT count(*) FROM releases").fetchone()
    return Outcome(code, seconds, out, "".join(lines), charged, folder)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    root = tmp_path_factory.mktemp("interrupted")
    with ThreadPoolExecutor(4) as pool:
        tasks = {
            name: pool.submit(interrupted, scene, root / name.replace(" ", "-"))
            for name, scene in SCENES.items()
        }
    return {name: task.result() for name, task in tasks.items()}


@pytest.mark.parametrize("name", SCENES)
def test_ctrl_c_ends_a_command_at_once(outcomes, name):
    outcome = outcomes[name]
    assert outcome.code in SCENES[name].codes, outcome.err
    assert outcome.seconds < SECONDS
    assert "Traceback" not in outcome.err
    assert "KeyboardInterrupt" not in outcome.err
    assert not (outcome.folder / "out").exists()


@pytest.mark.parametrize("name", SCENES)
def test_what_is_said_of_the_ledger_is_true(outcomes, name):
    outcome = outcomes[name]
    said = re.search(r"release id '\S+' was drawn and charged|kept under release id", outcome.err)
    assert (said is not None) == (outcome.charged > 0)
    if outcome.charged and outcome.code == 130:
        assert "run the same command again to finish it without a new charge" in " ".join(
            outcome.err.split()
        )


@pytest.mark.parametrize("name", ["AC-OPF", "bilevel", "agents of a release"])
def test_after_the_draw_it_is_charged(outcomes, name):
    assert outcomes[name].charged == 1


def test_a_release_that_was_cut_off_is_finished_without_a_new_charge(outcomes, gridveil):
    folder = outcomes["bilevel"].folder
    ledger = folder / "ledger.sqlite"
    again = gridveil("release", "case118_ieee", "-o", folder / "again", "--ledger", ledger)
    assert again.status == 0
    assert "nothing was drawn or charged again" in " ".join(again.out.split())
    (charged,) = sqlite3.connect(ledger).execute("SELECT count(*) FROM releases").fetchone()
    assert charged == 1


def test_agents_show_what_they_had_reached(outcomes):
    assert "stopped on request" in outcomes["agents of a study"].out


def test_no_process_of_a_sweep_stays_behind(outcomes):
    folder = outcomes["sweep"].folder
    deadline = time.monotonic() + 10
    while left := processes_in(folder):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    assert not list((folder / "results").glob("*.parquet"))


def processes_in(folder):
    """Return the processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").resolve() == folder.resolve():
                found.append(entry.name)
        except OSError:  # it ended meanwhile, or is another user's
            continue
    return found
