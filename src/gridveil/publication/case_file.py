"""The case file of a release: written anew from the model, with an operating point to match.

A source file has more than the model of a network: a solution, which gives the loads away, comments
and sections that may speak of them, loads of buses that are out of service, and blanks that tell
how long a number was. So nothing of its text is used. What is written are the columns that every
case has, by numbers of our own spelling.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.network.case_file import COLUMNS, REQUIRED_COLUMNS, CaseFile, Edit
from gridveil.network.components import LoadList
from gridveil.network.conversion import PIECEWISE_LINEAR, build_network, changes
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.matpower_writer import text_of_tables
from gridveil.network.load_values import load_cells
from gridveil.network.network import Network
from gridveil.network.source_loads import loads_at_buses
from gridveil.opf.operating_point import OperatingPoint
from gridveil.publication.kept import kept_text

_BLANK = {
    "bus": {"Pd": 0.0, "Qd": 0.0, "Vm": 1.0, "Va": 0.0},
    "gen": {"Pg": 0.0, "Qg": 0.0, "Vg": 1.0},
}
"""Columns of loads and of a solution, and what a file without either has in their place."""


@dataclass(frozen=True)
class PublishedCase:
    """A network as its recipient reads it, with the operating point in its file."""

    network: Network
    point: OperatingPoint

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.network.case.text


def blank(network: Network, keep: Collection[str] = ()) -> Network:
    """Return the network without its loads, in a file of its own that holds the model alone.

    All loads are 0, those of buses out of service too, and no solution is left. Which buses have a
    load remains: that list is public. Columns behind the known ones are left out.

    Args:
        network: The network with its raw loads.
        keep: Kinds of what else is published of its source (see kept.py).
    """
    case = network.case
    tables = {name: _blank_table(case, name) for name in REQUIRED_COLUMNS}
    text = text_of_tables(tables, case.base_mva) + kept_text(case, keep)
    written = parse_matpower(text, case.name, case.name)
    nothing = np.zeros_like(network.loads.values)
    return build_network(_with_loads(written, network.load_buses, nothing, LoadList.none()))


def _blank_table(case: CaseFile, name: str) -> FloatArray:
    table = case.tables[name]
    width = table.values.shape[1]
    if name == "gencost":
        return _without_rest(table.values)
    values = table.values[:, : len(COLUMNS[name])].copy()
    for column, value in _BLANK.get(name, {}).items():
        index = COLUMNS[name].index(column)
        if index < width:
            values[:, index] = value
    return values


def _without_rest(gencost: FloatArray) -> FloatArray:
    """Return cost rows with zeros behind the numbers that count."""
    numbers = gencost[:, 3] * np.where(gencost[:, 0] == PIECEWISE_LINEAR, 2, 1)
    behind = np.arange(gencost.shape[1]) >= 4 + numbers[:, None]
    return np.where(behind, 0.0, gencost)


def publish(
    blank_network: Network, p: FloatArray, q: FloatArray, point: OperatingPoint, idle: LoadList
) -> PublishedCase:
    """Return a blank network's file with loads and an operating point, read back as others will.

    Args:
        blank_network: The network without its loads.
        p: Active power of each load in service in p.u.
        q: Reactive power of each.
        point: The operating point.
        idle: Released loads that are out of service, which the network does not have.
    """
    network = blank_network.with_loads(p, q)
    buses, gens, base = network.buses, network.generators, network.base_mva
    values = [
        ("bus", "Vm", buses.row, point.v),
        ("bus", "Va", buses.row, np.degrees(point.theta)),
        ("gen", "Pg", gens.row, point.p * base),
        ("gen", "Qg", gens.row, point.q * base),
        ("gen", "Vg", gens.row, point.v[gens.bus]),
    ]
    edits = changes(network) + [
        Edit(table, int(row), column, float(value))
        for table, column, rows, numbers in values
        for row, value in zip(rows, numbers, strict=True)
    ]
    case = _edited(network.case, edits)
    return read_published(_with_loads(case, network.load_buses, network.loads.values, idle))


def _with_loads(
    case: CaseFile, load_buses: Sequence[int], loads: FloatArray, idle: LoadList
) -> CaseFile:
    """Return a case, whose bus table has the sums, with its loads one by one, in p.u. here."""
    buses = [*load_buses, *idle.bus.tolist()]
    p, q = load_cells(np.concatenate([loads, idle.values]), case.base_mva).T.tolist()
    return replace(case, loads=loads_at_buses(buses, p, q, in_service=len(load_buses)))


def read_published(case: CaseFile) -> PublishedCase:
    """Return the network and the operating point that a case file with its loads holds."""
    network = build_network(case)
    bus, gen, base = case.tables["bus"], case.tables["gen"], case.base_mva
    buses, gens = network.buses.row, network.generators.row
    point = OperatingPoint(
        v=bus.column("Vm")[buses],
        theta=np.radians(bus.column("Va")[buses]),
        p=gen.column("Pg")[gens] / base,
        q=gen.column("Qg")[gens] / base,
    )
    return PublishedCase(network, point)


def _edited(case: CaseFile, edits: list[Edit]) -> CaseFile:
    """Return a case that `blank` wrote with other cells, written in the same way."""
    tables = {name: case.tables[name].values.copy() for name in REQUIRED_COLUMNS}
    kept = case.text.removeprefix(text_of_tables(tables, case.base_mva))
    for edit in edits:
        assert isinstance(edit.column, str)
        tables[edit.table][edit.row, COLUMNS[edit.table].index(edit.column)] = edit.value
    text = text_of_tables(tables, case.base_mva) + kept
    return parse_matpower(text, case.source, case.name)
