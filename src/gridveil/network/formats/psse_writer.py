"""Loads written into a copy of a PSS/E raw file."""

from collections.abc import Iterator

from gridveil.errors import GridveilError
from gridveil.network.formats.psse_records import RawFile, Record
from gridveil.network.formats.text_cells import Cell, with_cells
from gridveil.network.formats.write_back import released_values
from gridveil.network.network import Network

_RESULTS = {"bus": {7: "1.0", 8: "0.0"}, "generator": {3: "0.0"}}
"""Fields that a power flow fills in, and what stands there before: VM and VA, and QG."""
_P, _Q = 5, 6
_VOLTAGE_PARTS = (7, 8, 9, 10)


def with_loads(network: Network, raw: RawFile, text: str) -> tuple[str, list[str]]:
    """Return the text of a raw file with the loads of a network, and what it cannot hold."""
    values, lost = released_values(network, [raw.load_key(r) for r in raw.sections["load"]])
    changed: dict[Cell, str] = {}
    for record in raw.sections["load"]:
        p, q = values[raw.load_key(record)]
        if len(record.fields) <= _Q:
            raise GridveilError(f"{raw.load_key(record)}: its record in the source has no P and Q")
        changed[_cell(record, _P)], changed[_cell(record, _Q)] = repr(p), repr(q)
        for position in _VOLTAGE_PARTS:
            if position < len(record.fields):
                changed[_cell(record, position)] = "0.0"
    changed.update(_results(raw))
    return with_cells(text, changed), [
        *lost,
        "bus voltages and reactive powers of generators are cleared; the active powers that "
        "generators are set to (PG) stand as in the source, and their sum tells about the total "
        "of the raw loads",
        "the heading, comments and area interchange stand as in the source",
    ]


def _results(raw: RawFile) -> Iterator[tuple[Cell, str]]:
    for name, positions in _RESULTS.items():
        for record in raw.sections[name]:
            for position, value in positions.items():
                if position < len(record.fields):
                    yield _cell(record, position), value


def _cell(record: Record, position: int) -> Cell:
    text, start, end = record.fields[position]
    return Cell(start, end, f"line {record.line}", str(position), text)
