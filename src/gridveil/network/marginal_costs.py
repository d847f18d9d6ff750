"""Marginal costs by unit or by fuel: they give a network linear cost functions.

A table has the columns generator (its row in the case file, from 1) or fuel, and marginal_cost in
$/MWh. What is made of it is public, like all of a network's model: a release publishes it.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.files import finite_number, read_columns, read_rows
from gridveil.network.case_file import NO_COST
from gridveil.network.conversion import cost_functions
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.matpower_writer import text_with_gencost
from gridveil.network.library import as_network
from gridveil.network.network import Network

MARGINAL_COST = "marginal_cost"
_BY = ("generator", "fuel")
_LINEAR = 2.0
"""Numbers of a linear polynomial."""

MarginalCosts = Mapping[int, float] | Mapping[str, float]
"""Marginal costs in $/MWh, by the row of a generator in the case file (from 1) or by fuel."""


def with_marginal_costs(
    network: Network | str | Path, costs: MarginalCosts | str | Path
) -> Network:
    """Return a network whose generators have these marginal costs, in place of any of their own.

    Args:
        network: The network, or its name or path.
        costs: The costs by generator or by fuel, or a CSV file of them.

    Raises:
        GridveilError: A generator in service has no cost, or a name stands for no generator.

    Example:
        >>> from gridveil import solve_acopf, with_marginal_costs
        >>> network = with_marginal_costs("case5_pjm", {1: 14, 2: 15, 3: 30, 4: 40, 5: 10})
        >>> round(solve_acopf(network).cost)
        17552
    """
    network = as_network(network)
    if isinstance(costs, str | Path):
        table, where = read_marginal_costs(Path(costs)), str(costs)
    else:
        table, where = dict(costs), "marginal costs"  # type: ignore[arg-type]
    by_fuel = any(isinstance(name, str) for name in table)
    slopes = _by_fuel(network, table, where) if by_fuel else _by_unit(network, table, where)
    return _with_slopes(network, slopes)


def is_table_of_marginal_costs(path: Path) -> bool:
    """Return whether the heading of a CSV file names marginal costs."""
    return MARGINAL_COST in read_columns(path)


def read_marginal_costs(path: Path) -> dict[int | str, float]:
    """Read a CSV file with the columns generator or fuel, and marginal_cost in $/MWh."""
    columns = read_columns(path)
    by = next((name for name in _BY if name in columns), None)
    if by is None or MARGINAL_COST not in columns:
        raise GridveilError(
            f"{path}:1: a table of marginal costs has the columns generator (its row in the case "
            f"file, from 1) or fuel, and {MARGINAL_COST} in $/MWh"
        )
    found: dict[int | str, float] = {}
    for place, line in read_rows(path, (by, MARGINAL_COST)):
        name: int | str = _fuel(line[by] or "")
        if by == "generator":
            number = finite_number(place, by, line)
            if number != int(number):
                raise GridveilError(f"{place}: generator {number:g} is not a whole number")
            name = int(number)
        if name in found:
            raise GridveilError(f"{place}: {by} {name} stands there twice")
        found[name] = finite_number(place, MARGINAL_COST, line)
    return found


def _by_unit(network: Network, table: Mapping[int | str, float], where: str) -> FloatArray:
    """Return the marginal cost of each generator of a table by generators."""
    rows = (network.generators.row + 1).tolist()
    for name in table:
        if name not in rows:
            raise GridveilError(
                f"{where}: no generator {name} in service; generators are named by their row in "
                "the case file, from 1"
            )
    for g, row in enumerate(rows):
        if row not in table:
            raise GridveilError(f"{where}: no marginal cost for {network.generator_name(g)}")
    return np.array([table[row] for row in rows], dtype=float)


def _by_fuel(network: Network, table: Mapping[int | str, float], where: str) -> FloatArray:
    """Return the marginal cost of each generator of a table by fuels."""
    if network.fuels is None:
        raise GridveilError(
            f"{where}: {network.name} does not say which fuel a generator has (mpc.genfuel in a "
            "MATPOWER file); give marginal costs by generator"
        )
    costs = {_fuel(str(name)): cost for name, cost in table.items()}
    for g, fuel in enumerate(network.fuels):
        if _fuel(fuel) not in costs:
            has = f"its fuel {fuel!r}" if fuel else "it has no fuel; give costs by generator"
            raise GridveilError(f"{where}: no marginal cost for {network.generator_name(g)}: {has}")
    return np.array([costs[_fuel(fuel)] for fuel in network.fuels], dtype=float)


def _fuel(name: str) -> str:
    """Return a fuel as it is compared: without case and surrounding blanks."""
    return name.strip().casefold()


def _with_slopes(network: Network, slopes: FloatArray) -> Network:
    """Return the network with linear costs in $/MWh, also in the text of its case."""
    if not np.isfinite(slopes).all():
        raise GridveilError("marginal costs: finite numbers needed")
    case, rows = network.case, network.generators.row
    gencost = np.zeros((len(case.tables["gen"]), len(NO_COST) + 1))
    gencost[:, : len(NO_COST)] = NO_COST
    gencost[rows, 3:5] = np.stack([np.full(len(rows), _LINEAR), slopes], axis=1)
    text = text_with_gencost(case, gencost)
    read = parse_matpower(text, case.source, case.name)
    own = replace(case, text=text, tables=read.tables, sections=read.sections, others=read.others)
    costs = cost_functions(gencost[rows], network.base_mva)
    return replace(network, case=own, generators=replace(network.generators, costs=costs))
