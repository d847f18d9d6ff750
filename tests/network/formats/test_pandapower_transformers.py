"""Transformers in pandapower: its power flow of a solved network has the solution's voltages."""

import numpy as np
import pytest

from gridveil.network.formats.pandapower_writer import net_from_network
from gridveil.network.library import load_case
from gridveil.opf.acopf import solve_acopf

pandapower = pytest.importorskip("pandapower")


@pytest.mark.parametrize("name", ["case24_ieee_rts", "case300_ieee"])
def test_the_power_flow_has_the_voltages_of_the_solution(name):
    """case24 has transformers from low to high voltage, case300 some that charge and shift."""
    network = load_case(name)
    point, base = solve_acopf(network).point, network.base_mva
    net = net_from_network(network)
    known = net._from_ppc_lookups["gen"]
    for i, row in enumerate(network.generators.row.tolist()):
        kind, index = known.element_type.iloc[row], known.element.iloc[row]
        if kind != "ext_grid":
            net[kind].at[index, "p_mw"] = point.p[i] * base
        if kind == "sgen":
            net.sgen.at[index, "q_mvar"] = point.q[i] * base
        else:
            net[kind].at[index, "vm_pu"] = point.v[network.generators.bus[i]]
    pandapower.runpp(net, numba=False, calculate_voltage_angles=True, init="dc")
    numbers = network.buses.number - 1
    np.testing.assert_allclose(net.res_bus.vm_pu[numbers], point.v, atol=1e-6)
    angles = np.radians(net.res_bus.va_degree[numbers].to_numpy())
    np.testing.assert_allclose(angles - angles[0], point.theta - point.theta[0], atol=1e-5)
