"""pandapower's networks: power flows, optimal power flows and releases of both sides compared.

Run: .venv/bin/python -m benchmarks.pandapower_networks [NAME …]

The voltage difference is the largest of a complex bus voltage between pandapower's power flow and
a step of Newton's method from there on Gridveil's equations, in p.u. Costs are those of both OPFs;
nets without costs get prices of their supply for this column alone (50 $/MWh and more for external
grids, 40 and more for generators), and pandapower's OPF the limits of generators that ours took
from ratings. A limit of a current counts here as one of apparent power at the highest voltage
allowed, so that ours may be cheaper. The release is one with default settings and β = 5 %, of the
net as it is, written back into the net, where pandapower's power flow then has to converge.
"""

import contextlib
import csv
import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.power_flow import power_flow
from benchmarks.report import write_table
from gridveil import GridveilError, Network, release, solve_acopf, verify
from gridveil.arrays import FloatArray
from gridveil.network.formats.pandapower_generators import flexible_keys
from gridveil.network.formats.pandapower_injections import KINDS, injections
from gridveil.network.formats.pandapower_reader import network_from_net
from gridveil.network.formats.pandapower_topology import topology
from gridveil.network.formats.pandapower_writer import net_with_loads

_NAMES = (
    "case4gs", "case5", "case6ww", "case9", "case14", "case24_ieee_rts", "case30", "case_ieee30",
    "case33bw", "case39", "case57", "case89pegase", "case118", "case145", "case_illinois200",
    "case300", "case1354pegase", "GBreducednetwork", "iceland", "create_cigre_network_hv",
    "create_cigre_network_mv", "create_cigre_network_lv", "create_kerber_landnetz_freileitung_1",
    "create_kerber_landnetz_kabel_1", "create_kerber_dorfnetz",
    "create_kerber_vorstadtnetz_kabel_1", "mv_oberrhein", "example_simple", "example_multivoltage",
    "panda_four_load_branch", "four_loads_with_branches_out", "simple_four_bus_system",
    "simple_mv_open_ring_net", "create_synthetic_voltage_control_lv_network",
)  # fmt: skip
_SIMBENCH = ("1-LV-rural1--0-sw", "1-LV-urban6--1-sw", "1-MV-rural--0-sw", "1-HV-mixed--0-sw")
_HEADINGS = (
    "net", "elements", "changed or approximated", "voltage difference", "cost", "pandapower's",
    "difference", "release",
)  # fmt: skip
_ELEMENTS = ("ext_grid", "gen", "line", "trafo", "trafo3w", "impedance", "switch", "shunt")
_PRICES = 50.0, 40.0
_BETA = 0.05
_RATING = 200.0
"""In MVA, of the generator of example_multivoltage, which feeds in 100 MW and has no limits."""


def nets() -> dict[str, Callable[[], Any]]:
    """Return what makes each net, by its name."""
    import pandapower.networks

    found: dict[str, Callable[[], Any]] = {
        name.removeprefix("create_"): getattr(pandapower.networks, name) for name in _NAMES
    }
    mv = pandapower.networks.create_cigre_network_mv
    found["example_multivoltage"] = _multivoltage
    found["cigre_network_mv with DER"] = partial(mv, with_der="all")
    found |= {name: partial(_simbench, name) for name in _SIMBENCH}
    return found


def _simbench(name: str) -> Any:
    import simbench

    return simbench.get_simbench_net(name)


def _multivoltage() -> Any:
    """Return the net with a rating of its generator, which it is asked for."""
    import pandapower.networks

    net = pandapower.networks.example_multivoltage()
    net.gen["sn_mva"] = _RATING
    return net


def solved(net: Any) -> Any:
    """Return a net with the results of pandapower's power flow."""
    import pandapower

    with quiet():
        pandapower.runpp(net, calculate_voltage_angles=True, tolerance_mva=1e-9)
    return net


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep pandapower's warnings and logs to itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


