"""A network of pypowsybl to the tables of a case."""

from collections.abc import Collection, Mapping
from typing import Any

from gridveil.errors import GridveilError
from gridveil.network.formats.case_rows import CaseRows, named
from gridveil.network.formats.powsybl.branches import (
    add_boundary_lines,
    add_lines,
    add_three_winding_transformers,
    add_two_winding_transformers,
    joined_buses,
)
from gridveil.network.formats.powsybl.grid import Grid
from gridveil.network.formats.powsybl.injections import (
    add_batteries,
    add_generators,
    add_hvdc_lines,
    add_loads,
    add_shunts,
    add_static_var_compensators,
)

_REFUSED = {
    "dc_lines": "DC line",
    "voltage_source_converters": "voltage source converter of a DC grid",
    "grounds": "connection to ground",
}
"""Data frames of what a case cannot hold, and what to call their elements."""


def converted(
    source: Any,
    base_mva: float = 100.0,
    keys: Mapping[str, str] | None = None,
    public: Collection[str] = (),
    voltage_limits: Mapping[int, tuple[float, float]] | None = None,
) -> Grid:
    """Return a network of pypowsybl as rows of a case.

    Args:
        source: The network.
        base_mva: The base of per unit.
        keys: Keys of loads by their ids, where they are not "load ID".
        public: Kinds of fixed injections that are public, of `INJECTION_KINDS`.
        voltage_limits: Limits in p.u. by bus number, where PowSyBl does not read them.

    Raises:
        GridveilError: It has an element that a case cannot hold; the message names it.
    """
    grid = Grid(
        source, CaseRows(base_mva), public=frozenset(public), voltage_limits=voltage_limits or {}
    )
    for frame, what in _REFUSED.items():
        elements = [row["id"] for row in grid.frame(frame)]
        if elements:
            raise GridveilError(f"{what} {named(elements)}: not supported; replace or remove it")
    grid.add_buses(joined_buses(grid))
    add_lines(grid)
    add_two_winding_transformers(grid)
    add_three_winding_transformers(grid)
    add_shunts(grid)
    add_generators(grid)
    add_static_var_compensators(grid)
    add_loads(grid, keys or {})
    add_boundary_lines(grid)
    add_hvdc_lines(grid)
    add_batteries(grid)
    slack = [row.get("bus_id") for row in grid.extension("slackTerminal")]
    grid.rows.settle_islands([grid.bus_number[bus] for bus in slack if bus in grid.bus_number])
    return grid
