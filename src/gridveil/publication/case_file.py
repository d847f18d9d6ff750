"""The case file of a release: the source file with other loads, and an operating point to match.

A case file also holds a solution: voltages, dispatch, and in solved files flows and prices. Those
of the source would give its loads away, so all of them are replaced by the release's own.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.network.case_file import COLUMNS, CaseFile, Edit
from gridveil.network.conversion import build_network, changes
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.matpower_writer import edited_text, respaced_text
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint

_CLEARED = {"bus": ("Pd", "Qd", "Vm", "Va"), "gen": ("Pg", "Qg", "Vg"), "branch": ()}
"""Columns of loads and of a solution; columns behind the known ones are cleared as well."""
_BLANK = {"Vm": 1.0, "Vg": 1.0}
"""What a file without a solution has in place of one, where that is not 0."""


@dataclass(frozen=True)
class PublishedCase:
    """A network as its recipient reads it, with the operating point in its file."""

    network: Network
    point: OperatingPoint

    @property
    def text(self) -> str:
        """The text of the file."""
        return self.network.case.text


def blank(network: Network) -> Network:
    """Return the network without its loads: all 0, in its file as well, with no solution left.

    Which buses have a load remains: that list is public.
    """
    case, rows = network.case, network.loads.row
    edits = []
    for name, columns in _CLEARED.items():
        table = case.tables[name]
        extra = range(len(COLUMNS[name]), table.values.shape[1])
        for row in range(len(table)):
            edits += [Edit(name, row, c, _BLANK.get(c, 0.0)) for c in columns if c in table.columns]
            edits += [Edit(name, row, c, 0.0) for c in extra]
    text = respaced_text(case, edits, tuple(_CLEARED))
    return build_network(parse_matpower(text, case.source, case.name), rows)


def publish(
    blank_network: Network, p: FloatArray, q: FloatArray, point: OperatingPoint
) -> PublishedCase:
    """Return a blank network's file with loads and an operating point, read back as others will."""
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
    return read_published(_edited(network.case, edits), network.loads.row.tolist())


def read_published(case: CaseFile, load_rows: list[int]) -> PublishedCase:
    """Return the network and the operating point that a case file holds."""
    network = build_network(case, np.array(load_rows, dtype=np.int64))
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
    return parse_matpower(edited_text(case, edits), case.source, case.name)
