"""AC-OPF of every benchmark case up to 3,000 buses against its published cost.

Run: .venv/bin/python -m benchmarks.published_costs [NESTA_FOLDER]   (about ten minutes)
"""

import sys
from pathlib import Path

from rich.progress import track

from benchmarks.baselines import nesta_costs, pglib_costs
from benchmarks.report import write_table
from gridveil import load_case, solve_acopf
from gridveil.network.library import case_size, find_case

LARGEST = 3000
SHARED = Path(__file__).parents[2] / "shared" / "nesta"


def main(nesta: Path) -> int:
    cases = [(nesta / f"{name}.m", name, cost) for name, cost in nesta_costs(nesta).items()]
    cases += [(find_case(name), name, cost) for name, cost in pglib_costs().items()]
    cases = [case for case in cases if case_size(case[0]).buses <= LARGEST]
    rows, wrong = [], 0
    for path, name, published in track(cases, "solving"):
        network = load_case(path)
        result = solve_acopf(network)
        ours = f"{result.cost:.4e}"
        right = result.status.solved and ours == published and result.max_violation <= 1e-6
        wrong += not right
        rows.append(
            (
                name,
                len(network.buses),
                len(network.lines),
                published,
                ours,
                "yes" if right else "**no**",
                result.status.name.lower(),
                f"{result.max_violation:.0e}",
                result.iterations,
                f"{result.build_seconds:.4f}",
                f"{result.solve_seconds:.2f}",
            )
        )
    intro = (
        f"{len(rows)} cases, {len(rows) - wrong} with the published AC cost to every printed digit "
        "and a largest violation (recomputed, p.u.) of at most 1e-6."
    )
    headings = (
        "case", "buses", "lines", "published $/h", "ours $/h", "equal", "status",
        "largest violation", "iterations", "build s", "solve s",
    )  # fmt: skip
    print(intro, f"Table in {write_table('published_costs', intro, headings, rows).name}.")
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED))
