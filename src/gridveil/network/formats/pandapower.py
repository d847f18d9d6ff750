"""pandapower's networks: its JSON files, and nets in memory to networks and back.

Both directions go through the tables that Gridveil and pandapower share, MATPOWER's. What these
cannot hold is refused by name. pandapower is an extra: pip install 'gridveil[pandapower]'.
"""

import sys
from collections.abc import Sequence
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
from gridveil.network.network import Network
from gridveil.network.source_loads import SourceLoad

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
    ppc, loads, failure = None, None, ""
    try:
        ppc = _without_loads(net)
        loads = _source_loads(net, len(ppc["bus"]))
    except Exception as error:  # pandapower raises many kinds; their texts may show loads
        failure = raised_where(error)
    if loads is None:  # outside of the handler, so that the error has no context
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
    return network_from_tables(_tables(ppc), float(ppc["baseMVA"]), name, load_buses, loads)


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


def _source_loads(net: Any, buses: int) -> list[SourceLoad]:
    """Return the loads of a net one by one; `buses` are kept by the conversion."""
    loads = net["load"]
    rows = net["_pd2ppc_lookups"]["bus"][loads["bus"].to_numpy(dtype=np.int64)]
    counted = net["_is_elements"]["load"].astype(bool) & (rows < buses)
    scaling = loads["scaling"].to_numpy(dtype=float)
    p, q = (_scaled(loads[name].to_numpy(), scaling) for name in ("p_mw", "q_mvar"))
    ratings = np.nan_to_num(loads["sn_mva"].to_numpy(dtype=float))
    return [
        SourceLoad(
            bus=int(row) + 1,
            key=f"load {index}",
            p_mw=float(p[i]),
            q_mvar=float(q[i]),
            in_service=bool(counted[i]),
            name=str(name or ""),
            rating_mva=max(float(ratings[i]), 0.0),
        )
        for i, (row, index, name) in enumerate(zip(rows, loads.index, loads["name"], strict=True))
    ]


def _scaled(values: FloatArray, scaling: FloatArray) -> FloatArray:
    """Return loads times their scaling; products beyond all numbers become the largest."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.asarray(values * scaling, dtype=float)
    largest = np.isinf(scaled) & np.isfinite(values.astype(float)) & np.isfinite(scaling)
    return np.where(largest, np.copysign(sys.float_info.max, scaled), scaled)


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
