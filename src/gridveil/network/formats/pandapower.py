"""Networks from pandapower and to it, through the tables both know, MATPOWER's.

pandapower is an extra: pip install 'gridveil[pandapower]'. Whatever cannot be carried over is
refused by name, and after a conversion both sides solve their OPF: a difference is told.
"""

import warnings
from copy import deepcopy
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network, saved_text
from gridveil.network.formats.matpower import COLUMNS, parse_matpower
from gridveil.network.network import Network
from gridveil.network.problems import CaseError

_CARRIED = {
    "bus", "load", "gen", "ext_grid", "line", "trafo", "trafo3w", "shunt", "switch", "impedance",
    "sgen",
}  # fmt: skip
"""Element tables of pandapower that MATPOWER's tables can hold."""
_LOST = ("branch_r_asym", "branch_x_asym", "branch_g", "branch_g_asym", "branch_b_asym")
"""What pandapower keeps of branches outside those tables."""
_NOTICEABLE = 1e-4
"""Relative difference of two OPF costs that is worth a warning."""


class ConversionWarning(UserWarning):
    """A converted network does not cost what the original costs."""


def from_pandapower(net: Any) -> Network:
    """Return the network of a pandapower net; warn if its OPF costs differ from pandapower's.

    Buses get the numbers 1, 2, … in pandapower's internal order; ideal switches join buses.
    """
    pandapower = _pandapower()
    from pandapower.converter.pypower.to_ppc import to_ppc  # type: ignore[import-untyped]

    _refuse(net)
    if net.poly_cost.empty and net.pwl_cost.empty:
        raise GridveilError("the pandapower net has no costs (poly_cost or pwl_cost)")
    try:
        ppc = to_ppc(net, init="flat", mode="opf")
    except Exception as error:  # pandapower raises many kinds
        raise GridveilError(f"pandapower could not convert the net: {error}") from error
    lost = [name for name in _LOST if name in ppc and np.any(ppc[name])]
    if lost:
        raise GridveilError(
            f"the pandapower net has {lost[0]} (such as iron losses of transformers), which case "
            "files cannot hold"
        )
    if len(ppc["gencost"]) > len(ppc["gen"]):
        raise GridveilError(
            "the pandapower net has costs of reactive power, which are not supported"
        )
    network = _network(ppc, str(net.name or "pandapower"))
    _compare(network, _opf_cost(pandapower, net), "pandapower")
    return network


def to_pandapower(network: Network) -> Any:
    """Return the network as a pandapower net; warn if its OPF costs differ from ours."""
    pandapower = _pandapower()
    from pandapower.converter.pypower.from_ppc import from_ppc  # type: ignore[import-untyped]

    case = parse_matpower(saved_text(network), network.case.source, network.case.name)
    ppc: dict[str, Any] = {"version": "2", "baseMVA": case.base_mva}
    for name in ("bus", "gen", "branch", "gencost"):
        ppc[name] = case.tables[name].values.copy()
    for name, columns in (("bus", [0]), ("gen", [0]), ("branch", [0, 1])):
        ppc[name][:, columns] -= 1
    taps = ppc["branch"][:, 8]
    taps[taps == 0] = 1.0
    try:
        net = from_ppc(ppc, f_hz=50)
    except Exception as error:
        raise GridveilError(f"pandapower could not take the network over: {error}") from error
    _compare(network, _opf_cost(pandapower, net), "pandapower")
    return net


def _pandapower() -> Any:
    try:
        import pandapower  # type: ignore[import-untyped]
    except ImportError:
        raise GridveilError(
            "pandapower is not installed; pip install 'gridveil[pandapower]'"
        ) from None
    return pandapower


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


def _network(ppc: Any, name: str) -> Network:
    """Return the network of PYPOWER tables."""
    tables: dict[str, FloatArray] = {
        "bus": np.asarray(ppc["bus"])[:, : len(COLUMNS["bus"])].astype(float),
        "gen": np.asarray(ppc["gen"])[:, :10].astype(float),
        "branch": np.real(np.asarray(ppc["branch"]))[:, : len(COLUMNS["branch"])].astype(float),
        "gencost": np.asarray(ppc["gencost"])[: len(ppc["gen"])].astype(float),
    }
    tables["gen"][:, 6] = float(ppc["baseMVA"])  # mBase, of no use here and often NaN there
    tables["bus"][:, 0] += 1
    tables["gen"][:, 0] += 1
    tables["branch"][:, :2] += 1
    base = float(ppc["baseMVA"])
    lines = ["function mpc = case", "mpc.version = '2';", f"mpc.baseMVA = {base!r};"]
    for table, values in tables.items():
        rows = ["\t" + "\t".join(_cell(value) for value in row) + ";" for row in values]
        lines += [f"mpc.{table} = [", *rows, "];"]
    case = parse_matpower("\n".join(lines) + "\n", name, name)
    problems = check_case(case)
    if problems:
        raise CaseError(case.source, problems)
    return build_network(case)


def _cell(value: float) -> str:
    return repr(float(value)).replace("inf", "Inf").replace("nan", "NaN")


def _opf_cost(pandapower: Any, net: Any) -> float | None:
    """Return the cost pandapower's own OPF finds, None if it finds none."""
    copy = deepcopy(net)
    for init in ("flat", "pf"):
        try:
            pandapower.runopp(copy, init=init, calculate_voltage_angles=True)
        except Exception:  # its solver did not converge
            continue
        return float(copy.res_cost)
    return None


def _compare(network: Network, theirs: float | None, name: str) -> None:
    from gridveil.opf.acopf import solve_acopf

    ours = solve_acopf(network)
    if theirs is None or not ours.status.solved:
        who = name if theirs is None else "Gridveil"
        warnings.warn(
            f"{who} found no OPF solution, so that costs could not be compared",
            ConversionWarning,
            stacklevel=3,
        )
    elif abs(ours.cost - theirs) > _NOTICEABLE * max(abs(theirs), 1.0):
        warnings.warn(
            f"the network costs {ours.cost:,.2f} $/h here and {theirs:,.2f} $/h in {name}",
            ConversionWarning,
            stacklevel=3,
        )