def voltage_difference(net: Any, network: Network) -> tuple[float, float]:
    """Return how far pandapower's power flow and that of the network's equations are apart.

    Both have the same injections and set points; the second starts at the first's solution.

    Args:
        net: A net with pandapower's results.
        network: The network read from it.

    Returns:
        The largest difference of a complex voltage at a bus of the net, and the largest mismatch
        of pandapower's solution in the network, both in p.u.
    """
    n, index = len(network.buses), bus_index(net, network)
    voltage = _start(net, network, index)
    injected = _injected(net, network, index)
    held = np.zeros(2 * n, dtype=bool)
    for table in ("gen", "ext_grid"):
        for element in net[table][net[table].in_service].itertuples():
            row = index.get(element.bus)
            if row is not None:
                held[n + row] = True
                held[row] |= table == "ext_grid" or bool(element.slack)
    for element in net.dcline[net.dcline.in_service].itertuples():
        held[[n + index[bus] for bus in (element.from_bus, element.to_bus)]] = True
    for row in _inner_buses(net, network):
        held[n + row], voltage[n + row] = True, network.buses.v_min[row]
    ends = np.setdiff1d(np.arange(n), list(index.values()))
    if len(ends):  # buses that pandapower shows no voltage of
        others = np.ones(2 * n, dtype=bool)
        others[ends] = others[n + ends] = False
        others |= held
        voltage, _ = power_flow(network, injected, others, voltage)
    found, mismatch = power_flow(network, injected, held, voltage)
    ours, theirs = (x[n:] * np.exp(1j * x[:n]) for x in (found, voltage))
    shown = list(index.values())
    return float(np.abs(ours - theirs)[shown].max()), mismatch


def bus_index(net: Any, network: Network) -> dict[int, int]:
    """Return which bus of the network each bus in service of the net is; joined ones share it."""
    place = topology(net)
    at = {int(number): i for i, number in enumerate(network.buses.number)}
    found = {bus: at.get(int(place.number[place.row(bus)])) for bus in net.bus.index}
    return {bus: row for bus, row in found.items() if row is not None}


def _start(net: Any, network: Network, index: dict[int, int]) -> FloatArray:
    """Return pandapower's voltages; those of internal buses from their neighbours."""
    n, lines = len(network.buses), network.lines
    x = np.full(2 * n, np.nan)
    for bus, row in index.items():
        x[row], x[n + row] = np.radians(net.res_bus.va_degree[bus]), net.res_bus.vm_pu[bus]
    for f, t, shift in zip(lines.from_bus, lines.to_bus, lines.shift, strict=True):
        for unknown, known, turn in ((f, t, shift), (t, f, -shift)):
            if np.isnan(x[unknown]) and not np.isnan(x[known]):
                x[unknown], x[n + unknown] = x[known] + turn, x[n + known]
    assert not np.isnan(x).any()
    return x


def _injected(net: Any, network: Network, index: dict[int, int]) -> FloatArray:
    """Return what is fed into each bus: without loads, what pandapower's generators do."""
    n, mva = len(network.buses), network.base_mva
    out = np.zeros(2 * n)
    np.subtract.at(out, network.loads.bus, network.loads.p)
    np.subtract.at(out, n + network.loads.bus, network.loads.q)
    known = {one.key for one in (*network.load_identities, *network.idle_loads.identities)}
    flexible = flexible_keys(net)
    at = {int(number): i for i, number in enumerate(network.buses.number)}
    for _, fixed in injections(net, topology(net), flexible):
        if fixed.key not in known and fixed.in_service and fixed.bus in at:
            out[at[fixed.bus]] -= fixed.p_mw / mva
            out[n + at[fixed.bus]] -= fixed.q_mvar / mva
    for table, sign in (("gen", 1), ("sgen", 1), ("load", -1), ("storage", -1)):
        for element in net[table][net[table].in_service].itertuples():
            row = index.get(element.bus)
            if row is not None and (table == "gen" or f"{table} {element.Index}" in flexible):
                result = net[f"res_{table}"].loc[element.Index]
                out[row] += sign * result.p_mw / mva
                out[n + row] += sign * result.q_mvar / mva
    return out


def _inner_buses(net: Any, network: Network) -> list[int]:
    """Return the internal buses of extended wards, whose voltage is held."""
    place = topology(net)
    at = {int(number): i for i, number in enumerate(network.buses.number)}
    buses = place.internal.get("xward", ())
    return [
        at[int(place.number[place.row(bus)])]
        for bus, on in zip(buses, net.xward.in_service, strict=True)
        if on
    ]


