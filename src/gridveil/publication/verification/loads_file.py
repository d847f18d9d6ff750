"""The table of loads of a release: its rows, and that the network has their sums.

It has a row for each load: several at a bus are numbered 1, 2, …, those in service first. Releases
before 0.4 have one load at each bus and neither numbers nor loads out of service.
"""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import CaseFile
from gridveil.publication.folder import LOADS
from gridveil.publication.statements import FORMER_LOADS_COLUMNS, LOADS_COLUMNS

_FORMER_OR_PRESENT = {len(columns): columns for columns in (FORMER_LOADS_COLUMNS, LOADS_COLUMNS)}
_IN_SERVICE, _IDLE = 1, 0


@dataclass(frozen=True)
class LoadsFile:
    """What a table of loads holds."""

    columns: tuple[str, ...]
    buses: tuple[int, ...]
    numbers: tuple[int, ...]
    values: FloatArray
    """P and Q in MW and MVAr."""
    in_service: tuple[int, ...]

    def spelled(self) -> bytes:
        """Return it as Gridveil writes it."""
        is_former = self.columns == FORMER_LOADS_COLUMNS
        lines = [
            f"{bus},{p!r},{q!r}" if is_former else f"{bus},{number},{p!r},{q!r},{on}"
            for bus, number, (p, q), on in zip(
                self.buses, self.numbers, self.values.tolist(), self.in_service, strict=True
            )
        ]
        return "".join(f"{line}\n" for line in (",".join(self.columns), *lines)).encode()


def read_loads_file(data: bytes) -> LoadsFile:
    """Read a table of loads, or say that it is none."""
    try:
        heads, *rows = csv.reader(io.StringIO(data.decode()))
        columns = _FORMER_OR_PRESENT[len(heads)]
        if tuple(heads) != columns:
            raise ValueError
        if columns == FORMER_LOADS_COLUMNS:
            rows = [[bus, "1", p, q, "1"] for bus, p, q in rows]
        buses, numbers, p, q, in_service = zip(*rows, strict=True) if rows else ((),) * 5
        return LoadsFile(
            columns,
            tuple(map(int, buses)),
            tuple(map(int, numbers)),
            np.array([list(map(float, p)), list(map(float, q))], dtype=float).T,
            tuple(map(int, in_service)),
        )
    except (ValueError, KeyError, csv.Error):
        raise GridveilError(f"{LOADS}: this is no table of loads") from None


def lists(file: LoadsFile, in_service: Sequence[int], idle: Sequence[int]) -> bool:
    """Whether a table lists the loads at these buses, several at a bus by their numbers."""
    found: dict[int, int] = {}
    numbers = []
    for bus in (*in_service, *idle):
        found[bus] = found.get(bus, 0) + 1
        numbers.append(found[bus])
    services = [_IN_SERVICE] * len(in_service) + [_IDLE] * len(idle)
    wanted = ([*in_service, *idle], numbers, services)
    return (list(file.buses), list(file.numbers), list(file.in_service)) == wanted


def sums_hold(file: LoadsFile, case: CaseFile, rows: IntArray) -> bool:
    """Whether the bus table has the sums of the loads in service, rounded once.

    Args:
        file: The table of loads.
        case: The network.
        rows: The row of each load in service in the bus table.
    """
    bus = case.tables["bus"]
    for column, values in zip(("Pd", "Qd"), file.values[: len(rows)].T.tolist(), strict=True):
        at_row: dict[int, list[float]] = {}
        for row, value in zip(rows.tolist(), values, strict=True):
            at_row.setdefault(row, []).append(value)
        wanted = np.zeros(len(bus))
        for row, several in at_row.items():
            wanted[row] = math.fsum(several)
        if not np.array_equal(bus.column(column), wanted):
            return False
    return True
