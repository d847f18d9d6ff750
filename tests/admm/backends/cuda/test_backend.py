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
from gridveil.admm.backends.cuda.availability import why_no_gpu
from gridveil.admm.backends.cuda.workspace import new_workspace
from gridveil.admm.draw import make_draw
from gridveil.admm.engine import run_agents
from gridveil.admm.initial_state import flat_state
from gridveil.admm.layout import build_layout
from gridveil.device import Device
from gridveil.fidelity.bands import cost_bands
from gridveil.opf.status import Status
from tests.admm.backends.cuda.worker import Job, run
from tests.admm.test_sweeps import AWKWARD
from tests.cases import TINY, bus, gen, polynomial

NO_GPU = why_no_gpu()


def problem(network, seed=1):
    gens = network.generators
    costs = gens.costs((gens.p_min + gens.p_max) / 2)  # an AC-OPF's are not needed here
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), seed)
    layout = build_layout(network, [band.intervals for band in cost_bands(network, costs, 0.3)])
    return layout, make_draw(np.concatenate([noisy.p, noisy.q]))


def draws_of(network, seeds):
    draws = [simulate_loads(network, PolarLaplace.of(1, 0.1), seed) for seed in seeds]
    return [make_draw(np.concatenate([noisy.p, noisy.q])) for noisy in draws]


@pytest.fixture(
    params=[
        "simulator",
        pytest.param("gpu", marks=pytest.mark.skipif(NO_GPU is not None, reason=str(NO_GPU))),
    ]
)
def on_gpu(request, tmp_path):
    """Return a function that runs jobs in the simulator or on the GPU."""

    def in_the_simulator(*jobs):
        (tmp_path / "jobs").write_bytes(pickle.dumps(jobs))
        environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
        command = [sys.executable, "-m", "tests.admm.backends.cuda.worker"]
        subprocess.run(
            [*command, tmp_path / "jobs", tmp_path / "runs"],
            check=True, env=environment, timeout=500,
        )  # fmt: skip
        return pickle.loads((tmp_path / "runs").read_bytes())

    return in_the_simulator if request.param == "simulator" else lambda *jobs: run(jobs)


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
SHORT = AgentOptions(max_iterations=12, tolerance=0.0, device="cuda", notify=str)
DRAWS = draws_of(load_case("case3_lmbd"), (1, 2))
COARSE = replace(SHORT, tolerance=1.3, max_iterations=40)
"""So coarse a tolerance that draws converge, each after another number of iterations."""


def assert_same(found, expected, rel=1e-9):
    assert found.status is expected.status
    assert len(found.history) == len(expected.history)
    for name, column in vars(expected.history).items():
        assert getattr(found.history, name) == pytest.approx(column, rel=rel, nan_ok=True), name
    for name, array in expected.state._asdict().items():
        assert getattr(found.state, name) == pytest.approx(array, rel=rel, abs=1e-9), name


@pytest.mark.parametrize(
    ("of", "policy"),
    [(FIVE, Policy.FAST), (THREE, Policy.PAPER), (ODD, Policy.FAST), (LONE, Policy.FAST)],
    ids=["fast", "paper", "odd", "lone"],
)
def test_histories_are_those_of_the_cpu(on_gpu, of, policy):
    layout, noisy = of
    options = replace(SHORT, policy=policy)
    ((found,),) = on_gpu(Job(layout, [noisy], options))
    assert_same(found, on_cpu(layout, noisy, options))


def test_many_draws_at_once_are_those_one_by_one(on_gpu):
    layout, _ = THREE
    options = replace(SHORT, max_iterations=4)
    batch, (alone,) = on_gpu(Job(layout, DRAWS, options), Job(layout, DRAWS[1:], options))
    for draw, found in zip(DRAWS, batch, strict=True):
        assert_same(found, on_cpu(layout, draw, options))
    assert all(np.array_equal(a, b) for a, b in zip(alone.state, batch[1].state, strict=True))


def test_every_draw_has_weights_of_its_own(on_gpu):
    layout, _ = THREE
    options = replace(SHORT, max_iterations=11)
    loads = len(DRAWS[0].noisy) // 2
    weights = np.geomspace(0.01, 1e4, loads), np.geomspace(30.0, 0.5, loads)
    draws = [make_draw(draw.noisy, own) for draw, own in zip(DRAWS, weights, strict=True)]
    (runs,) = on_gpu(Job(layout, draws, options))
    for draw, plain, found in zip(draws, DRAWS, runs, strict=True):
        assert_same(found, on_cpu(layout, draw, options))
        unweighted = on_cpu(layout, plain, options)
        assert np.abs(found.state.x - unweighted.state.x).max() > 1e-3


