"""Networks with the phase shifts of their vector groups: pandapower's own, shifts left in."""

import numpy as np
import pytest

from benchmarks.feeders import feeder
from gridveil import solve_acopf
from gridveil.network.formats.pandapower_reader import network_from_net

pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize(
    "name",
    [
        "create_kerber_dorfnetz",
        "panda_four_load_branch",
        "simple_mv_open_ring_net",
        "mv_oberrhein",
        "create_cigre_network_mv",
    ],
)
def test_a_shift_changes_neither_the_cost_nor_the_way_there(name):
    """A feeder is radial across its transformers: their shifts turn angles and nothing else."""
    network = feeder(name, shifted=True)
    assert np.degrees(network.lines.shift).max() > 29
    result, plain = solve_acopf(network), solve_acopf(feeder(name))
    assert result.status.solved
    assert result.cost == pytest.approx(plain.cost, rel=1e-6)
    assert result.iterations <= plain.iterations + 1


def test_cigre_hv_with_shifts_of_330_degrees_costs_what_pandapower_says():
    net = pandapower.networks.create_cigre_network_hv()
    assert (net.trafo.shift_degree == 330).sum() == 4
    net.poly_cost.drop(net.poly_cost.index, inplace=True)
    net.bus[["min_vm_pu", "max_vm_pu"]] = 0.9, 1.1
    net.gen["controllable"] = True
    for table, prices in (("ext_grid", [60.0]), ("gen", [20.0, 30.0, 40.0])):
        net[table][["min_p_mw", "max_p_mw"]] = 0.0, 1000.0
        net[table][["min_q_mvar", "max_q_mvar"]] = -500.0, 500.0
        for index, price in zip(net[table].index, prices, strict=True):
            pandapower.create_poly_cost(net, int(index), table, cp1_eur_per_mw=price)
    result = solve_acopf(network_from_net(net, "cigre hv"))
    pandapower.runopp(net, init="pf", calculate_voltage_angles=True)
    assert result.status.solved
    assert result.cost == pytest.approx(net.res_cost, rel=1e-3)
