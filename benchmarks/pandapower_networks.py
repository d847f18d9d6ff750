"""pandapower's networks: power flows, optimal power flows and releases of both sides compared."""

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.power_flow import power_flow
from gridveil import Network
from gridveil.arrays import FloatArray

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


def nets() -> dict[str, Callable[[], Any]]:
    """Return what makes each net, by its name."""
    import pandapower.networks
    import simbench

    found: dict[str, Callable[[], Any]] = {
        name.removeprefix("create_"): getattr(pandapower.networks, name) for name in _NAMES
    }
    mv = pandapower.networks.create_cigre_network_mv
    found["cigre_network_mv with DER"] = partial(mv, with_der="all")
    found |= {name: partial(simbench.get_simbench_net, name) for name in _SIMBENCH}
    return found


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
    inner = _inner_voltages(net, network)
    for row, v in inner.items():
        held[n + row], voltage[n + row] = True, v
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
    from gridveil.network.formats.pandapower_topology import topology

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
    known = {one.key for one in network.load_identities}
    for table, sign in (("gen", 1), ("sgen", 1), ("load", -1), ("storage", -1)):
        for element in net[table][net[table].in_service].itertuples():
            row = index.get(element.bus)
            if row is not None and f"{table} {element.Index}" not in known:
                result = net[f"res_{table}"].loc[element.Index]
                out[row] += sign * result.p_mw / mva
                out[n + row] += sign * result.q_mvar / mva
    return out


def _inner_voltages(net: Any, network: Network) -> dict[int, float]:
    """Return the voltage that extended wards hold at their internal bus."""
    from gridveil.network.formats.pandapower_topology import topology

    place = topology(net)
    at = {int(number): i for i, number in enumerate(network.buses.number)}
    buses = place.internal.get("xward", ())
    return {
        at[int(place.number[place.row(bus)])]: float(ward.vm_pu)
        for bus, ward in zip(buses, net.xward.itertuples(), strict=True)
        if ward.in_service
    }
