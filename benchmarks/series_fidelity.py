"""Restoring hour by hour: how many hours a second, warm from the hour before and cold.

Run: .venv/bin/python -m benchmarks.series_fidelity [HOURS [CASE ...]]   (minutes on two cores)

Made-up profiles get relative noise of 5 % on each load, as smoothed private series have it, and are
restored in bands of 1 % around the costs of the profiles without noise, so that no hour works as it
is. Cold solves every hour for itself; warm starts each from the hour before, in blocks of a day.
CPU seconds are those of one process; the wall clock is that of all cores, starting them included.
"""

import os
import sys
import time
from collections.abc import Iterator

import numpy as np
from joblib import Parallel, delayed

from benchmarks.report import write_table
from gridveil import load_case, restore_series, solve_acopf
from gridveil.arrays import FloatArray
from gridveil.fidelity.series.restore import BLOCK_HOURS
from gridveil.network.network import Network
from gridveil.network.series.shapes import example_series

CASES = ("case14_ieee", "case39_epri", "case118_ieee")
HOURS = 168
BETA, NOISE = 0.01, 0.05
COLUMNS = (
    "case", "hours", "iterations an hour, cold", "warm", "CPU s an hour, cold", "warm",
    "hours a second, all cores", "largest violation", "left out",
)  # fmt: skip


def costs_of(network: Network, p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the costs of the optimal dispatch of an hour."""
    return solve_acopf(network.with_loads(p, q)).generator_costs


def row(case: str, hours: int) -> tuple[str, ...]:
    """Measure one network."""
    network = load_case(case)
    series, _ = example_series(network, hours, seed=1)
    each = (delayed(costs_of)(network, *series.at(hour)) for hour in range(hours))
    costs = np.array(Parallel(n_jobs=-1)(each))
    noise = np.random.default_rng(1).normal(1, NOISE, (2, *series.p.shape))
    p, q = series.p * noise[0], series.q * noise[1]
    day = slice(0, BLOCK_HOURS)
    started = time.process_time()
    cold = [
        restore_series(network, p[t : t + 1], q[t : t + 1], costs[t : t + 1], BETA, workers=1)
        for t in range(BLOCK_HOURS)
    ]
    cold_seconds = (time.process_time() - started) / BLOCK_HOURS
    started = time.process_time()
    warm = restore_series(network, p[day], q[day], costs[day], BETA, workers=1)
    warm_seconds = (time.process_time() - started) / BLOCK_HOURS
    started = time.perf_counter()
    found = restore_series(network, p, q, costs, BETA)
    seconds = time.perf_counter() - started
    return (
        case,
        str(hours),
        f"{np.mean([one.iterations[0] for one in cold]):.1f}",
        f"{warm.iterations.mean():.1f}",
        f"{cold_seconds:.3f}",
        f"{warm_seconds:.3f}",
        f"{hours / seconds:.1f}",
        f"{np.nanmax(found.violations):.0e}",
        str(len(found.left_out)),
    )


def rows(cases: tuple[str, ...], hours: int) -> Iterator[tuple[str, ...]]:
    """Measure all networks."""
    for case in cases:
        yield row(case, hours)


def main() -> None:
    """Measure, and write the table."""
    hours = int(sys.argv[1]) if len(sys.argv) > 1 else HOURS
    cases = tuple(sys.argv[2:]) or CASES
    load = " / ".join(f"{one:.1f}" for one in os.getloadavg())
    about = (
        f"Central restoration with Ipopt, β = {BETA:g}, noise of {NOISE:.0%}. Load of the machine "
        f"by others when it began, over 1 / 5 / 15 minutes: {load}."
    )
    write_table("series_fidelity", about, COLUMNS, list(rows(cases, hours)))


if __name__ == "__main__":
    main()
