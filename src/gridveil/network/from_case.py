"""From a case's tables to a network that is checked: what every format's reader ends with."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import COLUMNS, CaseFile
from gridveil.network.checks import check_case
from gridveil.network.conversion import ISOLATED, build_network, bus_rows, has_load
from gridveil.network.formats.matpower_parser import parse_matpower, texts_of
from gridveil.network.formats.matpower_writer import text_of_tables
from gridveil.network.load_values import sums_by_row
from gridveil.network.network import Network
from gridveil.network.problems import CaseError, Problem, ProblemKind
from gridveil.network.source_loads import SourceLoad, bus_key

_PD, _QD = (COLUMNS["bus"].index(name) for name in ("Pd", "Qd"))


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
    source_loads: Sequence[SourceLoad] | None = None,
) -> Network:
    """Return the network of tables that come from anywhere else than a MATPOWER file.

    Args:
        tables: "bus", "gen", "branch" and "gencost", with MATPOWER's columns and units.
        base_mva: The base of per unit in MVA.
        name: Name of the network, also in messages.
        load_buses: As for `network_from_case`.
        source_loads: The loads one by one; several at a bus stay several, and one of 0 is a load
            like any other. Those that are out of service, or at a bus that is, are idle loads.
            Pd and Qd of the bus table must be 0 then. Without them, each bus with a Pd or Qd has
            one load.

    Raises:
        CaseError: With everything that is wrong with the tables.
        GridveilError: A load bus does not exist, or a bus with a load is not on the list.

    Example:
        >>> import numpy as np
        >>> from gridveil.network.source_loads import SourceLoad
        >>> tables = {
        ...     "bus": np.array([[1, 3, 0, 0, 0, 0, 1, 1.0, 0, 110, 1, 1.1, 0.9]]),
        ...     "gen": np.array([[1, 0, 0, 50, -50, 1.0, 100, 1, 100, 0]]),
        ...     "branch": np.zeros((0, 13)),
        ...     "gencost": np.array([[2, 0, 0, 1, 0]]),
        ... }
        >>> loads = [SourceLoad(1, "load 4", 5.0, 1.0), SourceLoad(1, "load 9", 7.0, 2.0)]
        >>> network = network_from_tables(tables, 100.0, "one bus", source_loads=loads)
        >>> network.load_buses, network.loads.number.tolist()
        ([1, 1], [1, 2])
    """
    if source_loads is None:
        case = parse_matpower(text_of_tables(tables, base_mva), name, name)
        return network_from_case(case, load_buses)
    check_source_loads(name, tables["bus"], source_loads)
    loads = _declared(tables["bus"], source_loads, load_buses)
    summed = {**tables, "bus": _with_sums(tables["bus"], loads)}
    case = parse_matpower(text_of_tables(summed, base_mva), name, name)
    return network_from_case(replace(case, loads=loads))


def check_source_loads(name: str, bus: FloatArray, loads: Sequence[SourceLoad]) -> None:
    """Refuse loads that are not finite, share a key or have no bus; no message shows a value."""
    if bus[:, [_PD, _QD]].any():
        raise GridveilError(f"{name}: the bus table has loads beside those given one by one")
    problems = [
        Problem(ProblemKind.NOT_A_NUMBER, f"{load.key}: {column} must be a finite number")
        for load in loads
        for column in ("p_mw", "q_mvar", "rating_mva")
        if not math.isfinite(getattr(load, column))
    ]
    problems += [
        Problem(ProblemKind.DUPLICATE, f"{count} loads are called {key!r}")
        for key, count in Counter(load.key for load in loads).items()
        if count > 1
    ]
    numbers = set(bus[:, 0].tolist())
    problems += [
        Problem(ProblemKind.UNKNOWN_BUS, f"{load.key}: there is no bus {load.bus} in the bus table")
        for load in loads
        if load.in_service and load.bus not in numbers
    ]
    if problems:
        raise CaseError(name, problems)


def _declared(
    bus: FloatArray, loads: Sequence[SourceLoad], load_buses: Sequence[int] | None
) -> tuple[SourceLoad, ...]:
    """Return the loads, with one of 0 at every bus of a list that has none."""
    if load_buses is None:
        return tuple(loads)
    isolated = {number for number, kind in bus[:, :2].tolist() if kind == ISOLATED}
    in_use = set(bus[:, 0].tolist()) - isolated
    for number in load_buses:
        if number not in in_use:
            raise _no_such_bus(number)
    at = {load.bus for load in loads if load.in_service and load.bus in in_use}
    for number in sorted(at - set(load_buses)):
        raise _not_listed(number)
    added = [number for number in dict.fromkeys(load_buses) if number not in at]
    return (*loads, *(SourceLoad(int(n), bus_key(int(n)), 0.0, 0.0) for n in added))


def _with_sums(bus: FloatArray, loads: Sequence[SourceLoad]) -> FloatArray:
    """Return the bus table with the sum of the loads in service at each bus in service."""
    bus = bus.copy()
    row = {number: i for i, number in enumerate(bus[:, 0].tolist())}
    active = [load for load in loads if load.in_service and bus[row[load.bus], 1] != ISOLATED]
    rows = np.array([row[load.bus] for load in active], dtype=np.int64)
    for column, values in (
        (_PD, [load.p_mw for load in active]),
        (_QD, [load.q_mvar for load in active]),
    ):
        for at, total in sums_by_row(rows, np.array(values, dtype=float)).items():
            bus[at, column] = total
    return bus


def _check_list(case: CaseFile, load_buses: Sequence[int]) -> None:
    """Refuse a list with a bus that is not in service, or without one that has a load."""
    bus, rows = case.tables["bus"], bus_rows(case, load_buses)
    isolated = bus.column("type") == ISOLATED
    for number, row in zip(load_buses, rows, strict=True):
        if row < 0 or isolated[row]:
            raise _no_such_bus(number)
    unlisted = has_load(bus) & ~isolated
    unlisted[rows] = False
    if unlisted.any():
        raise _not_listed(bus.column("bus_i")[np.argmax(unlisted)])


def _no_such_bus(number: float) -> GridveilError:
    return GridveilError(f"load bus {number:.0f}: there is no such bus in service")


def _not_listed(number: float) -> GridveilError:
    return GridveilError(f"bus {number:.0f} has a load but is not on the list of load buses")
