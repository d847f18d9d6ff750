"""Tables in long and in wide form as profiles of a network's loads.

Long has a row for each load and time: time, the load (`bus` and `number`, or `load`, or `bus`),
p_mw and q_mvar. Wide has a row for each time and two columns for each load, "bus 5:p_mw" and
"bus 5:q_mvar". Names of columns say the unit: p_mw or p_kw, q_mvar or q_kvar.
"""

import math
import re
from dataclasses import dataclass, field

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.series.hourly import Profiles
from gridveil.network.series.moments import Clock, moments
from gridveil.network.series.names import LoadNames, listed
from gridveil.network.series.table import Table

TIMES = ("time", "timestamp", "snapshot", "datetime")
P, Q = {"p_mw": 1.0, "p_kw": 1e-3}, {"q_mvar": 1.0, "q_kvar": 1e-3}
"""Names of columns, and what a unit of them is in MW or MVAr."""
_WIDE = re.compile(rf"(?P<load>.+?)\s*[:./_ ]\s*(?P<what>{'|'.join((*P, *Q))})", re.IGNORECASE)
_BARE = {"p", "q", "load_mw", "value", "power", "mw"}


@dataclass(frozen=True, repr=False)
class Columns:
    """P and, where they are known, Q of loads, in MW and MVAr: a row to each moment."""

    p: dict[int, FloatArray]
    """By the place of the load in the network."""
    q: dict[int, FloatArray] = field(default_factory=dict)


def profiles_of_table(
    table: Table, names: LoadNames, clock: Clock, power_factor: float | None
) -> tuple[Profiles, list[str]]:
    """Return the profiles of a table in either form, and what is to be said of it.

    Args:
        table: The table.
        names: What loads are called.
        clock: How times are meant.
        power_factor: Where loads have no Q.

    Raises:
        GridveilError: It is neither, or a load, a time or a number is missing or wrong.
    """
    time = time_column(table)
    lower = {name.lower(): name for name in table.names}
    p, q = (next((lower[name] for name in units if name in lower), None) for units in (P, Q))
    if p is not None:
        return _long(table, names, clock, power_factor, (time, p, q))
    bare = sorted(_BARE & set(lower))
    if bare:
        raise GridveilError(
            f"{table.source}: column {lower[bare[0]]!r} does not say its unit; call it p_mw or "
            "p_kw, and reactive power q_mvar or q_kvar"
        )
    return _wide(table, names, clock, power_factor, time)


def time_column(table: Table) -> str:
    """Return the name of the column of times.

    Raises:
        GridveilError: There is none.
    """
    found = [name for name in table.names if name.strip().lower() in TIMES]
    if not found:
        raise GridveilError(
            f"{table.source}: no column time; it says when each hour begins (also understood: "
            f"{', '.join(TIMES[1:])})"
        )
    return found[0]


def with_reactive(
    columns: Columns, names: LoadNames, power_factor: float | None, source: str
) -> tuple[Columns, list[str]]:
    """Return columns in which every load has Q, from a public power factor where it has none.

    Raises:
        GridveilError: A load has none, and there is no power factor.
    """
    without = [load for load in columns.p if load not in columns.q]
    if not without:
        return columns, []
    ratio, told = reactive_ratio(power_factor, source, [names.call(load) for load in without])
    made = {load: ratio * columns.p[load] for load in without}
    return Columns(columns.p, columns.q | made), told


def reactive_ratio(
    power_factor: float | None, source: str, loads: list[str]
) -> tuple[float, list[str]]:
    """Return Q for each unit of P by a power factor, and a sentence that says so.

    Raises:
        GridveilError: There is no power factor, or it is none.
    """
    if power_factor is None:
        raise GridveilError(
            f"{source}: no reactive power for {listed(loads)}: add q_mvar, or give a public power "
            "factor with --profile-power-factor 0.95 (power_factor of load_series); the network's "
            "own would come from its loads"
        )
    if not 0 < power_factor <= 1:
        raise GridveilError("--profile-power-factor: above 0 and at most 1")
    ratio = math.sqrt(1 - power_factor**2) / power_factor
    return ratio, [
        f"{listed(loads)}: no reactive power in {source}; taken from the power factor "
        f"{power_factor:g}, which counts as public"
    ]


def profiles_of_columns(columns: Columns, seconds: IntArray, loads: int) -> Profiles:
    """Return profiles of columns in which every load has P and Q."""
    order = np.argsort(seconds, kind="stable")
    p, q = (
        np.stack([values[load][order] for load in range(loads)], axis=1)
        for values in (columns.p, columns.q)
    )
    return Profiles(seconds[order], p, q, np.ones(p.shape, dtype=bool))


