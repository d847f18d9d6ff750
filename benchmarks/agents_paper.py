"""The paper's convergence table (α = 0.1, β = 0.1, polar Laplace), with the paper's own policy.

Run: .venv/bin/python -m benchmarks.agents_paper [NESTA_FOLDER] [PAPER_TABLE]   (a minute)
"""

import csv
import sys
from pathlib import Path

from benchmarks.fidelity import SHARED
from benchmarks.report import write_table
from gridveil import (
    AgentOptions,
    PolarLaplace,
    Policy,
    load_case,
    restore,
    simulate_loads,
    solve_acopf,
)
from gridveil.admm.penalties import BOOSTING_FROM

TABLE = SHARED.parent / "paper" / "table_polar_laplace.csv"
INTRO = """Policy `paper`: one ρ, its update (c = 2 %, c_t = 7, bounds 5 and 10⁶), boosting from
iteration 4,500 on, 5,000 iterations. "Primal" and "dual" are the largest residuals before boosting
(with a star: after it); ours first, the paper's in brackets. Distances are to the central solution,
in p.u.

What differs, and why. Our agents, with the paper's own rule, end mostly orders of magnitude closer
to agreement than the paper reports (least so on 4_gs and 29_edin), so the rule alone does not
explain its residuals. Ours
solve each line's problem to 1e-8 from the last solution, share voltages as (v², θ), start from a
flat network, and move multipliers by ρ(x − z), as the paper's section on ADMM has it; its
Algorithm 2 prints the step without ρ (tried too: slower, no stall of that size). The paper hands
every line to Ipopt and starts from zeros; its draws, tolerances and the coordinates of its voltages
are not published. What agrees: boosting is needed on 24, 29, 39 and 73 buses, where the paper ends
high too; it trades the dual residual for the primal one; and 29_edin is the worst of all. ρ sits at
its lower bound of 5 until boosting, and on the stiffer networks (5, 24, 29, 39, 73, 118 buses) that
leaves the loads 0.02 p.u. and more from the central ones, however small the primal residual."""


def main(nesta: Path, table: Path) -> int:
    with table.open(encoding="utf-8") as file:
        paper = list(csv.DictReader(file))
    rows, seconds = [], 0.0
    for printed in paper:
        network = load_case(nesta / f"{printed['case']}.m")
        costs = solve_acopf(network).generator_costs
        noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
        central = restore(network, noisy, costs, 0.1)
        options = AgentOptions(Policy.PAPER, max_iterations=5000, tolerance=0.0)
        found = restore(network, noisy, costs, 0.1, "admm", agents=options)
        assert found.agents is not None
        history = found.agents.history
        apart = found.network.loads.values - central.network.loads.values
        seconds += found.agents.seconds
        rows.append(
            (
                printed["case"],
                f"{history.primal[BOOSTING_FROM - 1]:.0e} ({printed['primal']})",
                f"{history.primal[-1]:.0e} ({printed['primal_boosted']})",
                f"{history.dual[BOOSTING_FROM - 1]:.0e} ({printed['dual']})",
                f"{history.dual[-1]:.0e} ({printed['dual_boosted']})",
                f"{found.agents.seconds:.2f} s ({printed['minutes']} min)",
                f"{history.rho[-1]:,.0f}",
                f"{(apart**2).sum() ** 0.5:.0e}",
                f"{central.displacement:.4f}",
            )
        )
        print(*rows[-1], flush=True)
    headings = (
        "case", "primal", "primal*", "dual", "dual*", "time", "ρ at the end", "distance",
        "central displacement",
    )  # fmt: skip
    minutes = sum(float(printed["minutes"]) for printed in paper)
    write_table(
        "agents_paper", f"{INTRO}\n\nIn all {seconds:.1f} s (the paper: {minutes:.0f} minutes).",
        headings, rows,
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    sys.exit(main(folder, Path(sys.argv[2]) if len(sys.argv) > 2 else TABLE))
