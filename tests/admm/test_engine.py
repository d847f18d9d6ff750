"""How runs start, stop, resume and repeat."""

import io
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numba
import numpy as np
import pytest

from gridveil import AgentOptions, PolarLaplace, Policy, load_case, simulate_loads, solve_acopf
from gridveil.admm.draw import make_draw
from gridveil.admm.engine import run_agents
from gridveil.admm.layout import build_layout
from gridveil.admm.state import MU_FROM, MU_TO
from gridveil.errors import GridveilError
from gridveil.fidelity.bands import cost_bands
from gridveil.opf.status import Status


def problem(name, seed=1):
    network = load_case(name)
    costs = solve_acopf(network).generator_costs
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), seed)
    layout = build_layout(network, [band.intervals for band in cost_bands(network, costs, 0.01)])
    return layout, make_draw(np.concatenate([noisy.p, noisy.q]))


SMALL = problem("case39_epri")


def run(options, of=SMALL, stop=None, **keywords):
    return run_agents(*of, options, stop or threading.Event(), **keywords)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one.state, other.state, strict=True)) and (
        one.history == other.history
    )


def test_it_stops_where_both_residuals_are_small():
    result = run(AgentOptions(tolerance=1e-4))
    assert result.status is Status.CONVERGED
    assert result.primal <= 1e-4
    assert result.dual <= 1e-4
    within = np.maximum(result.history.primal, result.history.dual) <= 1e-4
    assert within[-10:].all()
    assert not within[-11]
    runs = "".join("x" if one else " " for one in within[:-10])
    assert "x" * 10 not in runs


def test_the_history_has_a_row_for_every_iteration():
    result = run(AgentOptions(max_iterations=321, tolerance=0.0))
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations == 321
    for column in vars(result.history).values():
        assert column.shape == (321,)
        assert np.isfinite(column).all()
    layout, draw = SMALL
    noisy = draw.noisy
    costs = load_case("case39_epri").generators.costs
    loads, outputs = np.split(result.state.x[: len(noisy) + layout.generators], [len(noisy)])
    assert result.history.objective[-1] == pytest.approx(((loads - noisy) ** 2).sum())
    assert result.history.cost[-1] == pytest.approx(costs(outputs).sum())


def test_the_first_penalties_are_those_of_the_policy():
    paper = run(AgentOptions(Policy.PAPER, max_iterations=1))
    assert (paper.state.rho == paper.state.rho[0]).all()
    assert paper.history.rho[0] == pytest.approx(5.0)


def test_the_papers_penalty_follows_its_rule():
    history = run(AgentOptions(Policy.PAPER, tolerance=0.0)).history
    rho, primal, dual = history.rho, history.primal, history.dual
    assert len(rho) == 5000
    for k in range(len(rho) - 1):
        wanted = rho[k]
        if k + 1 >= 4500:
            wanted *= 1.02 if primal[k] > 1e-3 else 1.0
        elif primal[k] > 7 * dual[k]:
            wanted *= 1.02
        elif dual[k] > 7 * primal[k]:
            wanted /= 1.02
        assert rho[k + 1] == pytest.approx(np.clip(wanted, 5.0, 1e6), rel=1e-12)
    assert rho[-1] > rho[4499]  # boosted


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core")
def test_any_number_of_threads_gives_the_same_bits():
    large = problem("case1354_pegase")
    options = AgentOptions(max_iterations=60, tolerance=0.0)
    two = run(options, large)
    numba.set_num_threads(1)
    try:
        one = run(options, large)
    finally:
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    shared = run(options, large, alone=False)
    assert same(one, two)
    assert same(one, shared)


def test_a_run_resumed_is_the_run_never_stopped(tmp_path):
    path = tmp_path / "run.npz"
    whole = run(AgentOptions(max_iterations=400, tolerance=0.0))
    for most in (1, 7, 133, 250, 400):
        part = run(AgentOptions(max_iterations=most, tolerance=0.0, checkpoint=path))
        assert part.iterations == most
    assert same(part, whole)
    assert part.iterations_done == 150


def test_a_finished_run_goes_on_with_a_smaller_tolerance(tmp_path):
    path = tmp_path / "run.npz"
    first = run(AgentOptions(tolerance=1e-3, checkpoint=path))
    second = run(AgentOptions(tolerance=1e-6, checkpoint=path))
    assert second.iterations > first.iterations
    assert same(second, run(AgentOptions(tolerance=1e-6)))


def test_a_finished_run_started_again_is_finished(tmp_path):
    path = tmp_path / "run.npz"
    first = run(AgentOptions(tolerance=1e-3, checkpoint=path))
    again = run(AgentOptions(tolerance=1e-3, checkpoint=path))
    assert again.status is Status.CONVERGED
    assert same(again, first)
    looser = run(AgentOptions(tolerance=1e-2, checkpoint=path))
    assert looser.status is Status.CONVERGED
    assert looser.iterations_done == 0


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_run(tmp_path):
    seen = []
    options = AgentOptions(checkpoint=tmp_path / "none" / "run.npz", progress=seen.append)
    with pytest.raises(GridveilError, match="cannot write"):
        run(options)
    assert seen == []


def test_a_disk_that_fills_up_does_not_cost_the_run(tmp_path):
    messages, folder = [], tmp_path / "full"
    folder.mkdir()

    def lose_the_disk(now):
        shutil.rmtree(folder, ignore_errors=True)

    options = AgentOptions(
        tolerance=1e-3,
        checkpoint=folder / "run.npz",
        progress=lose_the_disk,
        notify=messages.append,
    )
    assert run(options).status is Status.CONVERGED
    assert "goes on without it" in messages[-1]


