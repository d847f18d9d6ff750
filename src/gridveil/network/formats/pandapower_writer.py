"""Networks as pandapower nets, and released loads back into the net they came from."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from gridveil.errors import GridveilError
from gridveil.network.case_file import COLUMNS
from gridveil.network.formats.matpower import saved_text
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.pandapower_generators import flexible_keys
from gridveil.network.formats.pandapower_import import import_pandapower
from gridveil.network.formats.pandapower_injections import KINDS, InjectionKind
from gridveil.network.formats.pandapower_topology import highest_voltage
from gridveil.network.formats.pandapower_transformers import prepare_transformers
from gridveil.network.network import Network
from gridveil.network.units import LOAD, encoded

_BUS_NUMBERS = {
    "bus": [COLUMNS["bus"].index("bus_i")],
    "gen": [COLUMNS["gen"].index("bus")],
    "branch": [COLUMNS["branch"].index("fbus"), COLUMNS["branch"].index("tbus")],
}
"""Columns that hold bus numbers: from 0 in pandapower's tables, from 1 in a case file."""
_LOAD_COLUMNS = [COLUMNS["bus"].index(name) for name in ("Pd", "Qd")]
_TAP, _LIMIT = (COLUMNS["branch"].index(name) for name in ("ratio", "rateA"))
_PHASES = "abc"
_CLEARED = ("res_", "_ppc")
"""How the names of tables begin that hold results of power flows, raw loads among them."""
_KNOWN_COLUMNS = {
    "name", "type", "bus", "const_z_percent", "const_i_percent", "const_z_p_percent",
    "const_i_p_percent", "const_z_q_percent", "const_i_q_percent", "p_a_mw", "p_b_mw", "p_c_mw",
    "q_a_mvar", "q_b_mvar", "q_c_mvar", "p_mw", "q_mvar", "ps_mw", "qs_mvar",
    "pz_mw", "qz_mvar", "scaling", "sn_mva",
    "in_service", "controllable", "max_p_mw", "min_p_mw", "max_q_mvar", "min_q_mvar",
}  # fmt: skip
"""Columns that are released, or that are no values of loads."""

Values = dict[str, tuple[float, float]]
"""P and Q in MW and MVAr, by the key of a load."""


def net_from_network(network: Network) -> Any:
    """Return a network as a pandapower net: one load in net.load to each of its loads.

    Raises:
        GridveilError: pandapower cannot hold the network.
    """
    pandapower = import_pandapower()
    from pandapower.converter.pypower.from_ppc import from_ppc  # type: ignore[import-untyped]

    case = parse_matpower(saved_text(network), network.case.source, network.case.name)
    ppc: dict[str, Any] = {"version": "2", "baseMVA": case.base_mva}
    for table in ("bus", "gen", "branch", "gencost"):
        ppc[table] = case.tables[table].values.copy()
    ppc["bus"][:, _LOAD_COLUMNS] = 0.0
    branch = ppc["branch"]
    branch[branch[:, _TAP] == 0, _TAP] = 1.0
    branch[:, _LIMIT] /= highest_voltage(ppc["bus"], branch)
    prepare_transformers(ppc)
    for table, columns in _BUS_NUMBERS.items():
        ppc[table][:, columns] -= 1
    try:
        net = from_ppc(ppc, f_hz=50)
    except Exception as error:  # many kinds; there is no load that their texts could show
        raise GridveilError(f"pandapower could not take the network over: {error}") from error
    p, q = (network.loads.values * network.base_mva).T
    pandapower.create_loads(net, [bus - 1 for bus in network.load_buses], p, q)
    return net


def net_with_loads(network: Network, net: Any) -> tuple[Any, list[str]]:
    """Return a copy of a net in which the loads of a network stand.

    Args:
        network: A network that was read from the net, or released from such a network.
        net: The net; it is not changed.

    Returns:
        The copy, without results of power flows and without idle loads but released ones, and
        sentences on what it cannot hold or what still stands in it.

    Raises:
        GridveilError: The net has other loads than the network.
    """
    import_pandapower()
    values = _released(network)
    _check_same_loads(network, values, net)
    copy = deepcopy(net)
    idle = {identity.key for identity in network.idle_loads.identities} - values.keys()
    told: list[str] = []
    for kind in KINDS:
        keys = [f"{kind.table} {index}" for index in copy[kind.table].index]
        known = values | dict.fromkeys(idle, (0.0, 0.0))
        if kind.table == "motor":
            told += _motors_as_loads(copy, keys, known)
        elif any(key in known for key in keys):
            _write(copy[kind.table], kind, keys, known)
        told += _left(kind, keys, known)
    told += _dc_lines_as_loads(copy, values, idle)
    told += _declared_loads(copy, values)
    told += _cleared(copy, idle) + _standing(copy)
    return copy, told


def _released(network: Network) -> Values:
    base, listed = network.base_mva, network.listed_loads
    return {
        identity.key: (encoded(LOAD, p, base) + 0.0, encoded(LOAD, q, base) + 0.0)
        for identity, (p, q) in zip(listed.identities, listed.values.tolist(), strict=True)
    }


def _check_same_loads(network: Network, values: Values, net: Any) -> None:
    """Refuse a net with a load that the network does not have, or without one that it has."""
    own = {*values, *(identity.key for identity in network.idle_loads.identities)}
    flexible = flexible_keys(net)
    for kind in KINDS:
        if not kind.public_as:
            for index in net[kind.table].index:
                key = f"{kind.table} {index}"
                if key not in own and key not in flexible:
                    raise GridveilError(
                        f"{key}: in the net, but not a load of {network.name}; was it read from "
                        "another net?"
                    )
    there = {f"{kind.table} {index}" for kind in KINDS for index in net[kind.table].index}
    there |= {f"dcline {index} {end}" for index in net.dcline.index for end in ("from", "to")}
    there |= {f"bus {index + 1}" for index in net.bus.index}
    missing = sorted(own - there)
    if missing:
        raise GridveilError(
            f"{missing[0]}: a load of {network.name}, but not in the net; was it read from another?"
        )


