"""Checks how well and how soon the agents find the central solution: 170 runs of the 17 cases.

Run: .venv/bin/python -m benchmarks.agents [NESTA_FOLDER [FIRST LAST]]   (a minute on two cores)

FIRST and LAST name other seeds than the five that the policy was chosen with; their table is
agents_fresh.md.

A run has reached its goal if the primal residual is at most 1e-4 and the loads are within 1 % of
the central displacement (or 1e-3 p.u.) of the central loads, or displaced no more than those.
"""

import itertools
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.progress import track

from benchmarks.baselines import nesta_costs
from benchmarks.fidelity import SHARED
from benchmarks.report import write_table
from gridveil import PolarLaplace, load_case, restore, simulate_loads, solve_acopf

ALPHA = 0.1
BETAS = (0.01, 0.1)
SEEDS = range(1, 6)


@dataclass(frozen=True)
class Run:
    """The figures of one draw."""

    beta: float
    seed: int
    iterations: int
    primal: float
    dual: float
    max_violation: float
    displacement: float
    distance: float
    central_displacement: float

    def within(self, primal: float, share: float) -> bool:
        """Whether a run is as near to the goal as said."""
        near = self.distance <= max(share * self.central_displacement, 1e-3)
        return self.primal <= primal and (near or self.displacement <= self.central_displacement)

    @property
    def reached(self) -> bool:
        """Whether it reached its goal."""
        return self.within(1e-4, 0.01)


def run(path: Path, seeds: range) -> list[Run]:
    """Run every draw of one case."""
    network = load_case(path)
    costs = solve_acopf(network).generator_costs
    runs = []
    for beta, seed in itertools.product(BETAS, seeds):
        noisy = simulate_loads(network, PolarLaplace.of(1, ALPHA), seed)
        central = restore(network, noisy, costs, beta, "central")
        found = restore(network, noisy, costs, beta, "admm")
        assert found.agents is not None
        apart = found.network.loads.values - central.network.loads.values
        runs.append(
            Run(
                beta,
                seed,
                found.iterations,
                found.agents.primal,
                found.agents.dual,
                found.max_violation,
                found.displacement,
                float(np.linalg.norm(apart)),
                central.displacement,
            )
        )
    return runs


def _rows(name: str, runs: list[Run]) -> Iterator[list[object]]:
    for beta in BETAS:
        own = [r for r in runs if r.beta == beta]
        missed = "; ".join(
            f"seed {r.seed}: primal {r.primal:.0e}, distance {r.distance:.1e}, displaced "
            f"{r.displacement:.4f} against {r.central_displacement:.4f}"
            for r in own
            if not r.reached
        )
        yield [
            name,
            beta,
            f"{sum(r.reached for r in own)}/{len(own)}",
            " ".join(str(r.iterations) for r in own),
            f"{max(r.primal for r in own):.0e}",
            f"{max(r.dual for r in own):.0e}",
            f"{max(r.max_violation for r in own):.0e}",
            f"{max(r.distance for r in own):.0e}",
            f"{np.mean([r.central_displacement for r in own]):.4f}",
            missed,
        ]


def main(nesta: Path, seeds: range) -> int:
    names = list(nesta_costs(nesta))
    if not names:
        sys.exit(f"no NESTA cases in {nesta}; name their folder")
    paths = [nesta / f"{name}.m" for name in names]
    rows, runs = [], []
    with ProcessPoolExecutor() as pool:
        for path, own in zip(
            paths,
            track(pool.map(run, paths, [seeds] * len(paths)), "running", len(paths)),
            strict=True,
        ):
            rows += _rows(path.stem, own)
            runs += own
    reached = sum(r.reached for r in runs)
    far = sum(not r.within(1e-3, 0.1) for r in runs)
    median = np.median([r.iterations if r.reached else np.inf for r in runs])
    intro = (
        f"α = {ALPHA}, seeds {seeds[0]} to {seeds[-1]}, policy `fast`, tolerance 1e-5, at most "
        f"5,000 iterations: {reached} of {len(runs)} runs reached their goal (primal residual "
        "≤ 1e-4; loads within 1 % of the central displacement or 1e-3 p.u. of the central ones, or "
        "displaced no more), "
        f"{far} ended worse than 1e-3 and 10 %. Median iterations until the agents stopped: "
        f"{median:.0f}. Per case: iterations of each seed, then the worst residuals, "
        "recomputed violations and distances in p.u., and the mean central displacement."
    )
    headings = (
        "case", "β", "reached", "iterations", "primal", "dual", "violation", "distance",
        "central displacement", "missed",
    )  # fmt: skip
    write_table("agents" if seeds == SEEDS else "agents_fresh", intro, headings, rows)
    print(intro)
    return int(reached < 0.95 * len(runs) or far > 0 or median > 600)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    given = range(int(sys.argv[2]), int(sys.argv[3]) + 1) if len(sys.argv) > 3 else SEEDS
    sys.exit(main(folder, given))
