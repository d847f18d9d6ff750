"""The hours of a year restored centrally: all at once, and each from the hour before.

Run from the project's folder:
    python -m benchmarks.restore_hours [--device cpu|gpu] [--hours 8760] [--case case118_ieee]
                                       [--solver interior-point|ipopt] [--sequential 100]

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
from pathlib import Path

import numpy as np

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


def costs_of_hours(network: Network, hours: int) -> np.ndarray:
    """Return the costs O*_t of every hour, by one batch of AC-OPFs."""
    builder = acopf_program(network)
    program = builder.build()
    batch = batch_of([program] * hours)
    balance = np.concatenate([builder.active, builder.reactive])
    for bound in (batch.g_min, batch.g_max):
        bound[:, balance] *= shape(hours)[:, None]
    start = builder.start(program, starting_point(network, hours))
    solutions, seconds = timed(minimise_many, batch, np.repeat(start[None], hours, axis=0))
    solved = sum(solution.converged for solution in solutions)
    iterations = sum(solution.iterations for solution in solutions)
    told("AC-OPFs", hours, solved, iterations, seconds)
    return np.stack([network.generators.costs(solution.x[builder.p]) for solution in solutions])


def timed(function, *arguments, **options):
    started = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - started


def told(what: str, hours: int, solved: int, iterations: int, seconds: float) -> None:
    print(
        f"{what}: {solved} of {hours} solved, {iterations / hours:.1f} iterations an hour, "
        f"{seconds:.2f} s, {hours / seconds:.1f} hours a second",
        flush=True,
    )


def one_after_another(network: Network, noisy: list[NoisyLoads], costs: np.ndarray) -> None:
    for warm in (False, True):
        before, solved, iterations, started = None, 0, 0, time.perf_counter()
        for hour, own in zip(noisy, costs, strict=True):
            bands, total = bands_of(network, own, BETA, BandKind.COST)
            loads = np.stack([hour.p, hour.q], axis=1)
            found, _, steps = nearest_loads(network, loads, bands, total, start=before)
            solved, iterations = solved + found.status.solved, iterations + steps
            before = found if warm and found.status.solved else None
        name = "each from the hour before" if warm else "one after the other, cold"
        told(name, len(noisy), solved, iterations, time.perf_counter() - started)


def main(case: str, hours: int, sequential: int, threads: int | None) -> None:
    network = opened(case)
    noisy = draws(network, hours)
    for _ in range(2):  # compiles, and plans the structures
        costs = costs_of_hours(network, min(hours, 8))
        restore_many(network, noisy[:8], costs, BETA, "central")
    print(f"{network.name}:")
    costs = costs_of_hours(network, hours)
    found, seconds = timed(restore_many, network, noisy, costs, BETA, "central", threads=threads)
    solved = sum(one.status.solved for one in found)
    told("all at once", hours, solved, sum(one.iterations for one in found), seconds)
    worst = max(one.max_violation for one in found if one.status.solved)
    print(f"largest violation {worst:.1e} p.u.")
    if sequential:
        one_after_another(network, noisy[:sequential], costs[:sequential])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--case", default="case118_ieee")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--solver", default="interior-point")
    parser.add_argument("--hours", type=int, default=8760)
    parser.add_argument("--sequential", type=int, default=100)
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    if asked.save:
        save(asked.save, asked.case)
    else:
        with using(asked.solver, asked.device):
            main(asked.case, asked.hours, asked.sequential, asked.threads)
