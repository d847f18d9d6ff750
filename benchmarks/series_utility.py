"""How useful private load series are: SimBench profiles on the loads of 14, 39 and 118 buses.

Every load is a mixture of three of SimBench's customer classes, with the P and Q of its case as
peaks. Ratings are the usual size above the largest apparent power of the year. Noise is simulated
(its distribution is that of the exact sampler); the prior is made up and has seen no profile.

Run: python benchmarks/series_utility.py [--quick] > benchmarks/results/series_utility.md
"""

import argparse
import datetime
import os
import platform
import re
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from gridveil import load_case
from gridveil.arrays import FloatArray
from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries, load_keys
from gridveil.privacy.ratings import PublicRatings
from gridveil.privacy.series.design import chosen_basis
from gridveil.privacy.series.mechanism import series_mechanism
from gridveil.privacy.series.phase import simulate_series
from gridveil.privacy.series.prior import Prior
from gridveil.privacy.series.promise import SeriesPromise
from gridveil.privacy.series.smoothing import smoothed
from gridveil.privacy.series.usefulness import Errors, errors_of, no_data, true_energy

CASES = ("case14_ieee", "case39_epri", "case118_ieee")
FIRST = int((np.datetime64("2016-01-01T00", "h") - np.datetime64("1970-01-01T00", "h")).astype(int))
WINDOWS = {24: (24 * 18, 24 * 109, 24 * 200), 168: (24 * 17, 24 * 108, 24 * 199), 8736: (0,)}
"""Where windows begin, in hours of 2016, by their length."""
EPSILONS = (1, 2, 5)
PROMISES = (("energy", "5%rating"), ("energy", "100%rating"), ("day", "5%rating"),
            ("window", "5%rating"))  # fmt: skip
SIZES = [Fraction(s) * 10**k for k in range(-1, 4)
         for s in ("1", "1.25", "1.6", "2", "2.5", "3.15", "4", "5", "6.3", "8")]  # fmt: skip
SEED = 20


@dataclass(frozen=True)
class Year:
    """A year of profiles on the loads of a case, and public ratings in MVA."""

    network: Network
    p: FloatArray
    q: FloatArray
    ratings: tuple[Fraction, ...]

    def series(self, start: int, hours: int) -> LoadSeries:
        """Return some of its hours."""
        part = slice(start, start + hours)
        return LoadSeries(FIRST + start, self.p[part], self.q[part], load_keys(self.network))


def customer_profiles() -> tuple[FloatArray, FloatArray]:
    """Return hourly P and Q of SimBench's customer classes in 2016, (hours, classes), peaks 1."""
    import pandas as pd
    import simbench

    folder = Path(simbench.__file__).parent / "networks" / "1-complete_data-mixed-all-0-sw"
    table = pd.read_csv(folder / "LoadProfile.csv", sep=";")
    names = [c[:-6] for c in table.columns if re.fullmatch(r"(BL|WB|[GL]\d|H0)-[A-Z]_pload", c)]
    p, q = (
        table[[f"{name}_{kind}load" for name in names]]
        .to_numpy()
        .reshape(-1, 4, len(names))
        .mean(1)
        for kind in "pq"
    )
    return p / p.max(axis=0), q / np.abs(q).max(axis=0)


def year_of(case: str) -> Year:
    """Return a year of profiles on a case."""
    network = load_case(case)
    random = np.random.default_rng(SEED)
    of_p, of_q = customer_profiles()
    loads = len(network.loads)
    shares = np.zeros((of_p.shape[1], loads))
    for i in range(loads):
        shares[random.choice(len(shares), 3, replace=False), i] = random.dirichlet([1.0] * 3)
    p, q = of_p @ shares, of_q @ shares
    p, q = p / p.max(axis=0) * network.loads.p, q / np.abs(q).max(axis=0) * network.loads.q
    largest = np.hypot(p, q).max(axis=0) * network.base_mva
    ratings = tuple(next(size for size in SIZES if size >= one) for one in largest)
    return Year(network, p, q, ratings)


def rows(case: str, lengths: list[int]) -> Iterator[tuple[str, ...]]:
    """Give a row of the table for each length, promise and ε."""
    year = year_of(case)
    base = year.network.base_mva
    sizes = np.array([float(r) for r in year.ratings]) / base
    ratings = PublicRatings(year.ratings, "SimBench")
    for hours in lengths:
        starts = WINDOWS[hours]
        truths = [year.series(start, hours) for start in starts]
        priors = [Prior.generated(one.first_hour, hours) for one in truths]
        both = list(zip(truths, priors, strict=True))
        found = [errors_of(*no_data(prior, sizes), t.p, t.q) for t, prior in both]
        yield _row(case, hours, "no data", "", "", found)
        found = [errors_of(*true_energy(t.p, t.q, prior, sizes), t.p, t.q) for t, prior in both]
        yield _row(case, hours, "true energy × public shape", "", "", found)
        for kind, hide in PROMISES:
            for epsilon in EPSILONS:
                promise = SeriesPromise.of(kind, epsilon, hide)
                alphas = promise.alphas(len(sizes), base, ratings)
                found, raw, began = [], [], time.perf_counter()
                for seed, (truth, prior) in enumerate(zip(truths, priors, strict=True)):
                    basis = chosen_basis(promise, prior, [float(a) for a in alphas], sizes)
                    made = series_mechanism(promise, base, alphas, truth.first_hour, hours, basis)
                    private = simulate_series(year.network, truth, made, seed)
                    found.append(errors_of(*smoothed(private, prior, sizes), truth.p, truth.q))
                    raw.append(errors_of(private.p, private.q, truth.p, truth.q))
                unsmoothed = f"{np.median([one.p for one in raw]):.3g}"
                k = len(made.basis.frequencies)
                label = f"{kind}, {hide}" + (f", k = {k}" if kind != "energy" else "")
                yield _row(case, hours, label, f"{epsilon}", unsmoothed, found)
                print(
                    case,
                    hours,
                    label,
                    epsilon,
                    f"{time.perf_counter() - began:.1f} s",
                    file=sys.stderr,
                )


def _row(
    case: str, hours: int, name: str, epsilon: str, unsmoothed: str, found: list[Errors]
) -> tuple[str, ...]:
    names = ("p", "q", "total", "peak", "ramp")
    numbers = (f"{np.median([getattr(one, name) for one in found]):.3f}" for name in names)
    return (case, str(hours), name, epsilon, *numbers, unsmoothed)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="no year, and two cases")
    parser.add_argument("--case", action="append")
    parser.add_argument("--hours", type=int, action="append")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    lengths = given.hours or ([24, 168] if given.quick else list(WINDOWS))
    cases = given.case or (CASES[:2] if given.quick else CASES)
    today = datetime.datetime.now(datetime.UTC).date()
    print(f"<!-- {platform.processor() or platform.machine()}, {os.cpu_count()} cores, {today}; "
          f"python benchmarks/series_utility.py -->\n")  # fmt: skip
    header = ("case", "hours", "promise", "ε", "P", "Q", "total", "peak", "ramp", "P unsmoothed")
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    for case in cases:
        for row in rows(case, lengths):
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
