"""From a case's tables to a network that is checked: what every format's reader ends with."""

from collections.abc import Mapping, Sequence

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import CaseFile
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network, in_service
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.matpower_writer import text_of_tables
from gridveil.network.network import Network
from gridveil.network.problems import CaseError


def network_from_case(case: CaseFile, load_buses: Sequence[int] | None = None) -> Network:
    """Return the network of a case, if nothing is wrong with it.

    Args:
        case: The tables.
        load_buses: Numbers of the buses with a load; None takes those with a load in the tables.

    Raises:
        CaseError: With everything that is wrong with the case.
        GridveilError: A load bus does not exist, or a bus with a load is not on the list.
    """
    problems = check_case(case)
    if problems:
        raise CaseError(case.source, problems)
    return build_network(case, None if load_buses is None else _load_rows(case, load_buses))


def network_from_tables(
    tables: Mapping[str, FloatArray],
    base_mva: float,
    name: str,
    load_buses: Sequence[int] | None = None,
) -> Network:
    """Return the network of tables that come from anywhere else than a MATPOWER file.

    Args:
        tables: "bus", "gen", "branch" and "gencost", with MATPOWER's columns and units.
        base_mva: The base of per unit in MVA.
        name: Name of the network, also in messages.
        load_buses: As for `network_from_case`.

    Raises:
        CaseError: With everything that is wrong with the tables.
        GridveilError: A load bus does not exist, or a bus with a load is not on the list.
    """
    return network_from_case(
        parse_matpower(text_of_tables(tables, base_mva), name, name), load_buses
    )


def _load_rows(case: CaseFile, load_buses: Sequence[int]) -> IntArray:
    """Return the rows of the declared load buses, in the file's order."""
    parts = in_service(case)
    rows = parts.rows_of(np.array(list(load_buses), dtype=float))
    for number, row in zip(load_buses, rows, strict=True):
        if row < 0 or not parts.bus[row]:
            raise GridveilError(f"load bus {number}: there is no such bus in service")
    missing = set(np.flatnonzero(parts.load).tolist()) - set(rows.tolist())
    if missing:
        number = case.tables["bus"].column("bus_i")[min(missing)]
        raise GridveilError(f"bus {number:.0f} has a load but is not on the list of load buses")
    return np.unique(rows)
