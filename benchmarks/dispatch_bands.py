"""Releases of networks without costs: the dispatch that is promised, and none.

Run: .venv/bin/python -m benchmarks.dispatch_bands [DRAWS [CASE ...]]   (minutes on two cores)

PGLib cases whose costs are left out, released and verified, DRAWS times each with noise of its own.
"""

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.report import write_table
from gridveil import GridveilError, Network, load_case, release, solve_acopf, verify
from gridveil.network.library import find_case

CASES = ("case14_ieee", "case39_epri", "case118_ieee")
DRAWS = 3
CHOICES = tuple(product(("10%", "10MVA"), ("dispatch", "none"), ("central", "admm")))
INTRO = (
    "ε = 1, β = 0.01. “Kept” is the largest deviation of a published output from p\\*, as a share "
    "of the generator's range; “true” is that of the published dispatch from the proportional "
    "dispatch of the raw loads. Largest over the draws, both."
)
HEADINGS = ("case", "hides", "band", "method", "released", "verified", "kept", "true", "seconds")


def without_costs(name: str, folder: Path) -> Network:
    """Return a case by name, read from a file without costs."""
    text = re.sub(r"mpc\.gencost\s*=\s*\[[^\]]*\];", "", find_case(name).read_text())
    path = folder / f"{name}.m"
    path.write_text(text)
    return load_case(path)


def row_of(network: Network, hide: str, band: str, method: str, draws: int) -> tuple[object, ...]:
    """Release so often, verify, and return a row of the table."""
    gens, true = network.generators, solve_acopf(network).point.p
    width = gens.p_max - gens.p_min
    made, good, kept, off, seconds = 0, 0, [0.0], [0.0], 0.0
    for draw in range(draws):
        with tempfile.TemporaryDirectory() as folder:
            started = time.perf_counter()
            try:
                found = release(
                    network, f"{folder}/ledger.sqlite", hide=hide, band=band, method=method,
                    release_id=str(draw),
                )  # fmt: skip
            except GridveilError as error:
                print(network.name, hide, band, method, error)
                continue
            seconds += time.perf_counter() - started
            found.save(f"{folder}/out")
            made, good = made + 1, good + verify(f"{folder}/out").ok
        kept.append(found.certificate.fidelity.largest_deviation or 0.0)
        shares = np.abs(found.published.point.p - true)[width > 0] / width[width > 0]
        off.append(float(shares.max()))
    shown = f"{max(kept):.2%}" if band == "dispatch" else "–"
    of, about = f"of {draws}", f"{max(off):.1%}"
    each = f"{seconds / max(made, 1):.1f}"
    return network.name, hide, band, method, f"{made} {of}", f"{good} {of}", shown, about, each


def rows(cases: tuple[str, ...], draws: int) -> Iterator[tuple[object, ...]]:
    """Yield a row for each case and choice."""
    with tempfile.TemporaryDirectory() as folder:
        for name in cases:
            network = without_costs(name, Path(folder))
            for hide, band, method in CHOICES:
                yield row_of(network, hide, band, method, draws)


def main() -> None:
    """Write the table."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    print(write_table("dispatch_bands", INTRO, HEADINGS, rows(tuple(sys.argv[2:]) or CASES, draws)))


if __name__ == "__main__":
    main()
