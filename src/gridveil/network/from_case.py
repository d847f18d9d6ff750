"""From a case's tables to a network that is checked: what every format's reader ends with."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import CaseFile
from gridveil.network.checks import check_case
from gridveil.network.conversion import ISOLATED, build_network, bus_rows, has_load
from gridveil.network.formats.matpower_parser import parse_matpower, texts_of
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
    rows = None
    if load_buses is not None:
        listed = bus_rows(case, load_buses)
        rows = np.unique(listed[listed >= 0])
    problems = check_case(case, rows)
    if problems:
        raise CaseError(case.source, problems)
    if load_buses is not None:
        _check_list(case, load_buses)
    network = build_network(case, rows)
    return replace(network, fuels=_fuels(case, network.generators.row))


def _fuels(case: CaseFile, rows: IntArray) -> tuple[str, ...] | None:
    """Return the fuels of generators by their rows, as mpc.genfuel names them; None without it."""
    named = texts_of(case.others.get("genfuel", ""))
    return tuple(named[row] for row in rows) if len(named) == len(case.tables["gen"]) else None


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


def _check_list(case: CaseFile, load_buses: Sequence[int]) -> None:
    """Refuse a list with a bus that is not in service, or without one that has a load."""
    bus, rows = case.tables["bus"], bus_rows(case, load_buses)
    isolated = bus.column("type") == ISOLATED
    for number, row in zip(load_buses, rows, strict=True):
        if row < 0 or isolated[row]:
            raise GridveilError(f"load bus {number}: there is no such bus in service")
    unlisted = has_load(bus) & ~isolated
    unlisted[rows] = False
    if unlisted.any():
        number = bus.column("bus_i")[np.argmax(unlisted)]
        raise GridveilError(f"bus {number:.0f} has a load but is not on the list of load buses")
