"""The GPU does what the CPU does: in Numba's simulator everywhere, and on a GPU where there is one.

The simulator runs the kernels as Python, thread by thread, so networks and runs are small here.
benchmarks/gpu.py compares six networks of up to 78,484 buses on a real one.
"""

import os
import pickle
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from gridveil import AgentOptions, PolarLaplace, Policy, load_case, simulate_loads
from gridveil.admm.device import Device
from gridveil.admm.engine import run_agents
from gridveil.admm.gpu.session import why_no_gpu
from gridveil.admm.layout import build_layout
from gridveil.fidelity.bands import cost_bands
from gridveil.opf.status import Status
from tests.admm.gpu.worker import run
from tests.admm.test_rounds import AWKWARD
from tests.cases import TINY, bus, gen, polynomial

NO_GPU = why_no_gpu()


def problem(network, seed=1):
    gens = network.generators
    costs = gens.costs((gens.p_min + gens.p_max) / 2)  # an AC-OPF's are not needed here
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), seed)
    layout = build_layout(network, cost_bands(network, costs, 0.3))
    return layout, np.concatenate([noisy.p, noisy.q])


def draws_of(network, seeds):
    draws = [simulate_loads(network, PolarLaplace.of(1, 0.1), seed) for seed in seeds]
    return [np.concatenate([noisy.p, noisy.q]) for noisy in draws]


def in_the_simulator(jobs, folder):
    (folder / "jobs").write_bytes(pickle.dumps(jobs))
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "tests.admm.gpu.worker", folder / "jobs", folder / "runs"]
    subprocess.run(command, check=True, env=environment, timeout=500)
    return pickle.loads((folder / "runs").read_bytes())


def on_cpu(layout, noisy, options):
    return run_agents(layout, noisy, replace(options, device=Device.CPU), threading.Event())


LONELY = TINY.with_(
    bus=[bus(1, 3, 20.0, 5.0)],
    gen=[gen(1, 200.0)],
    branch=[],
    gencost=[polynomial(0.02, 10.0, 5.0)],
)
"""A bus without lines."""
FIVE, THREE, ODD, LONE = (
    problem(network)
    for network in (
        load_case("case5_pjm"), load_case("case3_lmbd"), AWKWARD.network(), LONELY.network(),
    )
)  # fmt: skip
SHORT = AgentOptions(max_iterations=12, tolerance=0.0, device="cuda", say=str)
DRAWS = draws_of(load_case("case3_lmbd"), (1, 2))
LOUD = replace(SHORT, tolerance=0.8, max_iterations=40)
"""So coarse a tolerance that draws end, each in its own time."""


@pytest.fixture(scope="module")
def results(request, tmp_path_factory):
    """Return the runs of all jobs by name; half a run on the CPU goes on here, and back."""
    folder = tmp_path_factory.mktemp("gpu")
    onward, back = folder / "onward", folder / "back"
    half = replace(SHORT, max_iterations=7, device="cpu", checkpoint=onward)
    run_agents(*FIVE, half, threading.Event())
    jobs = {
        "fast": (FIVE[0], [FIVE[1]], SHORT),
        "paper": (THREE[0], [THREE[1]], replace(SHORT, policy=Policy.PAPER)),
        "odd": (ODD[0], [ODD[1]], SHORT),
        "lone": (LONE[0], [LONE[1]], SHORT),
        "batch": (THREE[0], DRAWS, SHORT),
        "loud": (THREE[0], DRAWS, LOUD),
        "alone": (THREE[0], DRAWS[1:], SHORT),
        "broken": (THREE[0], [np.full_like(THREE[1], np.nan)], SHORT),
        "onward": (FIVE[0], [FIVE[1]], replace(SHORT, checkpoint=onward)),
        "back": (FIVE[0], [FIVE[1]], replace(SHORT, max_iterations=7, checkpoint=back)),
    }
    listed = list(jobs.values())
    runs = in_the_simulator(listed, folder) if request.param == "simulator" else run(listed)
    return {**dict(zip(jobs, runs, strict=True)), "checkpoint": back}


pytestmark = [
    pytest.mark.xdist_group("gpu"),  # the simulator is slow: once is enough
    pytest.mark.parametrize(
        "results",
        [
            "simulator",
            pytest.param("gpu", marks=pytest.mark.skipif(NO_GPU is not None, reason=str(NO_GPU))),
        ],
        indirect=True,
    ),
]


def assert_same(found, expected, rel=1e-9):
    assert found.status is expected.status
    assert len(found.history) == len(expected.history)
    for name, column in vars(expected.history).items():
        assert getattr(found.history, name) == pytest.approx(column, rel=rel, nan_ok=True), name
    for name, array in expected.state._asdict().items():
        kept = slice(2) if name == "ways" else slice(None)  # the other rows are to work with
        same = pytest.approx(array[kept], rel=rel, abs=1e-9)
        assert getattr(found.state, name)[kept] == same, name


@pytest.mark.parametrize(
    ("name", "of", "policy"),
    [
        ("fast", FIVE, Policy.FAST),
        ("paper", THREE, Policy.PAPER),
        ("odd", ODD, Policy.FAST),
        ("lone", LONE, Policy.FAST),
    ],
)
def test_histories_are_those_of_the_cpu(results, name, of, policy):
    assert_same(results[name][0], on_cpu(*of, replace(SHORT, policy=policy)))


def test_many_draws_at_once_are_those_one_by_one(results):
    for draw, found in zip(DRAWS, results["batch"], strict=True):
        assert_same(found, on_cpu(THREE[0], draw, SHORT))
    (alone,), together = results["alone"], results["batch"][1]
    assert all(np.array_equal(a, b) for a, b in zip(alone.state, together.state, strict=True))


def test_every_draw_stops_in_its_own_time(results):
    ends = set()
    for draw, found in zip(DRAWS, results["loud"], strict=True):
        assert_same(found, on_cpu(THREE[0], draw, LOUD))
        assert found.status is Status.CONVERGED
        ends.add(found.iterations)
    assert len(ends) > 1


def test_numbers_that_are_none_end_a_run(results):
    (found,) = results["broken"]
    assert found.status is Status.FAILED
    assert found.iterations == 1


def test_a_run_goes_on_from_one_to_the_other(results):
    whole = on_cpu(*FIVE, SHORT)
    (onward,) = results["onward"]
    assert onward.iterations_done == SHORT.max_iterations - 7
    assert_same(onward, whole)
    options = replace(SHORT, device="cpu", checkpoint=results["checkpoint"])
    back = run_agents(*FIVE, options, threading.Event())
    assert back.iterations_done == SHORT.max_iterations - 7
    assert_same(back, whole)
