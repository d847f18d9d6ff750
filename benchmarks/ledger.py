"""How long a charge and a look at a ledger take when it has a million rows, on either backend.

Run: .venv/bin/python -m benchmarks.ledger [RELEASES] [LOADS]   (some minutes for 1,000 and 1,000)

A ledger is filled with a thousand releases of a thousand loads: a million charges. Then further
releases are charged one by one, in the same run as in a ledger of a thousand charges. The database
is a PostgreSQL server of this machine, with its disk writes on.
"""

import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.report import write_table
from gridveil.privacy.ledger.ledger import Ledger, Place
from gridveil.privacy.ledger.records import Charge, LoadOwner, Spending
from tests.privacy.ledger.postgresql_server import Server

CHARGES, LOOKS = 21, 3
FIRST = 1000
"""Charges of the small ledger."""


def spending(loads: int) -> Spending:
    owner = LoadOwner(
        network="network",
        label="a network",
        base_mva=100.0,
        buses=range(loads),
        keys=[(f"bus {i}",) for i in range(loads)],
        surroundings=[frozenset({f"branch {i}", f"branch {i + 1}"}) for i in range(loads)],
    )
    return Spending(owner, Charge(Fraction(1, 1000), Fraction(10)), "specification")


def milliseconds(ledger: Ledger, asked: Spending, count: int) -> list[float]:
    """Charge releases one by one, and return what each took."""
    found = []
    for _ in range(count):
        values = np.zeros((len(asked.owner.keys), 2), dtype=np.int64)
        started = time.perf_counter()
        ledger.spend(secrets.token_hex(8), asked, lambda values=values: values)
        found.append(1000 * (time.perf_counter() - started))
    return found


def measured(name: str, place: Place, releases: int, loads: int) -> Iterator[list[object]]:
    asked = spending(loads)
    ledger = Ledger(place)
    ledger.set_cap(10**6)
    before = 0.0
    for target in (max(1, FIRST // loads), releases):
        milliseconds(ledger, asked, target - (0 if not before else FIRST // loads))
        charge = statistics.median(milliseconds(ledger, asked, CHARGES))
        looks = []
        for _ in range(LOOKS):
            started = time.perf_counter()
            assert len(ledger.accounts()) == loads
            looks.append(time.perf_counter() - started)
        opened = time.perf_counter()
        Ledger(place).close()
        opened = time.perf_counter() - opened
        ratio = f"{charge / before:.2f} ×" if before else ""
        before = before or charge
        yield [
            name, f"{loads:,}", f"{target * loads:,}", f"{charge:.1f} ms", ratio,
            f"{statistics.median(looks):.2f} s", f"{1000 * opened:.0f} ms",
        ]  # fmt: skip


def main(releases: int = 1000, loads: int = 1000) -> int:
    rows: list[list[object]] = []
    server = Server(writes_to_disk=True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            places: list[tuple[str, Place]] = [
                ("SQLite", Path(folder) / "ledger.sqlite"),
                ("PostgreSQL", server.new_database("benchmark")),
            ]
            for name, place in places:
                for row in measured(name, place, releases, loads):
                    print(*row, flush=True)
                    rows.append(row)
    finally:
        server.close()
    write_table(
        "ledger",
        f"A charge of all loads at once (median of {CHARGES}), `show` (median of {LOOKS}) and "
        "opening, by how many charges the ledger has. The ratio is to the first row of the same "
        "backend.",
        ("backend", "loads", "charges before", "a charge", "ratio", "show", "open"),
        rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
