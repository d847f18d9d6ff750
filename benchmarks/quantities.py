"""Private impedances, alone and with ratings and loads, restored: how often, how far, how long.

Run: .venv/bin/python -m benchmarks.quantities [DRAWS [CASE ...]]   (ten minutes on two cores)

Each draw is a simulation, which has noise of the same scale as a release.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.report import write_table
from gridveil import (
    LogLaplace,
    Network,
    RelativeLaplace,
    load_case,
    protect,
    restore_optimum,
    restore_quantities,
    simulate_loads,
    simulate_quantities,
    solve_acopf,
)
from tests.cases import NESTA

DRAWS = 10
BETA = 0.01
HIDE = "10%"
NAMES = (
    "3_lmbd", "4_gs", "5_pjm", "6_c", "6_ww", "9_wscc", "14_ieee", "24_ieee_rts", "29_edin",
    "30_as", "30_fsr", "30_ieee", "39_epri", "57_ieee", "73_ieee_rts", "118_ieee", "189_edin",
)  # fmt: skip
PGLIB = (
    "case89_pegase", "case162_ieee_dtc", "case179_goc", "case200_activ", "case300_ieee",
    "case500_goc", "case588_sdet", "case793_goc", "case1354_pegase",
)  # fmt: skip
CASES = (*(f"nesta_case{name}" for name in NAMES), *PGLIB)
LARGE, DRAWS_OF_LARGE = 500, 3
"""From so many buses on, so many draws at most."""
INTRO = (
    f"ε = 1, {HIDE} hidden of each number, loads by relative Laplace with its default floor; "
    f"O\\* is that of the raw network, β = {BETA:g}. “Noisy” counts private networks without a"
    " feasible dispatch. Central: a dispatch within limits and within β in total. Bilevel: "
    "the optimal cost within β, by a fresh AC-OPF from the restored point; “gap” is the one "
    "furthest off, before that the same for central. “Moved” is the median displacement, in "
    "distances of the promises. Seconds are medians, beside that of an AC-OPF of the raw "
    "network."
)
HEADINGS = (
    "case", "private", "noisy infeasible", "central", "its worst gap", "bilevel", "worst gap",
    "most cuts", "moved", "AC-OPF s", "central s", "bilevel s",
)  # fmt: skip


@dataclass
class Tally:
    """What was counted over the draws."""

    infeasible: int = 0
    central: int = 0
    bilevel: int = 0
    central_gaps: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    cuts: list[int] = field(default_factory=list)
    moved: list[float] = field(default_factory=list)
    seconds: list[tuple[float, float]] = field(default_factory=list)


def played(
    network: Network,
    cost: float,
    promises: list[LogLaplace],
    with_loads: bool,
    seed: int,
    to: Tally,
) -> None:
    """Simulate, restore by both methods, and count."""
    noisy = simulate_quantities(network, promises, seed)
    loads = simulate_loads(network, RelativeLaplace.of(1, "0.1"), seed) if with_loads else None
    private = noisy.network(network)
    if loads is not None:
        private = private.with_loads(loads.p, loads.q)
    to.infeasible += not solve_acopf(private).status.solved
    total = ((1 - BETA) * cost, (1 + BETA) * cost)
    started = time.perf_counter()
    central = restore_quantities(network, noisy, loads=loads, total=total)
    between = time.perf_counter()
    found = restore_optimum(network, noisy, cost, beta=BETA, loads=loads)
    to.seconds.append((between - started, time.perf_counter() - between))
    if central.status.solved:
        to.central += 1
        to.central_gaps.append(solve_acopf(central.network, start=central.point).cost / cost - 1)
    fresh = solve_acopf(found.restored.network, start=found.restored.point)
    gap = fresh.cost / cost - 1
    to.bilevel += found.is_within and fresh.status.solved and abs(gap) <= BETA * (1 + 1e-6)
    to.gaps.append(gap)
    to.cuts.append(found.cuts)
    to.moved.append(found.restored.displacement)


def row_of(name: str, with_loads: bool, draws: int) -> tuple[object, ...]:
    """Return a row of the table."""
    network = load_case(NESTA / f"{name}.m" if name.startswith("nesta") else name)
    draws = min(draws, DRAWS_OF_LARGE) if len(network.buses) >= LARGE else draws
    started = time.perf_counter()
    cost = solve_acopf(network).cost
    acopf = time.perf_counter() - started
    kinds = ["impedances"]
    if with_loads and np.isfinite(network.lines.rate).any():
        kinds.append("ratings")
    tally = Tally()
    promises = [protect(kind, 1, HIDE) for kind in kinds]
    for seed in range(draws):
        played(network, cost, promises, with_loads, seed, tally)
    central, bilevel = np.median(tally.seconds, axis=0)
    return (
        name,
        ", ".join([*kinds, "loads"] if with_loads else kinds),
        f"{tally.infeasible} of {draws}",
        f"{tally.central} of {draws}",
        f"{max(tally.central_gaps, key=abs, default=np.nan):.2%}",
        f"{tally.bilevel} of {draws}",
        f"{max(tally.gaps, key=abs):.2%}",
        max(tally.cuts),
        f"{np.median(tally.moved):.2g}",
        f"{acopf:.2f}",
        f"{central:.2f}",
        f"{bilevel:.2f}",
    )


def rows(cases: tuple[str, ...], draws: int) -> Iterator[tuple[object, ...]]:
    """Yield two rows for each case."""
    for name in cases:
        for with_loads in (False, True):
            row = row_of(name, with_loads, draws)
            print(*row, flush=True)
            yield row


def main() -> None:
    """Write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    cases = tuple(sys.argv[2:]) or CASES
    print(write_table("quantities", INTRO, HEADINGS, rows(cases, draws)))


if __name__ == "__main__":
    main()
