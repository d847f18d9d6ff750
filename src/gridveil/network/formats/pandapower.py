"""pandapower's networks: its JSON files, and nets in memory to networks and back.

Both directions go through the tables that Gridveil and pandapower share, MATPOWER's. What these
cannot hold is refused by name. pandapower is an extra: pip install 'gridveil[pandapower]'.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError, raised_where
from gridveil.files import write_atomically
from gridveil.network.case_file import COLUMNS
from gridveil.network.formats.base import CaseFormat, first_bytes
from gridveil.network.formats.matpower import saved_text
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.from_case import network_from_tables
from gridveil.network.load_keys import bus_key
from gridveil.network.network import Network

_CARRIED = {
    "bus", "load", "gen", "ext_grid", "line", "trafo", "trafo3w", "shunt", "switch", "impedance",
    "sgen",
}  # fmt: skip
"""Element tables of pandapower that MATPOWER's tables can hold."""
_LOST = ("branch_r_asym", "branch_x_asym", "branch_g", "branch_g_asym", "branch_b_asym")
"""What pandapower keeps of branches outside those tables."""
_GEN_COLUMNS = 10
"""Columns of the gen table that both sides know: as far as Pmin."""
_TAP = COLUMNS["branch"].index("ratio")
_BASE_OF_GENERATOR = COLUMNS["gen"].index("mBase")
_BUS_NUMBERS = {
    "bus": [COLUMNS["bus"].index("bus_i")],
    "gen": [COLUMNS["gen"].index("bus")],
    "branch": [COLUMNS["branch"].index("fbus"), COLUMNS["branch"].index("tbus")],
}
"""Columns that hold bus numbers: from 0 in pandapower's tables, from 1 in a case file."""
_LOADS = {"p_mw": "Pd", "q_mvar": "Qd"}
"""Columns of pandapower's loads, and of the bus table that holds their sums."""
_LOOKED_AT = 4096
"""Bytes of a JSON file in which the class it holds is looked for."""


class PandapowerFormat(CaseFormat):
    """pandapower's JSON files."""

    name = "pandapower"
    suffixes = (".json",)

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins as `pandapower.to_json` writes it."""
        return b"pandapowerNet" in first_bytes(path, _LOOKED_AT)

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; buses get the numbers 1, 2, … in pandapower's internal order."""
        pandapower = import_pandapower()
        if not self.recognises(path):
            raise GridveilError(f"{path}: this is not a network saved by pandapower.to_json")
        try:
            net = pandapower.from_json(str(path))
        except Exception as error:  # pandapower raises many kinds
            raise GridveilError(f"{path}: pandapower cannot read this file: {error}") from error
        return network_from_net(net, str(net.name or path.stem), load_buses)

    def write(self, network: Network, path: Path) -> None:
        """Write a network; its buses get the numbers 0, 1, … in pandapower."""
        net = net_from_network(network)
        net.name = network.name
        write_atomically(path, import_pandapower().to_json(net).encode())


def import_pandapower() -> Any:
    """Return the module pandapower.

    Raises:
        GridveilError: It is not installed.
    """
    try:
        import pandapower  # type: ignore[import-untyped]
    except ImportError:
        raise GridveilError(
            "pandapower is not installed; pip install 'gridveil[pandapower]'"
        ) from None
    return pandapower


def network_from_net(net: Any, name: str, load_buses: Sequence[int] | None = None) -> Network:
    """Return the network of a pandapower net.

    Args:
        net: A pandapowerNet with costs of active power.
        name: Name of the network.
        load_buses: Numbers of the buses with a load, from 1; None takes those with a load.

    Raises:
        GridveilError: The net has elements or values that a case file cannot hold.
    """
    import_pandapower()
    _refuse(net)
    if net.poly_cost.empty and net.pwl_cost.empty:
        raise GridveilError("the pandapower net has no costs (poly_cost or pwl_cost)")
    ppc, failure = None, ""
    try:
        ppc = _with_summed_loads(net, _without_loads(net))
    except Exception as error:  # pandapower raises many kinds; their texts may show loads
        failure = raised_where(error)
    if ppc is None:  # outside of the handler, so that the error has no context
        raise GridveilError(f"pandapower could not convert the net: {failure}")
    lost = [column for column in _LOST if column in ppc and np.any(ppc[column])]
    if lost:
        raise GridveilError(
            f"the pandapower net has {lost[0]} (such as iron losses of transformers), which case "
            "files cannot hold"
        )
    if len(ppc["gencost"]) > len(ppc["gen"]):
        raise GridveilError(
            "the pandapower net has costs of reactive power, which are not supported"
        )
    network = network_from_tables(_tables(ppc), float(ppc["baseMVA"]), name, load_buses)
    return replace(
        network, load_keys=_load_keys(net, network), load_ratings=_load_ratings(net, network)
    )


def net_from_network(network: Network) -> Any:
    """Return a network as a pandapower net.

    Raises:
        GridveilError: pandapower cannot hold the network.
    """
    import_pandapower()
    from pandapower.converter.pypower.from_ppc import from_ppc  # type: ignore[import-untyped]

    case = parse_matpower(saved_text(network), network.case.source, network.case.name)
    ppc: dict[str, Any] = {"version": "2", "baseMVA": case.base_mva}
    for table in ("bus", "gen", "branch", "gencost"):
        ppc[table] = case.tables[table].values.copy()
    for table, columns in _BUS_NUMBERS.items():
        ppc[table][:, columns] -= 1
    taps = ppc["branch"][:, _TAP]
    taps[taps == 0] = 1.0
    try:
        return from_ppc(ppc, f_hz=50)
    except Exception as error:
        raise GridveilError(f"pandapower could not take the network over: {error}") from error


