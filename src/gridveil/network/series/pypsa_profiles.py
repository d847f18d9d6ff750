"""Profiles of PyPSA: loads_t.p_set and loads_t.q_set of a network, or of its folder of CSV files.

As in PyPSA, what has no series stays as the table of loads has it, and a load whose sign is 1
feeds in. PyPSA's snapshots know no time zone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.files import read_rows
from gridveil.network.network import Network
from gridveil.network.series.forms import Columns, profiles_of_columns, with_reactive
from gridveil.network.series.hourly import Profiles
from gridveil.network.series.moments import Clock, moments
from gridveil.network.series.names import LoadNames
from gridveil.network.series.table import Table, read_table, table_of_frame

LOADS, P_SET, Q_SET = "loads.csv", "loads-p_set.csv", "loads-q_set.csv"
SNAPSHOTS = "snapshots.csv"


@dataclass(frozen=True)
class PypsaLoad:
    """What a table of loads says of one."""

    name: str
    bus: str
    sign: float
    constant: Callable[[str], float]
    """p_set or q_set where there is no series."""


@dataclass(frozen=True)
class PypsaLoads:
    """The loads of PyPSA and their series, from files or from a network."""

    source: str
    loads: list[PypsaLoad]
    snapshots: Table
    """The column of times is called snapshot or, as older versions have it, name."""
    p_set: Table
    q_set: Table | None


def is_pypsa(source: Any) -> bool:
    """Whether something is a network of PyPSA, or a folder with one's series of loads."""
    if isinstance(source, Path):
        return (source / P_SET).is_file()
    return hasattr(source, "loads_t") and hasattr(source, "snapshots")


def pypsa_profiles(
    source: Any, network: Network, clock: Clock, power_factor: float | None
) -> tuple[Profiles, list[str]]:
    """Return the profiles of a network of PyPSA for the loads of a network.

    Loads are found by their names, and else by their bus, if they are alone there.

    Args:
        source: A `pypsa.Network`, or the folder that `export_to_csv_folder` wrote.
        network: The network.
        clock: Where the clock of the snapshots stood.
        power_factor: Where there is no Q at all.

    Raises:
        GridveilError: A load, a time or a number is missing or wrong.
    """
    found = _of_folder(source) if isinstance(source, Path) else _of_network(source)
    names = LoadNames(network)
    seconds = _seconds(found.snapshots, clock)
    for table in (found.p_set, found.q_set):
        if table is not None and len(table.columns) != len(seconds):
            raise GridveilError(
                f"{table.source}: {len(table.columns)} rows for {len(seconds)} snapshots"
            )
    columns, unknown = Columns({}, {}), []
    p_sum, q_sum = columns.p, columns.q
    for load in found.loads:
        at = names.find(load.name)
        at = names.at_bus(load.bus, None) if at is None else at
        if at is None:
            unknown.append(load.name)
            continue
        if at in p_sum:
            raise GridveilError(
                f"{found.source}: two loads are meant to be {names.call(at)}, {load.name} is one; "
                "name them as the network's loads are named"
            )
        p_sum[at] = _values(load, "p_set", found.p_set, len(seconds))
        if found.q_set is not None or power_factor is None:
            q_sum[at] = _values(load, "q_set", found.q_set, len(seconds))
    told = names.unknown(unknown)
    names.refuse_without(p_sum, found.source, told)
    complete, said = with_reactive(columns, names, power_factor, found.source)
    return profiles_of_columns(complete, seconds, len(network.loads)), told + said


def _values(load: PypsaLoad, what: str, table: Table | None, hours: int) -> FloatArray:
    """Return what a load draws: minus its sign times its series, or its constant."""
    if table is not None and load.name in table.names:
        values = table.numbers(load.name, load.name)
    else:
        values = np.full(hours, load.constant(what))
    return -load.sign * values


def _seconds(snapshots: Table, clock: Clock) -> IntArray:
    column = next((name for name in ("snapshot", "name") if name in snapshots.names), None)
    if column is None:
        raise GridveilError(f"{snapshots.source}: no column snapshot")
    return moments(snapshots.column(column), clock, snapshots.place)


def _of_folder(folder: Path) -> PypsaLoads:
    rows = read_rows(folder / LOADS, ["name", "bus"])
    loads = [_load(place, row["name"], row) for place, row in rows]
    q_set = read_table(folder / Q_SET) if (folder / Q_SET).is_file() else None
    times = read_table(folder / SNAPSHOTS)
    return PypsaLoads(str(folder), loads, times, read_table(folder / P_SET), q_set)


def _of_network(network: Any) -> PypsaLoads:
    loads = [
        _load(f"load {name}", str(name), {key: str(row[key]) for key in row.index})
        for name, row in network.loads.iterrows()
    ]
    times = network.snapshots.to_frame(name="snapshot").reset_index(drop=True)
    p_set, q_set = (
        table_of_frame(frame, f"loads_t.{what}")
        for what, frame in (("p_set", network.loads_t.p_set), ("q_set", network.loads_t.q_set))
    )
    snapshots = table_of_frame(times, "snapshots")
    has_q = len(q_set.names) > 1
    return PypsaLoads("the network", loads, snapshots, p_set, q_set if has_q else None)


def _load(place: str, name: str, row: dict[str, str]) -> PypsaLoad:
    def constant(what: str) -> float:
        return _number(place, what, row.get(what) or "0")

    return PypsaLoad(name, row["bus"], _number(place, "sign", row.get("sign") or "-1"), constant)


def _number(place: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise GridveilError(f"{place}: {name} must be a finite number")
    return value
