"""The fidelity phase of a series: hours a second, by Ipopt one after the other, and in batches.

Run: .venv/bin/python -m benchmarks.series_fidelity [HOURS [CASE ...]]   (minutes on two cores)

Made-up profiles get relative noise of 5 % on each load, as smoothed private series have it, and are
restored in bands of 1 % around the costs of the profiles without noise, so that no hour works as it
is. Targets are the AC-OPFs of those. Ipopt takes the hours of a day one after the other, restoring
each from the hour before; the interior-point method takes those of a day as one batch.

CPU seconds are those of one process without others. The wall clock is that of two processes that
have started before and compiled everything.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.report import write_table
from gridveil import load_case, restore_series, using
from gridveil.arrays import FloatArray
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.series.restore import BLOCK_HOURS, blocks_of
from gridveil.network.network import Network
from gridveil.network.series.shapes import example_series
from gridveil.opf.solvers import chosen
from gridveil.parallel import in_parallel
from gridveil.publication.series.targets import hour_targets

CASES = ("case14_ieee", "case39_epri", "case118_ieee")
HOURS, WORKERS = 336, 2
BETA, NOISE = 0.01, 0.05
COLUMNS = (
    "case", "hours", "solver", "targets: CPU s an hour", "hours a second, two cores",
    "restoring: iterations an hour", "CPU s an hour", "hours a second, two cores",
    "largest violation", "left out",
)  # fmt: skip


def targets_of(network: Network, p: FloatArray, q: FloatArray, solver: str) -> FloatArray:
    """Return the targets of a block."""
    with using(solver):
        weights = np.ones(len(network.loads))
        return hour_targets(network, p, q, BandKind.COST, BETA, weights).values


def all_targets(network: Network, p: FloatArray, q: FloatArray, workers: int) -> FloatArray:
    """Return the targets of all hours, block by block."""
    tasks: list[tuple[int, Callable[..., Any], tuple[Any, ...]]] = [
        (n, targets_of, (network, p[block], q[block], chosen().value))
        for n, block in enumerate(blocks_of(len(p)))
    ]
    found = dict(in_parallel(tasks, workers))
    return np.concatenate([found[n] for n in range(len(tasks))])


def measured(task: Callable[[int], Any], few: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return CPU seconds of a few hours in this process, and seconds and result of all in two."""
    few()
    started = time.process_time()
    few()
    cpu = time.process_time() - started
    task(WORKERS)
    started = time.perf_counter()
    found = task(WORKERS)
    return cpu, time.perf_counter() - started, found


def row(case: str, hours: int, solver: str) -> tuple[str, ...]:
    """Measure one network."""
    network, day = load_case(case), slice(0, BLOCK_HOURS)
    series, _ = example_series(network, hours, seed=1)
    noise = np.random.default_rng(1).normal(1, NOISE, (2, *series.p.shape))
    p, q = series.p * noise[0], series.q * noise[1]
    with using(solver):
        targets_cpu, targets_wall, costs = measured(
            lambda workers: all_targets(network, series.p, series.q, workers),
            lambda: all_targets(network, series.p[day], series.q[day], 1),
        )
        cpu, wall, found = measured(
            lambda workers: restore_series(network, p, q, costs, BETA, workers=workers),
            lambda: restore_series(network, p[day], q[day], costs[day], BETA, workers=1),
        )
    return (
        case,
        str(hours),
        "Ipopt, warm" if solver == "ipopt" else "auto, in batches",
        f"{targets_cpu / BLOCK_HOURS:.4f}",
        f"{hours / targets_wall:.1f}",
        f"{found.iterations.mean():.1f}",
        f"{cpu / BLOCK_HOURS:.4f}",
        f"{hours / wall:.1f}",
        f"{np.nanmax(found.violations):.0e}",
        str(len(found.left_out)),
    )


def rows(cases: tuple[str, ...], hours: int) -> Iterator[tuple[str, ...]]:
    """Measure all networks by both solvers."""
    for case in cases:
        for solver in ("ipopt", "auto"):
            yield row(case, hours, solver)
            print(f"{case} {solver}, load {os.getloadavg()[0]:.1f}", flush=True)


def main() -> None:
    """Measure, and write the table."""
    hours = int(sys.argv[1]) if len(sys.argv) > 1 else HOURS
    cases = tuple(sys.argv[2:]) or CASES
    load = " / ".join(f"{one:.1f}" for one in os.getloadavg())
    about = (
        f"Central restoration, β = {BETA:g}, noise of {NOISE:.0%}. Load of the machine by others "
        f"when it began, over 1 / 5 / 15 minutes: {load}; where it was shared, CPU seconds are "
        "what counts."
    )
    write_table("series_fidelity", about, COLUMNS, list(rows(cases, hours)))


if __name__ == "__main__":
    main()