def _without_loads(net: Any) -> Any:
    """Return PYPOWER's tables of a net, its loads as 0 MW where they stand.

    pandapower sums loads as differences of running totals, so that each would change all others by
    rounding. Loads of 0 still keep their buses in use.
    """
    from pandapower.converter.pypower.to_ppc import to_ppc  # type: ignore[import-untyped]

    loads = net["load"]
    net["load"] = loads.assign(p_mw=0.0, q_mvar=0.0)
    try:
        return to_ppc(net, init="flat", mode="opf")
    finally:
        net["load"] = loads


def _with_summed_loads(net: Any, ppc: Any) -> Any:
    """Return PYPOWER's tables with the loads of the net they were made from, bus by bus."""
    loads = net["load"]
    rows = net["_pd2ppc_lookups"]["bus"][loads["bus"].to_numpy(dtype=np.int64)]
    counted = net["_is_elements"]["load"].astype(bool) & (rows < len(ppc["bus"]))
    for source, column in _LOADS.items():
        values = _scaled(loads[source].to_numpy(), loads["scaling"].to_numpy(dtype=float))
        cells = ppc["bus"][:, COLUMNS["bus"].index(column)]  # of elements other than loads
        at_bus: dict[int, list[float]] = {}
        for row, value in zip(rows[counted].tolist(), values[counted].tolist(), strict=True):
            at_bus.setdefault(row, []).append(value)
        for row, several in at_bus.items():
            cells[row] = _sum([float(cells[row]), *several])
    return ppc


def _scaled(values: FloatArray, scaling: FloatArray) -> FloatArray:
    """Return loads times their scaling; products beyond all numbers become the largest."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.asarray(values * scaling, dtype=float)
    largest = np.isinf(scaled) & np.isfinite(values.astype(float)) & np.isfinite(scaling)
    return np.where(largest, np.copysign(sys.float_info.max, scaled), scaled)


def _sum(values: Sequence[float]) -> float:
    """Return a sum that is rounded once; one beyond all numbers becomes the largest."""
    if not all(map(math.isfinite, values)):
        return math.nan
    largest = Fraction(sys.float_info.max)
    return float(max(-largest, min(sum(map(Fraction, values), Fraction(0)), largest)))


def _refuse(net: Any) -> None:
    """Refuse a net with elements that would get lost or turn into something else."""
    for name, table in net.items():
        is_element = hasattr(table, "columns") and "in_service" in table.columns
        if is_element and len(table) and name not in _CARRIED:
            raise GridveilError(
                f"the pandapower net has {len(table)} elements of kind {name!r}, which cannot be "
                "carried over; replace or remove them"
            )
    parts = [name for name in net["load"].columns if name.startswith(("const_z", "const_i"))]
    if parts and net["load"][parts].to_numpy(dtype=float).any():
        raise GridveilError("the pandapower net has loads that depend on the voltage")
    for name, wanted in (("load", False), ("sgen", True)):
        table = net[name]
        controllable = (
            table.controllable.eq(True) if "controllable" in table.columns else table.p_mw.isna()
        )
        if (controllable != wanted).any():
            raise GridveilError(
                "the pandapower net has controllable loads, which have no place here"
                if name == "load"
                else "the pandapower net has elements of kind 'sgen' that are not controllable: "
                "they would become part of loads; make them generators or remove them"
            )


def _load_keys(net: Any, network: Network) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the pandapower loads behind each load, by their indices, and those out of service."""
    place = net._pd2ppc_lookups["bus"]  # kept by the conversion: where each bus of the net went
    at_bus: dict[int, list[str]] = {number: [] for number in network.load_buses}
    idle: list[str] = []
    for index, bus, in_service in zip(
        net.load.index, net.load.bus, net.load.in_service, strict=True
    ):
        number = int(place[bus]) + 1
        (at_bus[number] if in_service and number in at_bus else idle).append(f"load {index}")
    return tuple(tuple(keys) or (bus_key(n),) for n, keys in at_bus.items()), tuple(idle)


def _load_ratings(net: Any, network: Network) -> tuple[float, ...] | None:
    """Return the rating of each load in MVA, all loads of a bus added up; 0 where one has none."""
    if "sn_mva" not in net.load.columns or not net.load.sn_mva.notna().any():
        return None
    place = net._pd2ppc_lookups["bus"]
    found: dict[int, list[float]] = {number: [] for number in network.load_buses}
    for bus, in_service, rating in zip(
        net.load.bus, net.load.in_service, net.load.sn_mva, strict=True
    ):
        number = int(place[bus]) + 1
        if in_service and number in found:
            found[number].append(float(rating) if rating > 0 else 0.0)
    return tuple(sum(ratings) if all(ratings) else 0.0 for ratings in found.values())


def _tables(ppc: Any) -> dict[str, FloatArray]:
    """Return PYPOWER's tables as a case file has them."""
    tables: dict[str, FloatArray] = {
        "bus": np.asarray(ppc["bus"])[:, : len(COLUMNS["bus"])].astype(float),
        "gen": np.asarray(ppc["gen"])[:, :_GEN_COLUMNS].astype(float),
        "branch": np.real(np.asarray(ppc["branch"]))[:, : len(COLUMNS["branch"])].astype(float),
        "gencost": np.asarray(ppc["gencost"])[: len(ppc["gen"])].astype(float),
    }
    tables["gen"][:, _BASE_OF_GENERATOR] = float(ppc["baseMVA"])  # not used here, often NaN there
    for table, columns in _BUS_NUMBERS.items():
        tables[table][:, columns] += 1
    return tables
