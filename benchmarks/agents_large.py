"""Runs the agents on networks of 1,354 to 9,241 buses until they end: how they get there, and when.

Run: .venv/bin/python -m benchmarks.agents_large   (about a quarter of an hour)
"""

import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.report import write_table
from gridveil import AgentOptions, PolarLaplace, load_case, restore, simulate_loads, solve_acopf
from gridveil.admm.engine import run_agents
from gridveil.admm.layout import Layout, build_layout
from gridveil.admm.result import AgentRun
from gridveil.arrays import FloatArray
from gridveil.fidelity.admm import agreed
from gridveil.fidelity.bands import cost_bands
from gridveil.opf.operating_point import violations

CASES = ("case1354_pegase", "case2869_pegase", "case9241_pegase")
MILESTONES = (1000, 2000, 5000, 10_000, 20_000, 40_000)


def stages(layout: Layout, noisy: FloatArray) -> list[AgentRun]:
    """Run up to each milestone, one from the checkpoint of the other, until the agents end."""
    runs: list[AgentRun] = []
    with tempfile.TemporaryDirectory() as folder:
        options = AgentOptions(checkpoint=Path(folder) / "run")
        for most in MILESTONES:
            until = replace(options, max_iterations=most)
            runs.append(run_agents(layout, noisy, until, threading.Event()))
            print(runs[-1].iterations, f"{runs[-1].primal:.1e} {runs[-1].dual:.1e}", flush=True)
            if runs[-1].status.solved:
                break
    return runs


def main() -> int:
    rows = []
    for name in CASES:
        network = load_case(name)
        opf = solve_acopf(network)
        noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
        central = restore(network, noisy, opf.generator_costs, 0.1)
        assert central.status.solved, name
        layout = build_layout(network, cost_bands(network, opf.generator_costs, 0.1))
        runs = stages(layout, np.concatenate([noisy.p, noisy.q]))
        loads = [agreed(layout, run.state, len(network.loads))[:2] for run in runs]
        apart = [
            float(np.linalg.norm(np.stack(both, axis=1) - central.network.loads.values))
            for both in loads
        ]
        last = runs[-1]
        p, q, point = agreed(layout, last.state, len(network.loads))
        history = vars(last.history).values()
        memory = sum(array.nbytes for array in (*layout, *last.state, *history))
        rows.append(
            (
                name,
                last.status.name.lower(),
                f"{last.iterations:,}",
                ", ".join(f"{run.primal:.0e}" for run in runs),
                ", ".join(f"{distance:.1e}" for distance in apart),
                f"{central.displacement:.1e}",
                f"{last.dual:.0e}",
                f"{violations(network.with_loads(p, q), point).largest:.0e}",
                f"{1e3 / last.iterations_per_second:.2f} ms",
                f"{sum(run.seconds for run in runs):.0f} s",
                f"{opf.solve_seconds:.1f} s",
                f"{memory / 1e6:.1f} MB",
            )
        )
        print(*rows[-1], flush=True)
    intro = (
        "α = 0.1, β = 0.1, policy `fast`, tolerance 1e-5, both cores. Primal residuals, and "
        "distances to the central solution in p.u. (L2), after "
        f"{', '.join(f'{most:,}' for most in MILESTONES)} iterations, or at the end. Memory is "
        "that of all arrays of a run."
    )
    headings = (
        "case", "ended", "iterations", "primal", "distance to central", "central displacement",
        "dual", "violation", "iteration", "time", "AC-OPF", "memory",
    )  # fmt: skip
    write_table("agents_large", intro, headings, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
