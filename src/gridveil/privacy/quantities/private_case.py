"""A network with private values, in a case of its own that holds none of the raw ones.

A source has more than a model: comments, sections, columns behind the known ones, a solution from
which impedances can be computed, and columns that follow from what is protected, such as rateB.
Nothing of its text is used, and no note of what a reader did with it is kept.
"""

from collections.abc import Sequence
from dataclasses import replace

from gridveil.arrays import FloatArray
from gridveil.network.case_file import COLUMNS, REQUIRED_COLUMNS
from gridveil.network.components import LoadList
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.matpower_writer import text_of_tables
from gridveil.network.load_values import load_cells, sums_by_row
from gridveil.network.network import Network
from gridveil.network.source_loads import SourceLoad, loads_at_buses
from gridveil.privacy.quantities.base import ProtectedQuantity

_SOLUTION = (
    ("bus", "Vm", 1.0),
    ("bus", "Va", 0.0),
    ("gen", "Pg", 0.0),
    ("gen", "Qg", 0.0),
    ("gen", "Vg", 1.0),
)
"""Columns of a solution, and what a file without one has in their place."""


def with_private_case(
    network: Network,
    quantities: Sequence[type[ProtectedQuantity]],
    *,
    has_private_loads: bool = False,
) -> Network:
    """Return a network whose case is written anew from the values that it has now.

    Args:
        network: The network with private values in place of the raw ones.
        quantities: What they are values of.
        has_private_loads: Whether its loads are private too. Those of the source are left out then,
            idle ones among them, and its loads are written in their place.
    """
    case = network.case
    tables = {
        name: case.tables[name].values[:, : len(COLUMNS[name])].copy()
        if name != "gencost"
        else case.tables[name].values.copy()
        for name in REQUIRED_COLUMNS
    }
    cleared = list(_SOLUTION)
    for quantity in quantities:
        quantity.write(network, tables)
        cleared.extend(quantity.cleared)
    for name, column, value in cleared:
        at = COLUMNS[name].index(column)
        if at < tables[name].shape[1]:
            tables[name][:, at] = value
    loads = case.loads
    if has_private_loads:
        loads = _write_loads(network, tables["bus"])
        network = replace(network, idle_loads=LoadList.none())
    written = parse_matpower(text_of_tables(tables, case.base_mva), case.name, case.name)
    return replace(network, case=replace(written, loads=loads), conversion_notes=())


def _write_loads(network: Network, buses: FloatArray) -> tuple[SourceLoad, ...]:
    """Write the sums of a network's loads into a bus table, and return them one by one."""
    p, q = load_cells(network.loads.values, network.base_mva).T
    for column, cells in (("Pd", p), ("Qd", q)):
        at = COLUMNS["bus"].index(column)
        buses[:, at] = 0.0
        for row, total in sums_by_row(network.loads.row, cells).items():
            buses[row, at] = total
    return loads_at_buses(network.load_buses, p.tolist(), q.tolist(), in_service=len(p))
