"""Released loads in the net they came from, and networks as new nets."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import GridveilError, load_case
from gridveil.network.formats.pandapower_reader import network_from_net
from gridveil.network.formats.pandapower_writer import net_from_network, net_with_loads

pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")

from tests.network.formats.pandapower_nets import everything, feeder  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def released(net):
    """Return a network read from a net with other loads, and what each draws in MW."""
    network = network_from_net(net, "net")
    p, q = network.loads.values.T
    changed = network.with_loads(0.8 * p - 0.01, 0.5 * q + 0.02)
    values = (changed.loads.values * network.base_mva).tolist()
    keys = [one.key for one in network.load_identities]
    return changed, dict(zip(keys, values, strict=True))


def test_loads_go_back_by_their_indices_and_everything_else_stays():
    net = everything()
    net.load.index = [7, 3, 11, 0, 20, 5]
    net.load.loc[3, "scaling"] = 0.0
    before = {name: table.copy() for name, table in net.items() if hasattr(table, "columns")}
    changed, values = released(net)
    copy, _ = net_with_loads(changed, net)
    for index in (7, 3, 11, 0, 20):
        row = copy.load.loc[index]
        assert [row.p_mw * row.scaling, row.q_mvar * row.scaling] == pytest.approx(
            values[f"load {index}"], rel=1e-14
        )
    assert copy.load.scaling[7] == 0.9
    assert (copy.load.p_mw[5], copy.load.q_mvar[5], copy.load.name[5]) == (0.0, 0.0, "the mill")
    assert copy.sgen.p_mw[0] * 0.7 == pytest.approx(-values["sgen 0"][0])
    assert copy.storage.q_mvar[0] == pytest.approx(values["storage 0"][1])
    assert copy.xward.ps_mw[0] == pytest.approx(values["xward 0"][0])
    phases = copy.asymmetric_sgen.loc[0, ["p_a_mw", "p_b_mw", "p_c_mw"]]
    assert phases.tolist() == pytest.approx([-values["asymmetric_sgen 0"][0] / 3] * 3)
    assert all(net[name].equals(table) for name, table in before.items())
    for name in ("bus", "line", "trafo", "trafo3w", "switch", "gen", "ext_grid", "shunt"):
        assert copy[name].equals(before[name])


def test_a_load_out_of_service_is_0_unless_it_is_released():
    net = everything()
    changed, _ = released(net)
    idle = replace(changed.idle_loads, p=np.array([0.07]), q=np.array([0.03]))
    for is_released in (False, True):
        network = replace(changed, idle_loads=idle, lists_idle_loads=is_released)
        copy, told = net_with_loads(network, net)
        (key,) = (one.key for one in network.idle_loads.identities)
        row, factor = copy.load.loc[int(key.split()[1])], network.base_mva * is_released
        assert (row.p_mw, row.q_mvar) == pytest.approx((0.07 * factor, 0.03 * factor))
        assert not row.in_service
        assert any("out of service, set to 0" in one for one in told) != is_released


def test_what_a_table_cannot_hold_stands_as_a_load_and_is_said():
    net = everything()
    changed, values = released(net)
    copy, told = net_with_loads(changed, net)
    new = copy.load.set_index("name")
    for key in ("motor 0", "dcline 0 from", "dcline 0 to"):
        assert [new.p_mw[key], new.q_mvar[key]] == pytest.approx(values[key])
        assert any(key.removesuffix(" from").removesuffix(" to") in one for one in told)
    assert not copy.motor.in_service.any()
    assert not copy.dcline.in_service.any()


def test_the_power_flow_of_the_copy_is_that_of_the_released_network():
    net = everything()
    changed, values = released(net)
    copy, _ = net_with_loads(changed, net)
    pandapower.runpp(copy)
    assert copy.converged
    total = sum(p for p, _ in values.values())
    drawn = copy.res_load.p_mw.sum() - copy.res_sgen.p_mw.sum() + copy.res_storage.p_mw.sum()
    drawn += copy.res_asymmetric_load.p_mw.sum() - copy.res_asymmetric_sgen.p_mw.sum()
    drawn += copy.ward.ps_mw.sum() + copy.xward.ps_mw.sum()
    assert drawn == pytest.approx(total)


def test_public_injections_stand_as_they_were_and_are_named():
    net = everything()
    network = network_from_net(net, "net", None, ["sgen", "dcline"])
    copy, told = net_with_loads(network, net)
    assert copy.sgen.p_mw[0] == net.sgen.p_mw[0]
    assert copy.dcline.in_service.all()
    assert any("sgen 0: public" in sentence for sentence in told)


def test_declared_loads_are_new_loads_of_the_net():
    net = feeder([1.5, 2.5])
    network = network_from_net(net, "x", load_buses=[2, 3, 5])
    copy, told = net_with_loads(network.with_loads(np.full(3, 0.07), np.zeros(3)), net)
    assert copy.load.bus.tolist() == [1, 2, 4]
    assert copy.load.p_mw.tolist() == pytest.approx([7.0] * 3)
    assert any("bus 5" in sentence for sentence in told)


def test_another_net_is_refused_by_the_name_of_the_load():
    network = network_from_net(feeder([1.5, 2.5]), "x")
    with pytest.raises(GridveilError, match="load 2: in the net, but not a load of x"):
        net_with_loads(network, feeder([1.5, 2.5, 3.5]))
    with pytest.raises(GridveilError, match="load 1: a load of x, but not in the net"):
        net_with_loads(network, feeder([1.5]))


def test_a_network_becomes_a_net_with_a_load_to_each_of_its_loads():
    network = load_case("case14_ieee")
    net = net_from_network(network)
    assert (net.load.bus + 1).tolist() == network.load_buses
    again = network_from_net(net, "again")
    assert again.loads.values == pytest.approx(network.loads.values, rel=1e-14)
    assert sorted(abs(again.lines.y)) == pytest.approx(sorted(abs(network.lines.y)), rel=1e-6)
    negative = network.with_loads(-network.loads.p, network.loads.q)
    assert (net_from_network(negative).load.p_mw < 0).sum() == (network.loads.p > 0).sum()
    several = network_from_net(everything(), "several")
    assert len(net_from_network(several).load) == len(several.loads)


def test_what_still_stands_in_a_copy_is_said():
    """An attack: columns and tables of the owner hold true loads under names of their own."""
    net = pandapower.networks.create_cigre_network_mv()
    net.load["p_true"] = net.load.p_mw
    net.load["note"] = "it draws 4.3 MW"
    net["my_loads"] = net.load[["p_mw"]].copy()
    _, told = net_with_loads(network_from_net(net, "net"), net)
    assert any("p_true" in sentence and "note" in sentence for sentence in told)
    assert any("my_loads" in sentence for sentence in told)
