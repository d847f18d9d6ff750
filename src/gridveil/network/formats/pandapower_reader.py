"""pandapower nets to networks: buses, branches, generators and loads put together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import COLUMNS
from gridveil.network.conversion import ISOLATED, POLYNOMIAL, REFERENCE
from gridveil.network.formats.pandapower_checks import net_problems
from gridveil.network.formats.pandapower_generators import (
    SourceGenerator,
    flexible_keys,
    generators,
)
from gridveil.network.formats.pandapower_import import import_pandapower
from gridveil.network.formats.pandapower_injections import (
    DC_LINE,
    KINDS,
    PUBLIC_KINDS,
    InjectionKind,
    injections,
)
from gridveil.network.formats.pandapower_topology import Topology, highest_voltage, topology
from gridveil.network.from_case import network_from_tables
from gridveil.network.network import Network
from gridveil.network.problems import CaseError
from gridveil.network.source_loads import SourceLoad

_CARRIED = {
    "bus", "ext_grid", "gen", "line", "trafo", "trafo3w", "shunt", "switch", "impedance",
    DC_LINE.table, *(kind.table for kind in KINDS),
}  # fmt: skip
"""Element tables that become part of a network."""
_ASIDE = {"controller", "measurement", "group"}
"""Tables that are no elements although they may be in service."""
_GENERATOR_BUS = 2
_GEN_COLUMNS = 10
"""Columns of the gen table that are written: as far as Pmin."""

_Found = list[tuple[InjectionKind, SourceLoad]]


def network_from_net(
    net: Any,
    name: str,
    load_buses: Sequence[int] | None = None,
    public_injections: Iterable[str] = (),
) -> Network:
    """Return the network of a pandapower net.

    Args:
        net: A pandapowerNet.
        name: Name of the network.
        load_buses: Numbers of the buses with a load: pandapower's indices plus 1. None takes those
            with a load or a fixed injection.
        public_injections: Kinds of fixed injections that are public: "sgen", "storage", "ward",
            "dcline". The others are loads, protected like all.

    Raises:
        CaseError: With everything that is wrong with the tables of the net.
        GridveilError: The net has elements or values that no network can hold, by their names.
    """
    import_pandapower()
    public = set(public_injections)
    check_public_kinds(public)
    problems = net_problems(net)
    if problems:
        raise CaseError(name, problems)
    _refuse(net)
    place = topology(net)
    found = list(injections(net, place, flexible_keys(net)))
    fixed = [(kind, load) for kind, load in found if kind.public_as in public]
    loads = [load for kind, load in found if kind.public_as not in public]
    load_rows = place.row_of([load.bus for load in loads])
    units = generators(net, place, set(load_rows.tolist()))
    rows = place.row_of([load.bus for _, load in fixed])
    units += map(_fixed_generator, rows.tolist(), [load for _, load in fixed])
    tables, references = _tables(place, units)
    network = network_from_tables(tables, place.base_mva, name, load_buses, loads)
    notes = (*place.notes, *_element_notes(net, found, public), *_unit_notes(units, references))
    return replace(network, conversion_notes=notes)


def check_public_kinds(kinds: Iterable[str]) -> None:
    """Refuse names that are no kinds of fixed injections."""
    unknown = sorted(set(kinds) - set(PUBLIC_KINDS))
    if unknown:
        raise GridveilError(
            f"public injections: {unknown[0]!r} is none of {', '.join(PUBLIC_KINDS)}"
        )


def _refuse(net: Any) -> None:
    """Refuse a net with elements in service that would get lost."""
    for name, table in net.items():
        is_element = hasattr(table, "columns") and "in_service" in table.columns
        if is_element and not name.startswith(("_", "res_")) and name not in _CARRIED | _ASIDE:
            active = table.index[table.in_service.astype(bool)]
            if len(active):
                raise GridveilError(
                    f"{name} {active[0]}: elements of kind {name!r} ({len(active)} in service) "
                    "cannot be carried over; take them out of service or replace them"
                )


def _fixed_generator(row: int, load: SourceLoad) -> SourceGenerator:
    """Return a public injection as a generator that cannot be changed."""
    p, q = -load.p_mw, -load.q_mvar
    return SourceGenerator(row, load.key, (p, p), (q, q), load.in_service)


def _tables(
    place: Topology, units: Sequence[SourceGenerator]
) -> tuple[dict[str, FloatArray], set[str]]:
    """Return MATPOWER's tables, and the keys of the generators at reference buses."""
    reference: dict[int, SourceGenerator] = {}
    for unit in units:
        if unit.reference and unit.in_service and not place.isolated[unit.row]:
            reference.setdefault(int(place.island[unit.row]), unit)
    bus = _bus_table(place)
    kind, low, high = (COLUMNS["bus"].index(name) for name in ("type", "Vmin", "Vmax"))
    active = [unit for unit in units if unit.in_service and not place.isolated[unit.row]]
    for unit in active:
        bus[unit.row, kind] = _GENERATOR_BUS
        bus[unit.row, low] = max(bus[unit.row, low], unit.v_limits[0])
        bus[unit.row, high] = min(bus[unit.row, high], unit.v_limits[1])
    for unit in reversed(active):
        if unit.voltage is not None:
            bus[unit.row, [low, high]] = unit.voltage
    for unit in reference.values():
        bus[unit.row, kind] = REFERENCE
    branch = place.branch.copy()
    branch[:, COLUMNS["branch"].index("rateA")] *= highest_voltage(bus, branch)
    tables = {
        "bus": bus,
        "gen": _gen_table(place, units),
        "branch": branch,
        "gencost": _cost_table(units),
    }
    return tables, {unit.key for unit in reference.values()}


