"""pandapower nets as networks, held against pandapower's own power flow."""

import sys

import numpy as np
import pytest

from gridveil import CaseError, GridveilError
from gridveil.network.formats.pandapower_reader import network_from_net

pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")

from benchmarks.pandapower_networks import nets, solved, voltage_difference  # noqa: E402
from tests.network.formats.pandapower_nets import everything, feeder  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
FEW = (
    "case118", "GBreducednetwork", "cigre_network_hv", "mv_oberrhein", "example_multivoltage",
    "simple_mv_open_ring_net", "1-HV-mixed--0-sw",
)  # fmt: skip
"""Of benchmarks/pandapower_networks.py, which has all."""


@pytest.mark.parametrize("name", FEW)
def test_pandapowers_power_flow_is_ours(name):
    if name.startswith("1-"):
        pytest.importorskip("simbench", reason="simbench has the SimBench nets")
    net = nets()[name]()
    network = network_from_net(solved(net), name)
    difference, mismatch = voltage_difference(net, network)
    assert difference < 1e-6
    assert mismatch < 1e-6
    assert len(network.loads) + len(network.idle_loads) >= len(net.load)


@pytest.mark.parametrize("public", [(), ("sgen", "storage", "ward", "dcline")])
def test_every_kind_of_element_has_its_place_in_the_equations(public):
    net = solved(everything())
    network = network_from_net(net, "everything", None, public)
    difference, mismatch = voltage_difference(net, network)
    assert difference < 1e-9
    assert mismatch < 1e-7


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("trafo", "tap_pos", 4), ("line", "g_us_per_km", 3.0), ("xward", "vm_pu", 1.03),
        ("dcline", "p_mw", -4.0), ("switch", "closed", True),
    ],
)  # fmt: skip
def test_a_change_of_any_kind_of_element_is_noticed(table, column, value):
    """The comparison above can fail: pandapower's results of a changed net do not fit the first."""
    first = network_from_net(everything(), "first")
    net = everything()
    net[table][column] = value
    changed = network_from_net(net, "changed")
    difference, _ = voltage_difference(solved(net), changed)
    assert difference < 1e-9
    if len(first.buses) == len(changed.buses):
        assert max(voltage_difference(net, first)) > 1e-6


def test_loads_keep_their_identity():
    net = everything()
    network = network_from_net(net, "everything")
    of = dict(zip((one.key for one in network.load_identities), network.loads.p, strict=True))
    assert {"load 1", "load 2", "sgen 0", "storage 0", "motor 0", "ward 0", "xward 0"} < set(of)
    assert {"asymmetric_load 0", "asymmetric_sgen 0", "dcline 0 from", "dcline 0 to"} < set(of)
    assert of["load 1"] * 10 == pytest.approx(2.7)
    assert of["sgen 0"] * 10 == pytest.approx(-1.4)
    assert of["asymmetric_load 0"] * 10 == pytest.approx(0.6)
    assert of["dcline 0 from"] * 10 == 5.0
    assert of["dcline 0 to"] * 10 == pytest.approx(-(5.0 * 0.985 - 0.1))
    at = dict(zip((one.key for one in network.load_identities), network.load_buses, strict=True))
    assert at["load 1"] == at["load 2"] == net.load.bus[1] + 1
    ratings = {one.key: one.rating_mva for one in network.load_identities}
    assert (ratings["load 0"], ratings["sgen 0"], ratings["motor 0"]) == (9.0, 3.0, 0.0)
    (idle,) = network.idle_loads.identities
    assert (idle.key, idle.name) == ("load 5", "the mill")


def test_public_injections_are_generators_that_cannot_move():
    network = network_from_net(everything(), "x", None, ["sgen", "dcline"])
    keys = {one.key for one in network.load_identities}
    assert not any(key.startswith(("sgen", "asymmetric_sgen", "dcline")) for key in keys)
    assert {"storage 0", "ward 0", "asymmetric_load 0"} <= keys
    gens = network.generators
    fixed = np.flatnonzero(gens.p_min == gens.p_max)
    assert sorted(gens.p_min[fixed] * 10) == pytest.approx(
        sorted([1.4, 0.6, -5.0, 4.825, 0.0, 0.0, 0.0])  # the last: voltages of dcline and xward
    )
    assert np.all(gens.costs(gens.p_min) == 0)
    with pytest.raises(GridveilError, match="'motor' is none of sgen, storage, ward, dcline"):
        network_from_net(everything(), "x", None, ["motor"])