def _wide(
    table: Table, names: LoadNames, clock: Clock, power_factor: float | None, time: str
) -> tuple[Profiles, list[str]]:
    found = Columns({}, {})
    unknown, without_unit = [], []
    for name in table.names:
        if name == time:
            continue
        parts = _WIDE.fullmatch(name.strip())
        label, what = (parts["load"], parts["what"].lower()) if parts else (name, "p_mw")
        load = names.find(label)
        if load is None:
            unknown.append(label)
            continue
        if not parts:
            without_unit.append(name)
        side, unit = (found.q, Q[what]) if what in Q else (found.p, P[what])
        if load in side:
            raise GridveilError(f"{table.source}: two columns have {what} of {names.call(load)}")
        side[load] = unit * table.numbers(name)
    told = names.unknown(dict.fromkeys(unknown))
    names.refuse_without(found.p, table.source, told)
    if without_unit:
        told.append(f"{listed(without_unit)}: columns without a unit, read as P in MW")
    complete, said = with_reactive(found, names, power_factor, table.source)
    seconds = moments(table.column(time), clock, table.place)
    return profiles_of_columns(complete, seconds, len(names.network.loads)), told + said


def _long(
    table: Table,
    names: LoadNames,
    clock: Clock,
    power_factor: float | None,
    columns: tuple[str, str, str | None],
) -> tuple[Profiles, list[str]]:
    time, p_name, q_name = columns
    load, told = _loads_of_rows(table, names)
    names.refuse_without(np.unique(load[load >= 0]).tolist(), table.source, told)

    def called(row: int) -> str:
        return names.call(int(load[row])) if load[row] >= 0 else "no load of the network"

    seconds = moments(
        table.column(time), clock, lambda row: f"{table.place(row)} ({called(row)})", load
    )
    p = P[p_name.lower()] * table.numbers(p_name, called)
    if q_name is None:
        everyone = [names.call(i) for i in range(len(names.network.loads))]
        ratio, said = reactive_ratio(power_factor, table.source, everyone)
        q, told = ratio * p, told + said
    else:
        q = Q[q_name.lower()] * table.numbers(q_name, called)
    known = load >= 0
    at, row = np.unique(seconds[known], return_inverse=True)
    return _pivoted(at, row, load[known], (p[known], q[known]), len(names.network.loads)), told


def _pivoted(
    at: IntArray, row: IntArray, load: IntArray, values: tuple[FloatArray, FloatArray], loads: int
) -> Profiles:
    p, q = np.zeros((len(at), loads)), np.zeros((len(at), loads))
    is_there = np.zeros((len(at), loads), dtype=bool)
    p[row, load], q[row, load] = values
    is_there[row, load] = True
    return Profiles(at, p, q, is_there)


def _loads_of_rows(table: Table, names: LoadNames) -> tuple[IntArray, list[str]]:
    """Return which load each row is about, −1 for none, and what is to be said of others."""
    lower = {name.lower(): name for name in table.names}
    by_bus = "bus" in lower and ("number" in lower or "load" not in lower)
    if "load" in lower and not by_bus:
        labels, rows = table.labels(lower["load"])
        found = [names.find(label) for label in labels]
    elif by_bus:
        labels, rows = _buses_and_numbers(table, lower)
        found = [
            names.at_bus(bus, number or None)
            for bus, number in (label.split("\n") for label in labels)
        ]
        labels = [_called(label) for label in labels]
    else:
        raise GridveilError(
            f"{table.source}: no column load with the keys of loads, and no column bus"
        )
    unknown = [label for label, load in zip(labels, found, strict=True) if load is None]
    places = np.array([-1 if load is None else load for load in found], dtype=np.int64)
    return places[rows], names.unknown(unknown)


def _buses_and_numbers(table: Table, lower: dict[str, str]) -> tuple[list[str], IntArray]:
    """Return the pairs of a bus and a number that occur, and which each row has."""
    buses, bus = table.labels(lower["bus"])
    if "number" not in lower:
        return [f"{name}\n" for name in buses], bus
    numbers, number = table.labels(lower["number"])
    pairs, rows = np.unique(bus.astype(np.int64) * len(numbers) + number, return_inverse=True)
    return [f"{buses[pair // len(numbers)]}\n{numbers[pair % len(numbers)]}"
            for pair in pairs.tolist()], rows  # fmt: skip


def _called(label: str) -> str:
    bus, number = label.split("\n")
    return f"bus {bus}, load {number}" if number else f"bus {bus}"