def _bus_table(place: Topology) -> FloatArray:
    columns: dict[str, Any] = {
        "bus_i": place.number, "type": np.where(place.isolated, ISOLATED, 1),
        "Gs": place.shunt[:, 0], "Bs": place.shunt[:, 1], "area": 1, "Vm": 1,
        "baseKV": place.base_kv, "zone": 1, "Vmax": place.v_max, "Vmin": place.v_min,
    }  # fmt: skip
    bus = np.zeros((len(place.number), len(COLUMNS["bus"])))
    for name, values in columns.items():
        bus[:, COLUMNS["bus"].index(name)] = values
    return bus


def _gen_table(place: Topology, units: Sequence[SourceGenerator]) -> FloatArray:
    rows = []
    for unit in units:
        values = {
            "bus": place.number[unit.row], "Qmin": unit.q[0], "Qmax": unit.q[1],
            "Vg": unit.voltage or 1.0, "mBase": place.base_mva, "status": unit.in_service,
            "Pmin": unit.p[0], "Pmax": unit.p[1],
        }  # fmt: skip
        rows.append([float(values.get(n, 0.0)) for n in COLUMNS["gen"][:_GEN_COLUMNS]])
    return np.array(rows).reshape(-1, _GEN_COLUMNS)


def _cost_table(units: Sequence[SourceGenerator]) -> FloatArray:
    width = max((len(unit.cost) for unit in units), default=5)
    rows = [[*unit.cost, *(0.0,) * (width - len(unit.cost))] for unit in units]
    return np.array(rows, dtype=float).reshape(-1, width)


def _element_notes(net: Any, found: _Found, public: set[str]) -> list[str]:
    """Return what became of elements that are neither loads nor generators in pandapower."""
    counts = Counter(kind.table for kind, load in found if load.in_service)
    kinds = {kind.table: kind for kind, _ in found}
    notes = []
    for table, count in counts.items():
        kind = kinds[table]
        if kind.public_as:
            count //= 2 if kind is DC_LINE else 1
            how = "public fixed injections" if kind.public_as in public else "loads, protected"
            ends = ", two each" if kind is DC_LINE else ""
            notes.append(f"elements of net.{table} count as {how}{ends} ({count})")
    notes += [
        f"elements of net.{table} count as the sum of their phases"
        for table in ("asymmetric_load", "asymmetric_sgen")
        if counts[table]
    ]
    notes += [
        f"constant impedances of net.{table} stand as shunts, which are public"
        for table in ("ward", "xward")
        if len(net[table])
    ]
    if counts[DC_LINE.table]:
        notes.append(
            "the flow of DC lines is fixed at p_mw; their reactive power is free in limits"
        )
    if "controller" in net and len(net.controller) and net.controller.in_service.any():
        notes.append("controllers do not run: taps and set points stand where the net has them")
    return notes


def _unit_notes(units: Sequence[SourceGenerator], references: set[str]) -> list[str]:
    """Return what became of generators."""
    notes = []
    for unit in units:
        if unit.reference and unit.in_service and unit.key not in references:
            notes.append(f"{unit.key}: its angle is free, for its island has another reference")
        if unit.in_service and unit.key.startswith("ext_grid") and np.isinf(unit.p).any():
            notes.append(f"{unit.key} is unlimited; fill min_p_mw and max_p_mw of net.ext_grid")
        if unit.key.startswith("load "):
            notes.append(f"{unit.key} is controllable: a generator, public and not protected")
    if all(unit.cost[0] == POLYNOMIAL and not any(unit.cost[4:]) for unit in units):
        notes.append("the net has no costs: every generator costs nothing")
    return notes
