"""Runs the agents on networks of 1,354 and 9,241 buses: iterations, residuals, time and memory.

Run: .venv/bin/python -m benchmarks.agents_large   (about six minutes)
"""

import sys
import threading

import numpy as np

from benchmarks.report import write_table
from gridveil import AgentOptions, PolarLaplace, load_case, restore, simulate_loads, solve_acopf
from gridveil.admm.engine import run_agents
from gridveil.admm.layout import build_layout
from gridveil.fidelity.admm import agreed
from gridveil.fidelity.bands import cost_bands
from gridveil.opf.operating_point import violations

CASES = ("case1354_pegase", "case9241_pegase")
MILESTONES = (500, 1000, 2000, 5000)


def main() -> int:
    rows = []
    for name in CASES:
        network = load_case(name)
        opf = solve_acopf(network)
        noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
        central = restore(network, noisy, opf.generator_costs, 0.1)
        options = AgentOptions(
            progress=lambda now: print(
                f"\r{now.iteration} {now.primal:.1e} {now.dual:.1e}", end="", file=sys.stderr
            )
        )
        bands = cost_bands(network, opf.generator_costs, 0.1)
        layout = build_layout(network, bands)
        vector = np.concatenate([noisy.p, noisy.q])
        run = run_agents(layout, vector, options, threading.Event())
        memory = sum(array.nbytes for array in (*layout, *run.state, *vars(run.history).values()))
        history = run.history
        p, q, point = agreed(layout, run.state, len(network.loads))
        broken = violations(network.with_loads(p, q), point).largest
        apart = np.stack([p, q], axis=1) - central.network.loads.values
        primal = ", ".join(f"{history.primal[k - 1]:.0e}" for k in MILESTONES if k <= len(history))
        rows.append(
            (
                name,
                run.status.name.lower(),
                len(history),
                primal,
                f"{run.primal:.0e}",
                f"{run.dual:.0e}",
                f"{broken:.0e}",
                f"{np.linalg.norm(apart):.1e}",
                f"{central.displacement:.4f}",
                f"{1e3 / run.iterations_per_second:.2f} ms",
                f"{run.seconds:.0f} s",
                f"{opf.solve_seconds:.1f} s",
                f"{memory / 1e6:.1f} MB",
            )
        )
        print(*rows[-1], flush=True)
    intro = (
        "α = 0.1, β = 0.1, policy `fast`, tolerance 1e-5, at most 5,000 iterations, both cores. "
        f"Primal residuals after {', '.join(map(str, MILESTONES))} iterations. Memory is that "
        "of all arrays of a run."
    )
    headings = (
        "case", "ended", "iterations", "primal on the way", "primal", "dual", "violation",
        "distance to central", "central displacement", "iteration", "time", "AC-OPF", "memory",
    )  # fmt: skip
    write_table("agents_large", intro, headings, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