def test_a_residual_that_is_not_finite_ends_a_run():
    layout, draw = SMALL
    broken = draw.noisy.copy()
    broken[3] = np.nan
    result = run(AgentOptions(), (layout, make_draw(broken)))
    assert result.status is Status.FAILED
    assert result.iterations < 5


def test_polish_is_undecided_unless_it_is_chosen():
    assert AgentOptions().polish is None
    assert AgentOptions(polish=False).polish is False


def test_options_can_be_sent_to_other_processes():
    assert pickle.loads(pickle.dumps(AgentOptions(max_iterations=7.0))).max_iterations == 7


@pytest.mark.parametrize("home", ["/dev/null", "/proc/nowhere"])
def test_it_runs_where_nothing_can_be_cached(tmp_path, home):
    code = (
        "from gridveil.admm.agents import load_agent\n"
        "from gridveil.admm.compiled import ENGINE\n"
        "print(load_agent(1.0, 1.0, 2.0, 2.0), ENGINE.is_ready)"
    )
    environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": "", "NUMBA_CACHE_DIR": ""}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["1.5", "False"]


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    run(AgentOptions(max_iterations=3, checkpoint=path))
    with pytest.raises(GridveilError, match="another run"):
        run(AgentOptions(max_iterations=3, checkpoint=path), problem("case39_epri", seed=2))
    with pytest.raises(GridveilError, match="another run"):
        run(AgentOptions(Policy.PAPER, max_iterations=3, checkpoint=path))
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    for damage in (b"", b"PK\x03\x04 no", path.read_bytes()[:2000], array.getvalue()):
        path.write_bytes(damage)
        with pytest.raises(GridveilError, match="not a checkpoint"):
            run(AgentOptions(max_iterations=3, checkpoint=path))


def test_a_time_limit_ends_a_run():
    result = run(AgentOptions(max_iterations=10**9, tolerance=0.0, time_limit=0.3))
    assert result.status is Status.TIME_LIMIT
    assert 0.3 <= result.seconds < 1.5
    assert result.iterations > 100


def test_a_run_reports_its_progress():
    seen = []
    result = run(AgentOptions(max_iterations=2000, tolerance=0.0, progress=seen.append))
    assert seen[-1].iteration == 2000
    assert seen[-1].primal == result.primal
    assert [now.iteration for now in seen] == sorted({now.iteration for now in seen})
    assert len(seen) > 2


def test_a_run_stops_when_asked_to():
    stop = threading.Event()
    options = AgentOptions(max_iterations=10**9, tolerance=0.0, progress=lambda now: stop.set())
    result = run(options, stop=stop)
    assert result.status is Status.STOPPED
    assert result.iterations == len(result.history) > 0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"policy": "slow"}, "policy: 'slow' is none of fast, paper"),
        ({"start": "warm"}, "start: 'warm' is none of flat, flow, auto"),
        ({"max_iterations": 0}, "max_iterations: 0"),
        ({"tolerance": -1.0}, "tolerance: -1.0"),
        ({"tolerance": np.nan}, "tolerance: nan"),
        ({"time_limit": 0.0}, "time_limit: 0.0"),
    ],
)
def test_bad_options_are_refused(bad, message):
    with pytest.raises(GridveilError, match=message):
        AgentOptions(**bad)


STUDY = """
    import sys
    from gridveil import AgentOptions, PolarLaplace, load_case, restore, simulate_loads, solve_acopf
    network = load_case("case39_epri")
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    options = AgentOptions(
        max_iterations=10**9, tolerance=0.0, checkpoint=sys.argv[1], checkpoint_seconds=0.05,
        progress=lambda now: print(now.iteration, flush=True),
    )
    result = restore(
        network, noisy, solve_acopf(network).generator_costs, 0.01, "admm", agents=options
    )
    print("ended", result.status.name, result.iterations, flush=True)
"""


def start_study(path, seconds):
    """Start a run without end in another process, and let it iterate for a while."""
    arguments = [sys.executable, "-c", textwrap.dedent(STUDY), str(path)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()
    time.sleep(seconds)
    return process


def test_ctrl_c_returns_the_result_so_far(tmp_path):
    path = tmp_path / "run.npz"
    process = start_study(path, 0.5)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=60)[0].decode().splitlines()
    assert process.returncode == 0
    assert output[-1].startswith("ended STOPPED")
    iterations = int(output[-1].split()[-1])
    resumed = run(AgentOptions(max_iterations=iterations + 1, tolerance=0.0, checkpoint=path))
    assert resumed.iterations == iterations + 1


def test_a_killed_run_goes_on_from_its_last_checkpoint(tmp_path):
    path = tmp_path / "run.npz"
    for _ in range(3):
        process = start_study(path, 0.4)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert path.exists()
    stood = len(run(AgentOptions(max_iterations=1, tolerance=0.0, checkpoint=path)).history)
    resumed = run(AgentOptions(max_iterations=stood + 50, tolerance=0.0, checkpoint=path))
    assert same(resumed, run(AgentOptions(max_iterations=stood + 50, tolerance=0.0)))


def test_the_multipliers_of_thermal_limits_stay_within_reason():
    """They grew to 1e34 once, on a line of little impedance, and froze it where it was."""
    result = run(AgentOptions(max_iterations=1100, tolerance=0.0), problem("case1354_pegase"))
    assert 0 < result.state.line_solution[[MU_FROM, MU_TO]].max() < 1e3
