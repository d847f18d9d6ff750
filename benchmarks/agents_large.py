"""Runs the agents on networks of 1,354 to 78,484 buses, from a flat start and from a power flow.

Run:  .venv/bin/python -m benchmarks.gpu prepare FOLDER   (20 minutes of AC-OPFs)
then: .venv/bin/python -m benchmarks.agents_large FOLDER  (half an hour on two cores)
"""

import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.gpu import CASES, problem
from benchmarks.report import write_table
from gridveil import AgentOptions
from gridveil.admm.draw import make_draw
from gridveil.admm.engine import run_agents
from gridveil.admm.layout import Layout
from gridveil.admm.result import AgentRun
from gridveil.admm.start import Start
from gridveil.arrays import FloatArray
from gridveil.fidelity.agents import agreed
from gridveil.network.network import Network
from gridveil.opf.operating_point import violations

CUT_OFF = 5000
MILESTONES = (1000, 2000, CUT_OFF, 20_000)
ONWARD = 10_000
"""Buses up to which runs are not cut off."""
LARGEST_FLAT = 30_000
"""Buses up to which runs set out flat too."""


def stages(layout: Layout, noisy: FloatArray, start: Start) -> list[AgentRun]:
    """Run up to each milestone, one from the checkpoint of the other, until the agents end."""
    runs: list[AgentRun] = []
    with tempfile.TemporaryDirectory() as folder:
        options = AgentOptions(checkpoint=Path(folder) / "run", start=start)
        for most in MILESTONES[: 4 if len(layout.shunt_g) <= ONWARD else 3]:
            until = replace(options, max_iterations=most)
            runs.append(run_agents(layout, make_draw(noisy), until, threading.Event()))
            print(runs[-1].iterations, f"{runs[-1].primal:.1e} {runs[-1].dual:.1e}", flush=True)
            if runs[-1].status.solved:
                break
    return runs


def study(
    network: Network, layout: Layout, noisy: FloatArray, found: FloatArray | None, start: Start
) -> tuple[object, ...]:
    """Run one network from one start; `found` are the loads of the central solver, if known."""
    runs = stages(layout, noisy, start)
    apart = moved = "–"
    if found is not None:
        central = found.T.ravel()
        apart = ", ".join(
            f"{np.linalg.norm(run.state.x[: len(noisy)] - central):.0e}" for run in runs
        )
        moved = f"{np.linalg.norm(central - noisy):.0e}"
    last = runs[-1]
    p, q, point = agreed(layout, last.state, len(network.loads))
    loud = np.flatnonzero(last.history.primal[:CUT_OFF] > 1e-3)
    return (
        f"{len(network.buses):,}",
        start.value,
        last.status.name.lower(),
        f"{last.iterations:,}",
        f"{loud[-1] + 2:,}" if loud[-1] + 1 < min(CUT_OFF, last.iterations) else "not",
        ", ".join(f"{run.primal:.0e}" for run in runs),
        apart,
        moved,
        f"{last.dual:.0e}",
        f"{violations(network.with_loads(p, q), point).largest:.0e}",
        f"{1e3 * sum(run.seconds for run in runs) / last.iterations:.2f} ms",
    )


def main(folder: Path) -> int:
    rows = []
    for name in CASES[1:]:
        network, layout, noisy = problem(name, folder)
        central = np.load(folder / f"{name}.npz").get("central")
        small = len(network.buses) <= LARGEST_FLAT
        for start in (Start.FLAT, Start.FLOW) if small else (Start.FLOW,):
            rows.append(study(network, layout, noisy, central, start))
            print(*rows[-1], flush=True)
    intro = (
        "α = 0.1, β = 0.1, policy `fast`, tolerance 1e-5. Primal residuals, and distances to the "
        "central solution in p.u. (L2), after "
        f"{', '.join(f'{most:,}' for most in MILESTONES)} iterations, or at the end; runs of "
        f"over {ONWARD:,} buses are cut off after 5,000. Of case78484_epigrids' buses six are out "
        "of service."
    )
    headings = (
        "buses", "start", "ended", "iterations", "primal below 1e-3 from … to 5,000", "primal",
        "distance to central", "central displacement", "dual", "violation", "iteration",
    )  # fmt: skip
    write_table("agents_large", intro, headings, rows)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
