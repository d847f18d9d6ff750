"""Times the agents: 5,000 iterations of every case, Ipopt per line, compilation, many draws.

Run: .venv/bin/python -m benchmarks.agents_speed [NESTA_FOLDER]   (about three minutes)

The baseline is the paper's way: every line agent handed to Ipopt, with the targets that our own run
has at that moment, started from the line's last solution.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.baselines import nesta_costs
from benchmarks.fidelity import SHARED
from benchmarks.line_by_ipopt import LineByIpopt
from benchmarks.report import write_table
from gridveil import (
    AgentOptions,
    Network,
    NoisyLoads,
    PolarLaplace,
    load_case,
    restore_many,
    simulate_loads,
    solve_acopf,
)
from gridveil.admm.draw import make_draw
from gridveil.admm.engine import run_agents
from gridveil.admm.layout import Layout, build_layout
from gridveil.admm.state import V_FROM, V_TO, State
from gridveil.arrays import FloatArray
from gridveil.cli.solve import NOT_SOLVED
from gridveil.fidelity.bands import cost_bands

ITERATIONS = 5000
BASELINE_CASES = ("nesta_case14_ieee", "nesta_case57_ieee", "nesta_case118_ieee")
BASELINE_ROUNDS = 3
DRAWS = 50


def run(layout: Layout, noisy: NoisyLoads, iterations: int) -> tuple[State, float]:
    """Do so many iterations whatever the residuals; return the state and the seconds of one."""
    draw = make_draw(np.concatenate([noisy.p, noisy.q]))
    options = AgentOptions(max_iterations=iterations, tolerance=0.0)
    result = run_agents(layout, draw, options, threading.Event())
    return result.state, result.seconds / result.iterations


def ipopt_seconds(network: Network, layout: Layout, state: State) -> float:
    """Return the seconds of one iteration with Ipopt for every line (the rest costs nothing)."""
    lines = network.lines
    solver = LineByIpopt()
    rate = np.where(np.isfinite(lines.rate), lines.rate, 1e4)
    physics = np.stack([lines.r, lines.x, lines.b, lines.tap, lines.shift, rate])
    target = layout.lines(state.z - state.dual / state.rho)
    parameters = np.concatenate([physics, target, layout.lines(state.rho)])
    last = np.concatenate([state.line_solution[[V_FROM, V_TO]], target[6:]])
    started = time.perf_counter()
    for _ in range(BASELINE_ROUNDS):
        for line in range(len(lines)):
            solver.solve(parameters[:, line], layout.box[:, line], last[:, line])
    return (time.perf_counter() - started) / BASELINE_ROUNDS


def many_seconds(network: Network, costs: FloatArray, threads: int) -> float:
    """Return the seconds of iterating many draws, without the AC-OPFs that check them."""
    draws = [simulate_loads(network, PolarLaplace.of(1, 0.1), seed) for seed in range(DRAWS)]
    options = AgentOptions(max_iterations=1000, tolerance=0.0)
    started = time.perf_counter()
    ended = []
    restore_many(
        network, draws, costs, 0.1, "admm", agents=options, threads=threads,
        progress=lambda _: ended.append(time.perf_counter()),
    )  # fmt: skip
    return ended[-1] - started


def first_iteration(cache: str) -> float:
    """Return the seconds from a command to its end after one iteration, in a fresh process."""
    command = [
        Path(sys.executable).with_name("gridveil"), "simulate", "case14_ieee", "--method", "admm",
        "--max-iterations", "1", "--json",
    ]  # fmt: skip
    started = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    ended = subprocess.run(command, env=environment, check=False, capture_output=True)
    assert ended.returncode == NOT_SOLVED, ended.stderr
    return time.perf_counter() - started


def main(nesta: Path) -> int:
    rows: list[Sequence[object]] = []
    total = ratio = 0.0
    for name in nesta_costs(nesta):
        network = load_case(nesta / f"{name}.m")
        costs = solve_acopf(network).generator_costs
        noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
        layout = build_layout(network, [band.intervals for band in cost_bands(network, costs, 0.1)])
        run(layout, noisy, 1)
        state, first = run(layout, noisy, 200)
        _, seconds = run(layout, noisy, ITERATIONS)
        total += seconds * ITERATIONS
        baseline = "", "", ""
        if name in BASELINE_CASES:
            slow = ipopt_seconds(network, layout, state)
            ratio = slow / first
            baseline = f"{first * 1e6:.0f} µs", f"{slow * 1e3:,.0f} ms", f"{ratio:,.0f} ×"
        figures = f"{seconds * 1e6:.0f} µs", f"{seconds * ITERATIONS:.2f} s"
        rows.append((name, len(network.lines), *figures, *baseline))
        print(*rows[-1], flush=True)
    with tempfile.TemporaryDirectory() as cache:
        cold, *warm = (first_iteration(cache) for _ in range(4))
    network = load_case(nesta / "nesta_case57_ieee.m")
    costs = solve_acopf(network).generator_costs
    one, all_ = (many_seconds(network, costs, threads) for threads in (1, os.cpu_count() or 1))
    intro = (
        f"One draw of all {len(rows)} cases for {ITERATIONS:,} iterations each took {total:.1f} s "
        "in all, after compilation (the paper: 354 minutes). An iteration of the 118-bus case, "
        f"among its first 200, is {ratio:,.0f} times faster than with Ipopt for every line. From "
        f"command to the end of a run of one iteration (14 buses): {cold:.1f} s with an empty "
        f"cache, {np.median(warm):.1f} s with a warm one. {DRAWS} draws of the 57-bus case at "
        f"once, 1,000 iterations each: {one:.2f} s on one thread, {all_:.2f} s on "
        f"{os.cpu_count()}; the AC-OPFs that check them come on top, one by one."
    )
    headings = (
        "case", "lines", "iteration", "5,000", "iteration, first 200", "with Ipopt per line",
        "ratio",
    )  # fmt: skip
    write_table("agents_speed", intro, headings, rows)
    print(intro)
    return int(total > 20 or ratio < 1000 or cold > 20 or min(warm) > 2)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED))
