"""The hours of a year restored centrally: all at once, and each from the hour before.

Run from the project's folder:
    python -m benchmarks.restore_hours [--device cpu|gpu] [--hours 8760] [--case case118_ieee]
                                       [--solver interior-point,ipopt] [--sequential 100] [--write]

On a machine without PGLib (and without an installation: PYTHONPATH=src), --case is a file that
    python -m benchmarks.restore_hours --save CASE.npz [--case NAME]
has written elsewhere; it holds the case's text. NumPy, SciPy and Numba are needed, for a GPU CuPy
and cuDSS too.

Loads of an hour are those of the case, times a shape of day, week and year, times a factor of the
load and one of the load and the hour, all from a seed. The costs O*_t of an hour are those of an
AC-OPF of the shape alone. Every hour is restored within 1 % of its own costs. Nothing is private
here.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.report import write_table
from gridveil import Network, load_case, restore_many, using
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.central import bands_of, nearest_loads
from gridveil.opf.acopf import acopf_program
from gridveil.opf.batches import minimise_many
from gridveil.opf.program import batch_of
from gridveil.opf.start import starting_point
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.phase import NoisyLoads, Origin

BETA, SEED = 0.01, 1
INTRO = (
    "Hours of synthetic loads (a public shape, factors of loads and hours from a seed), each "
    "restored within 1 % of its own costs. All at once: on all cores, or on a GPU. CPU seconds are "
    "those of all cores; where the machine was shared, they are what counts."
)
HEADINGS = (
    "case", "solver", "device", "what", "hours", "solved", "iterations an hour", "seconds",
    "CPU seconds", "hours a second",
)  # fmt: skip


def save(path: Path, name: str) -> None:
    from gridveil.network.library import list_cases

    (entry,) = (entry for entry in list_cases() if entry.name == name)
    np.savez_compressed(path, name=name, text=entry.path.read_text())


def opened(case: str) -> Network:
    if not case.endswith(".npz"):
        return load_case(case)
    arrays = np.load(case)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{arrays['name']}.m"
        path.write_text(str(arrays["text"]))
        return load_case(path)


def shape(hours: int) -> np.ndarray:
    """Return the share of the largest load in each hour of a year, from 0.6 to 1."""
    t = np.arange(hours)
    day = np.cos(2 * np.pi * (t - 18) / 24)
    year = np.cos(2 * np.pi * t / 8760)
    weekend = (t // 24) % 7 >= 5
    return 0.8 + 0.1 * day + 0.08 * year - 0.02 * weekend


def draws(network: Network, hours: int) -> list[NoisyLoads]:
    random = np.random.default_rng(SEED)
    count = len(network.loads)
    factor = random.uniform(0.9, 1.1, count) * random.normal(1.0, 0.03, (hours, count))
    factor *= shape(hours)[:, None]
    guarantee = PolarLaplace.of(1, 0.1).guarantee()
    p, q = network.loads.p * factor, network.loads.q * factor
    return [
        NoisyLoads(*loads, guarantee, Origin.SIMULATION, None) for loads in zip(p, q, strict=True)
    ]


@dataclass
class Row:
    """What was solved, for the table."""

    what: str
    solved: list[bool] = field(default_factory=list)
    iterations: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def cells(self) -> list[object]:
        """Return it as cells of the table."""
        hours = len(self.solved)
        return [
            self.what, hours, sum(self.solved), f"{self.iterations / hours:.1f}",
            f"{self.seconds:.2f}", f"{self.cpu_seconds:.2f}", f"{hours / self.seconds:.1f}",
        ]  # fmt: skip


@contextmanager
def timed(what: str, rows: list[Row]) -> Iterator[Row]:
    row, started, cpu = Row(what), time.perf_counter(), time.process_time()
    yield row
    row.seconds, row.cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    rows.append(row)


def costs_of_hours(network: Network, hours: int, rows: list[Row]) -> np.ndarray:
    """Return the costs O*_t of every hour, by one batch of AC-OPFs."""
    builder = acopf_program(network)
    program = builder.build()
    batch = batch_of([program] * hours)
    balance = np.concatenate([builder.active, builder.reactive])
    for bound in (batch.g_min, batch.g_max):
        bound[:, balance] *= shape(hours)[:, None]
    start = builder.start(program, starting_point(network, hours))
    with timed("AC-OPFs, all at once", rows) as row:
        solutions = minimise_many(batch, np.repeat(start[None], hours, axis=0))
        row.solved = [solution.converged for solution in solutions]
        row.iterations = sum(solution.iterations for solution in solutions)
    return np.stack([network.generators.costs(solution.x[builder.p]) for solution in solutions])


def one_after_another(
    network: Network, noisy: list[NoisyLoads], costs: np.ndarray, rows: list[Row]
) -> None:
    for warm in (False, True):
        before = None
        with timed("each from the hour before" if warm else "one after the other", rows) as row:
            for hour, own in zip(noisy, costs, strict=True):
                bands, total = bands_of(network, own, BETA, BandKind.COST)
                loads = np.stack([hour.p, hour.q], axis=1)
                found, _, steps = nearest_loads(network, loads, bands, total, start=before)
                row.solved.append(found.status.solved)
                row.iterations += steps
                before = found if warm and found.status.solved else None


def measured(network: Network, hours: int, sequential: int, threads: int | None) -> list[Row]:
    noisy, few = draws(network, hours), min(hours, 16)
    for _ in range(2):  # compiles, and plans the structures
        restore_many(network, noisy[:few], costs_of_hours(network, few, []), BETA, "central")
    rows: list[Row] = []
    costs = costs_of_hours(network, hours, rows)
    with timed("restored all at once", rows) as row:
        found = restore_many(network, noisy, costs, BETA, "central", threads=threads)
        row.solved = [one.status.solved for one in found]
        row.iterations = sum(one.iterations for one in found)
    worst = max(one.max_violation for one in found if one.status.solved)
    print(f"largest violation {worst:.1e} p.u.", flush=True)
    if sequential:
        one_after_another(network, noisy[:sequential], costs[:sequential], rows)
    return rows


def main(asked: argparse.Namespace) -> None:
    network, table = opened(asked.case), []
    for solver in asked.solver.split(","):
        with using(solver, asked.device):
            for row in measured(network, asked.hours, asked.sequential, asked.threads):
                table.append([network.name, solver, asked.device, *row.cells()])
                print(*(f"{name} {cell}" for name, cell in zip(HEADINGS, table[-1], strict=True)),
                      sep=", ", flush=True)  # fmt: skip
    if asked.write:
        write_table("restore_hours", INTRO, HEADINGS, table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", default="case118_ieee")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--solver", default="interior-point")
    parser.add_argument("--hours", type=int, default=8760)
    parser.add_argument("--sequential", type=int, default=100)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--write", action="store_true", help="results/restore_hours.md")
    asked = parser.parse_args()
    if asked.save:
        save(asked.save, asked.case)
    else:
        main(asked)
