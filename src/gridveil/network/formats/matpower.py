"""MATPOWER version 2 case files (.m)."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from gridveil.errors import GridveilError
from gridveil.files import write_atomically
from gridveil.network.case_file import COLUMNS, CaseFile, Edit
from gridveil.network.conversion import FIELDS, build_network, bus_rows, changes
from gridveil.network.formats.base import CaseFormat, first_bytes
from gridveil.network.formats.matpower_parser import parse_matpower, read_matpower
from gridveil.network.formats.matpower_writer import edited_text
from gridveil.network.from_case import network_from_case
from gridveil.network.load_values import load_cells
from gridveil.network.network import Network, released_idle_loads

_LOOKED_AT = 1 << 16
"""Bytes of a file in which its first assignment is looked for; long comments may come first."""
_RESULTS: Mapping[str, Mapping[str, float]] = {
    "bus": {"Vm": 1.0, "Va": 0.0},
    "gen": {"Pg": 0.0, "Qg": 0.0, "Vg": 1.0},
    "branch": {},
}
"""Columns of a solution, and what a file without any has there."""
_STILL_IN_TEXT = (
    "comments, sections beyond the tables, and the blanks around numbers stand as in the source: "
    "look there for what speaks of loads; voltages and outputs are cleared, those of the release "
    "stand in its network.m"
)
_ASSIGNMENT = re.compile(rb"^\s*(function\s+\w+\s*=|mpc\.\w+\s*=)", re.MULTILINE)


class MatpowerFormat(CaseFormat):
    """MATPOWER version 2 case files; saving keeps everything in them but the changed values."""

    name = "matpower"
    suffixes = (".m",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins with a case function or an assignment to `mpc`."""
        return _ASSIGNMENT.search(first_bytes(path, _LOOKED_AT)) is not None

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; every problem of its tables is found at once, with file and line."""
        return network_from_case(read_matpower(path), load_buses)

    def write(self, network: Network, path: Path) -> None:
        """Write the text of the network's source with only the changed values replaced."""
        write_atomically(path, saved_text(network).encode("utf-8", "surrogateescape"))

    def write_back(self, network: Network, source: Path, path: Path) -> list[str]:
        """Write the text of a source with other loads and without a solution."""
        case = network.case
        if read_matpower(source).text != case.text:
            raise GridveilError(f"{source} has changed since it was read")
        edits = [*changes(network), *_idle_edits(network), *_cleared(case)]
        write_atomically(path, edited_text(case, edits).encode("utf-8", "surrogateescape"))
        return [_STILL_IN_TEXT]


def _idle_edits(network: Network) -> list[Edit]:
    """Return the cells of loads at buses that are out of service."""
    idle = released_idle_loads(network)
    rows = bus_rows(network.case, idle.bus.tolist()).tolist()
    cells = load_cells(idle.values, network.base_mva).tolist()
    return [
        Edit("bus", row, column, value)
        for row, values in zip(rows, cells, strict=True)
        for column, value in zip(("Pd", "Qd"), values, strict=True)
    ]


def _cleared(case: CaseFile) -> list[Edit]:
    """Return the cells of a solution, and of columns behind the known ones, that are not blank."""
    edits: list[Edit] = []
    for name, known in _RESULTS.items():
        table = case.tables[name]
        behind = range(len(COLUMNS[name]), table.values.shape[1])
        blank = {COLUMNS[name].index(column): value for column, value in known.items()}
        for column, value in {**blank, **dict.fromkeys(behind, 0.0)}.items():
            rows = np.flatnonzero(table.values[:, column] != value).tolist()
            edits += [Edit(name, row, column, value) for row in rows]
    return edits


def saved_text(network: Network) -> str:
    """Return the source's text with this network's values.

    Raises:
        GridveilError: The text cannot hold one of the values.
    """
    edits = changes(network)
    text = edited_text(network.case, edits)
    if edits:
        case = parse_matpower(text, network.case.source, network.case.name)
        again = build_network(case, np.unique(network.loads.row))
        _check_finite(again)
        for f in FIELDS:
            wanted, got = (getattr(getattr(n, f.part), f.name) for n in (network, again))
            if not np.allclose(wanted, got, rtol=1e-14, atol=0.0):
                raise GridveilError(
                    f"cannot save {network.name}: its file cannot hold the values of "
                    f"{f.part}.{f.name} (a rate of 0 means no limit there, for example)"
                )
    return text


def _check_finite(saved: Network) -> None:
    if not np.isfinite(saved.loads.values).all():
        raise GridveilError(f"cannot save {saved.name}: its file cannot hold loads as large")