def priced(net: Any) -> tuple[Any, bool]:
    """Return a net with costs of its own, or with prices of its supply, and whether it had any."""
    import pandapower

    had = bool(len(net.poly_cost) + len(net.pwl_cost))
    if not had:
        for table, price in (("ext_grid", _PRICES[0]), ("gen", _PRICES[1])):
            for i, index in enumerate(net[table].index):
                pandapower.create_poly_cost(net, int(index), table, cp1_eur_per_mw=price + i)
    return net, had


def pandapowers_cost(net: Any, network: Network) -> float | None:
    """Return what pandapower's OPF costs, None where it does not converge.

    It gets the limits of generators that the network took from ratings.
    """
    import pandapower

    copy = deepcopy(net)
    limits = (("p", "mw"), ("q", "mvar"))
    gens = network.generators
    keys = [f"{table} {i}" for table in ("ext_grid", "gen") for i in copy[table].index]
    for row, key in enumerate(keys[: len(gens)] if len(gens.row) >= len(keys) else []):
        table, index = key.split()
        for quantity, unit in limits:
            for end in ("min", "max"):
                value = float(getattr(gens, f"{quantity}_{end}")[row] * network.base_mva)
                copy[table].loc[int(index), f"{end}_{quantity}_{unit}"] = value
    if "controllable" in copy.ext_grid.columns:  # runopp stops at one that is not given
        copy.ext_grid["controllable"] = copy.ext_grid.controllable.eq(True)
    for start in ("pf", "flat"):
        with contextlib.suppress(Exception), quiet():
            pandapower.runopp(copy, init=start, calculate_voltage_angles=True)
            return float(copy.res_cost)
    return None


def released(net: Any, network: Network) -> str:
    """Release a network, verify it, write it back into the net, and run pandapower there."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            made = release(network, Path(folder) / "ledger", beta=_BETA)
        except GridveilError as error:
            return f"no: {str(error).splitlines()[0][:100]}"
        made.save(Path(folder) / "out")
        checked = verify(Path(folder) / "out")
        broken = [claim.name for claim in checked.claims if not claim.ok]
        if broken:
            return f"released, {len(broken)} claims broken"
        with (Path(folder) / "out" / "loads.csv").open() as file:
            rows = list(csv.DictReader(file))
    loads = np.array([[float(row["p_mw"]), float(row["q_mvar"])] for row in rows])
    private = network.with_loads(*(loads.T / network.base_mva))
    copy, _ = net_with_loads(private, net)
    try:
        solved(copy)
    except Exception as error:  # pandapower's
        return f"verified, but back in the net: {type(error).__name__}"
    return "verified, back, converges"


def row(name: str, make: Callable[[], Any]) -> list[object]:
    """Return the row of one net."""
    with quiet():
        net = solved(make())
        network = network_from_net(net, name)
    difference, _ = voltage_difference(net, network)
    paid, had = priced(deepcopy(net))
    with quiet():
        ours = solve_acopf(paid_network := network_from_net(paid, name))
    theirs = pandapowers_cost(paid, paid_network)
    solvable = ours.status.solved
    gap = f"{ours.cost / theirs - 1:+.4%}" if theirs and solvable else ""
    elements = ", ".join(
        f"{len(net[table])} {table}"
        for table in (*_ELEMENTS, *(kind.table for kind in KINDS), "dcline")
        if len(net[table])
    )
    return [
        name,
        f"{len(net.bus)} buses, {elements}",
        "; ".join(network.conversion_notes),
        f"{difference:.0e}",
        f"{ours.cost:,.2f}{'' if had else ' (priced here)'}" if solvable else "infeasible",
        f"{theirs:,.2f}" if theirs else "does not converge",
        gap,
        released(net, network) if solvable else "",
    ]


def main(chosen: list[str]) -> int:
    rows = []
    for name, make in nets().items():
        if not chosen or name in chosen:
            rows.append(row(name, make))
            print(*rows[-1], sep=" | ", flush=True)
    if not chosen:
        write_table("pandapower_networks", __doc__.split("\n\n")[-1], _HEADINGS, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