def test_notes_say_what_was_changed_and_show_no_load():
    notes = network_from_net(everything(), "x").conversion_notes
    for part in (
        "iron losses", "three-winding", "closed switches join", "without voltage limits",
        "net.sgen", "net.storage", "net.ward", "sum of their phases",
        "the flow of DC lines is fixed", "no costs",
        "constant impedances of net.ward stand as shunts, which are public",
    ):  # fmt: skip
        assert any(part in note for note in notes), part
    assert not any("7.5" in note or "2.7" in note for note in notes)


def test_missing_limits_come_from_ratings_or_are_asked_for_by_name():
    net = everything()
    network = network_from_net(net, "x")
    gens = network.generators
    grid, gen = 0, 1
    assert gens.p_max[gen] * 10 == 30.0
    assert (gens.p_min[gen], gens.q_min[gen] * 10) == (0.0, -30.0)
    lines = 3 * 0.5 * np.sqrt(3) * 110.0  # two in parallel and one leave the external grid
    assert gens.p_max[grid] * 10 == pytest.approx(lines)
    assert gens.p_min[grid] * 10 == pytest.approx(-lines)
    net.gen["sn_mva"] = np.nan
    pandapower.create_load(net, net.gen.bus[0], 1.0)
    with pytest.raises(GridveilError, match=r"gen 0: fill min_p_mw, max_p_mw, .* of net\.gen, or"):
        network_from_net(net, "x")
    net.gen[["min_p_mw", "max_p_mw", "min_q_mvar", "max_q_mvar"]] = 1.0, 20.0, -5.0, 6.0
    gens = network_from_net(net, "x").generators
    assert gens.p_max[gen] * 10 == 20.0
    assert gens.q_max[gen] * 10 == 6.0


def test_controllable_elements_with_costs_are_generators():
    net = feeder([5.0, 6.0, 7.0])
    limits = {"max_p_mw": 4.0, "min_p_mw": 1.0, "max_q_mvar": 0.5, "min_q_mvar": -0.5}
    pandapower.create_sgen(net, 1, 2.0, controllable=True, **limits)
    pandapower.create_storage(net, 2, 1.0, 5.0, controllable=True, **limits)
    pandapower.create_load(net, 3, 2.0, controllable=True, **limits)
    pandapower.create_poly_cost(net, 0, "sgen", 3.0)
    pandapower.create_poly_cost(net, 3, "load", -2.0, cp2_eur_per_mw2=0.1)
    pandapower.create_pwl_cost(net, 0, "storage", [[0.0, 2.0, -4.0], [2.0, 4.0, -3.0]])
    network = network_from_net(net, "x")
    assert [one.key for one in network.load_identities] == ["load 0", "load 1", "load 2"]
    gens = network.generators
    assert (gens.p_min[1:] * 100).tolist() == pytest.approx([1.0, -4.0, -4.0])
    assert (gens.p_max[1:] * 100).tolist() == pytest.approx([4.0, -1.0, -1.0])
    drawn = np.array([0.0, 0.03, -0.03, -0.03])  # 3 MW each: fed in, or drawn
    assert gens.costs(drawn)[1:].tolist() == pytest.approx([9.0, -2 * 3 + 0.1 * 9, -8.0 - 3.0])
    assert any("load 3 is controllable" in note for note in network.conversion_notes)


def test_voltages_that_pandapower_holds_are_held():
    net = everything()
    net.bus[["min_vm_pu", "max_vm_pu"]] = 0.95, 1.05
    buses = network_from_net(net, "x").buses
    at = {int(number): i for i, number in enumerate(buses.number)}
    grid, gen = at[net.ext_grid.bus[0] + 1], at[net.gen.bus[0] + 1]
    assert buses.v_min[grid] == buses.v_max[grid] == 1.02
    assert (buses.v_min[gen], buses.v_max[gen]) == (0.95, 1.05)
    net.gen["controllable"], net.ext_grid["controllable"] = False, True
    network = network_from_net(net, "x")
    assert network.buses.v_min[gen] == network.buses.v_max[gen] == 1.01
    assert network.generators.p_min[1] == network.generators.p_max[1] == 1.5
    assert (network.buses.v_min[grid], network.buses.v_max[grid]) == (0.95, 1.05)


def test_one_load_changes_no_other_by_a_single_bit():
    p = [0.1, 94.205, 47.805, 7.615, 11.205]
    one = network_from_net(feeder(p, 0.3), "x").loads
    two = network_from_net(feeder([1e15 / 3, *p[1:]], 0.3), "x").loads
    assert one.p[1:].tolist() == two.p[1:].tolist() == [load / 100 for load in p[1:]]
    assert one.q.tolist() == two.q.tolist()