def _write(table: Any, kind: InjectionKind, keys: Sequence[str], known: Values) -> None:
    """Write the values of a table's elements, so that times their scaling they are the loads."""
    sign = -1.0 if kind.public_as == "sgen" else 1.0
    scaling = np.ones(len(table))
    if "scaling" in table.columns:
        scaling = table["scaling"].to_numpy(dtype=float).copy()
        written = np.array([key in known for key in keys])
        scaling[written & ~(np.isfinite(scaling) & (scaling != 0))] = 1.0
        table["scaling"] = scaling
    for position, columns in enumerate(_columns(kind)):
        for column in columns:
            cells = table[column].to_numpy(dtype=float).copy()
            for i, key in enumerate(keys):
                if key in known:
                    cells[i] = sign * known[key][position] / scaling[i] / len(columns) + 0.0
            table[column] = cells


def _columns(kind: InjectionKind) -> tuple[list[str], list[str]]:
    """Return the columns that P and Q of a kind of elements stand in; three where it has phases."""
    if kind.table.startswith("asymmetric"):
        return [f"p_{phase}_mw" for phase in _PHASES], [f"q_{phase}_mvar" for phase in _PHASES]
    return (["ps_mw"], ["qs_mvar"]) if kind.public_as == "ward" else (["p_mw"], ["q_mvar"])


def _left(kind: InjectionKind, keys: Sequence[str], known: Values) -> list[str]:
    """Return what stands as it was, or otherwise than in the net."""
    told = []
    untouched = [key for key in keys if key not in known]
    if untouched:
        told.append(f"{_listed(untouched)}: public, no load of the network; stands as it was")
    if kind.table.startswith("asymmetric") and len(untouched) < len(keys):
        told.append(f"net.{kind.table}: every released value is shared evenly by the three phases")
    return told


def _motors_as_loads(copy: Any, keys: Sequence[str], known: Values) -> list[str]:
    """Replace motors by loads: a motor can draw only what its efficiency and cos φ give."""
    if not keys:
        return []
    buses = copy.motor.bus.tolist()
    copy.motor["loading_percent"] = 0.0
    copy.motor["in_service"] = False
    for key, bus in zip(keys, buses, strict=True):
        _add_load(copy, int(bus), key, known[key])
    return [f"{_listed(list(keys))}: out of service; loads of these names stand in net.load"]


def _dc_lines_as_loads(copy: Any, values: Values, idle: set[str]) -> list[str]:
    """Replace DC lines that are no longer public by loads: their ends do not match any more."""
    replaced = []
    for index, line in list(copy.dcline.iterrows()):
        ends = [f"dcline {index} {end}" for end in ("from", "to")]
        if ends[0] in values or ends[0] in idle:
            replaced.append(f"dcline {index}")
            copy.dcline.loc[index, "p_mw"] = 0.0
            copy.dcline.loc[index, "in_service"] = False
            for key, bus in zip(ends, (line.from_bus, line.to_bus), strict=True):
                if key in values:
                    _add_load(copy, int(bus), key, values[key])
    what = "out of service; loads for both ends stand in net.load, without reactive power"
    return [f"{_listed(replaced)}: {what}"] if replaced else []


def _declared_loads(copy: Any, values: Values) -> list[str]:
    """Add the loads at buses that were declared to have one."""
    added = [key for key in values if key.startswith("bus ")]
    for key in added:
        _add_load(copy, int(key.removeprefix("bus ")) - 1, key, values[key])
    return [f"{_listed(added)}: new loads stand in net.load"] if added else []


def _add_load(copy: Any, bus: int, name: str, value: tuple[float, float]) -> None:
    import_pandapower().create_load(copy, bus, value[0], value[1], name=name)


def _cleared(copy: Any, idle: set[str]) -> list[str]:
    """Clear results and measurements; return what was cleared beside results."""
    told = [f"{_listed(sorted(idle))}: out of service, set to 0"] if idle else []
    for name in list(copy):
        if name.startswith(_CLEARED):
            copy[name] = copy[name].iloc[:0] if hasattr(copy[name], "iloc") else None
    if "measurement" in copy and len(copy.measurement):
        copy["measurement"] = copy.measurement.iloc[:0]
        told.append("net.measurement: cleared, for it may hold true loads")
    return told


def _standing(copy: Any) -> list[str]:
    """Return what still stands in a copy that may tell of true loads."""
    told = []
    for kind in KINDS:
        table = copy[kind.table]
        others = table.columns.difference(list(_KNOWN_COLUMNS))
        own = [c for c in others if table[c].notna().any() and (table[c] != "").any()]
        if len(table) and own and kind.table != "motor":
            told.append(f"net.{kind.table}: the columns {', '.join(own)} stand as they were")
    tables = [name for name in copy if hasattr(copy[name], "iloc") and len(copy[name])]
    own_tables = sorted(set(tables) - set(import_pandapower().create_empty_network()))
    if own_tables:
        told.append(f"tables of your own stand as they were: {', '.join(own_tables)}")
    if len(copy.get("controller", ())):
        told.append("net.controller stands as it was; sources of profiles may tell of true loads")
    if copy.get("profiles"):
        told.append("net.profiles stands as it was; it may tell of true loads")
    if len(copy.gen):
        told.append("net.gen: set points p_mw stand as they were")
    return told


def _listed(keys: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(keys[:most])
    return shown if len(keys) <= most else f"{shown} and {len(keys) - most} more"