def test_every_draw_keeps_limits_of_its_own(on_gpu):
    layout, _ = THREE
    options = replace(SHORT, max_iterations=11)
    loads = len(DRAWS[0].noisy) // 2
    free = np.array([-np.inf, *np.zeros(loads - 1)])
    limits = (np.zeros(loads), np.full(loads, 0.1)), (free, np.where(free == 0, 0.2, np.inf))
    weights = np.geomspace(0.01, 1e4, loads)
    draws = [make_draw(draw.noisy, weights, *own) for draw, own in zip(DRAWS, limits, strict=True)]
    (runs,) = on_gpu(Job(layout, draws, options))
    for draw, found in zip(draws, runs, strict=True):
        assert_same(found, on_cpu(layout, draw, options))
        p, q = found.state.x[: 2 * loads].reshape(2, loads)
        held = draw.p_min == 0
        assert (np.abs(q[held]) <= draw.slopes[held] * p[held]).all()
    unlimited = on_cpu(layout, make_draw(DRAWS[0].noisy, weights), options)
    assert np.abs(runs[0].state.x - unlimited.state.x).max() > 1e-3


def test_every_draw_stops_at_its_own_iteration(on_gpu):
    layout, _ = THREE
    (runs,) = on_gpu(Job(layout, DRAWS, COARSE))
    for draw, found in zip(DRAWS, runs, strict=True):
        assert_same(found, on_cpu(layout, draw, COARSE))
        assert found.status is Status.CONVERGED
    assert len({found.iterations for found in runs}) > 1


def test_draws_that_do_not_fit_at_once_follow(on_gpu):
    layout, _ = THREE
    options = replace(SHORT, max_iterations=3)
    apart, cut = on_gpu(
        Job(layout, DRAWS, options, at_once=1),
        Job(layout, DRAWS, options, at_once=1, stop_after=1),
    )
    for draw, found in zip(DRAWS, apart, strict=True):
        assert_same(found, on_cpu(layout, draw, options))
    assert [one.status for one in cut] == [Status.ITERATION_LIMIT, Status.STOPPED]
    assert [one.iterations for one in cut] == [options.max_iterations, 0]


def test_a_residual_that_is_not_finite_ends_a_run(on_gpu):
    layout, noisy = THREE
    ((found,),) = on_gpu(Job(layout, [make_draw(np.full_like(noisy.noisy, np.nan))], SHORT))
    assert found.status is Status.FAILED
    assert found.iterations == 1


def test_a_run_goes_on_from_one_to_the_other(on_gpu, tmp_path):
    layout, noisy = FIVE
    whole, onward, back = on_cpu(*FIVE, SHORT), tmp_path / "onward", tmp_path / "back"
    half = replace(SHORT, max_iterations=7)
    on_cpu(*FIVE, replace(half, checkpoint=onward))
    (found,), _ = on_gpu(
        Job(layout, [noisy], replace(SHORT, checkpoint=onward)),
        Job(layout, [noisy], replace(half, checkpoint=back)),
    )
    for end in (found, on_cpu(*FIVE, replace(SHORT, checkpoint=back))):
        assert end.iterations_done == SHORT.max_iterations - half.max_iterations
        assert_same(end, whole)


def test_the_arguments_of_a_kernel_fit_into_what_older_drivers_pass():
    """An array is 5 numbers, and 2 per dimension; CUDA before 12.1 takes 4,096 bytes."""
    layout, draw = FIVE
    state = flat_state(layout, draw.noisy, Policy.FAST)
    words = sum(5 + 2 * array.ndim for array in (*layout, *new_workspace(layout, 1, 1)))
    words += sum(5 + 2 * (array.ndim + 1) for array in (*state, *draw))  # one row per draw
    assert 8 * (words + len(("tolerance", "paper_rule"))) <= 4096


@pytest.mark.skipif(NO_GPU is not None, reason=str(NO_GPU))
@pytest.mark.parametrize("policy", Policy)
def test_thousands_of_lines_for_a_hundred_iterations(policy):
    layout, noisy = problem(load_case("case1354_pegase"))
    options = replace(SHORT, policy=policy, max_iterations=100)
    ((found,),) = run([Job(layout, [noisy], options)])
    expected = on_cpu(layout, noisy, options)
    for name in ("primal", "dual", "objective", "rho"):
        found_column, column = (getattr(one.history, name) for one in (found, expected))
        assert found_column == pytest.approx(column, rel=1e-9), name