def test_loads_up_to_the_largest_number_are_read_and_summed():
    net = feeder([1e308, 94.2])
    pandapower.create_load(net, 1, 1e308)
    pandapower.create_load(net, 2, -1e308, scaling=10.0)
    network = network_from_net(net, "x")
    one, two = 1e308, sys.float_info.max
    assert (network.loads.p * 100).tolist() == [one, one, 94.2, -two]
    table = network.case.tables["bus"].column("Pd")
    assert table[1:3].tolist() == [two, -two]


def test_loads_that_are_no_numbers_are_refused_and_not_shown():
    for load in (float("inf"), float("nan"), "94.2 MW"):
        net = feeder([7.0, 8.0])
        net.load["p_mw"] = net.load.p_mw.astype(object)
        net.load["p_mw"] = [load, 94.2]
        with pytest.raises(CaseError, match="load 0: p_mw is missing or not a finite") as failure:
            network_from_net(net, "x")
        assert "94" not in str(failure.value)


def test_switches_services_and_islands_decide_which_loads_count():
    net = feeder([1.5, 2.5, 4.5, 8.5, 16.5], buses=8)
    pandapower.create_switch(net, 1, 2, et="b")  # buses 1 and 2 are one
    net.line.loc[1, "in_service"] = False
    pandapower.create_load(net, 3, 32.5, scaling=2.0)
    pandapower.create_load(net, 4, 64.5, in_service=False)
    pandapower.create_load(net, 7, 128.5)
    net.line.loc[6, "in_service"] = False  # bus 7 is cut off
    net.bus.loc[5, "in_service"] = False  # and so are 5 and 6
    before = {name: net[name].copy() for name in ("load", "bus", "line", "switch")}
    network = network_from_net(net, "x")
    of = {load.key: p for load, p in zip(network.load_identities, network.loads.p, strict=True)}
    loads = {"load 0": 1.5, "load 1": 2.5, "load 2": 4.5, "load 5": 65.0, "load 3": 8.5}
    assert {key: p * 100 for key, p in of.items()} == pytest.approx(loads, rel=1e-15)
    assert network.loads.number.tolist() == [1, 2, 1, 2, 1]
    assert network.load_buses == [2, 2, 4, 4, 5]
    idle = network.idle_loads
    assert {load.key for load in idle.identities} == {"load 4", "load 6", "load 7"}
    assert sorted(idle.p * 100) == pytest.approx([16.5, 64.5, 128.5])
    assert all(net[name].equals(table) for name, table in before.items())
    assert "_ppc" not in net or net._ppc is None


def broken(change):
    net = everything()
    change(net)
    return net


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda net: net.load.drop(columns="p_mw", inplace=True), "net.load has no column 'p_mw'"),
        (lambda net: net.load.__setitem__("bus", 99), "load 0: bus 99 is not in net.bus"),
        (lambda net: net.line.__setitem__("length_km", "long"), "line 0: length_km is missing or"),
        (lambda net: net.trafo.__setitem__("vk_percent", np.nan), "trafo 0: vk_percent is missing"),
        (lambda net: net.ext_grid.__setitem__("in_service", False), "nothing feeds the net"),
        (lambda net: net.pop("line"), "net.line is not a table"),
        (
            lambda net: net.impedance.__setitem__("xtf_pu", 0.2),
            "impedance 0: its impedance differs",
        ),
        (
            lambda net: net.load.__setitem__("const_z_p_percent", [0, 50.0, 0, 0, 0, 0]),
            "load 1 depends on the voltage",
        ),
        (
            lambda net: pandapower.create_svc(net, 4, 1.0, -10.0, 1.0, 90.0),
            "svc 0: elements of kind 'svc'",
        ),
        (
            lambda net: pandapower.create_poly_cost(net, 0, "gen", 1.0, cq1_eur_per_mvar=2.0),
            "gen 0 has a cost of reactive power",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(change, message):
    with pytest.raises(GridveilError) as failure:
        network_from_net(broken(change), "x")
    assert message in str(failure.value)
    assert not any(secret in str(failure.value) for secret in ("7.5", "2.7", "5.4"))


def test_a_net_is_left_as_it_was_where_it_cannot_be_converted():
    net = feeder([1.5, 2.5])
    net.trafo["x"] = 1.0
    net.line["c_nf_per_km"] = 1e-300
    net.line["r_ohm_per_km"] = net.line["x_ohm_per_km"] = 0.0
    before = net.load
    with pytest.raises(GridveilError):
        network_from_net(net, "x")
    assert net.load is before


def test_declared_load_buses_are_those_of_the_net_plus_one():
    network = network_from_net(feeder([1.5, 2.5]), "x", load_buses=[2, 3, 5])
    assert network.load_buses == [2, 3, 5]
    assert [one.key for one in network.load_identities] == ["load 0", "load 1", "bus 5"]
