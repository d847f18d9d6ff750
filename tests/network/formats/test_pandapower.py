"""Networks from pandapower and back, costs compared with its own OPF."""

import sys
import warnings

import pytest

from gridveil import from_pandapower, load_case, save_case, solve_acopf, to_pandapower
from gridveil.errors import GridveilError
from gridveil.network.formats.pandapower import network_from_net
from gridveil.opf.pandapower import ConversionWarning

pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")


def converted(net):
    """Return the network, and what was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConversionWarning)
        network = from_pandapower(net)
    return network, [str(w.message) for w in told if w.category is ConversionWarning]


@pytest.mark.parametrize("name", ["case9", "case14"])
def test_pandapowers_own_networks_cost_the_same(name):
    import pandapower.networks

    net = getattr(pandapower.networks, name)()
    network, told = converted(net)
    assert told == []
    assert len(network.buses) == len(net.bus)
    assert network.loads.p.sum() * network.base_mva == pytest.approx(net.load.p_mw.sum())
    assert solve_acopf(network).status.solved


@pytest.mark.parametrize("name", ["case5", "case30"])
def test_where_limits_mean_something_else_the_difference_is_told(name):
    """pandapower limits the current of a line, case files its apparent power."""
    import pandapower.networks

    network, told = converted(getattr(pandapower.networks, name)())
    assert len(told) == 1
    assert f"{solve_acopf(network).cost:,.2f} $/h here and" in told[0]


@pytest.mark.parametrize("name", ["case14_ieee", "case30_ieee"])
def test_a_network_goes_to_pandapower_and_back(name):
    network = load_case(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)
        net = to_pandapower(network)
        again = from_pandapower(net)
    assert len(again.buses) == len(network.buses)
    assert len(again.lines) == len(network.lines)
    assert again.loads.values == pytest.approx(network.loads.values)
    one, two = (sorted(abs(n.lines.y)) for n in (network, again))  # transformers come last there
    assert two == pytest.approx(one, rel=1e-6)


def test_a_difference_is_told():
    """Angle limits of this case bind, and pandapower has none."""
    with pytest.warns(ConversionWarning, match=r"\$/h here and"):
        to_pandapower(load_case("case14_ieee__sad"))


def test_what_cannot_be_carried_over_is_refused():
    import pandapower.networks

    net = pandapower.networks.case9()
    pandapower.create_storage(net, 0, p_mw=1.0, max_e_mwh=5.0)
    with pytest.raises(GridveilError, match="'storage'"):
        from_pandapower(net)
    net = pandapower.networks.case9()
    pandapower.create_sgen(net, 3, p_mw=1.0)
    with pytest.raises(GridveilError, match="'sgen'"):
        from_pandapower(net)
    net = pandapower.networks.case9()
    net.poly_cost = net.poly_cost.iloc[:0]
    with pytest.raises(GridveilError, match="no costs"):
        from_pandapower(net)


def feeder(p, q=0.0, buses=6):
    """Return a net of a feeder whose buses 1, 2, … have these loads."""
    net = pandapower.create_empty_network(sn_mva=100)
    at = pandapower.create_buses(net, buses, 110.0, min_vm_pu=0.9, max_vm_pu=1.1)
    pandapower.create_lines_from_parameters(
        net, at[:-1], at[1:], 1.0, 0.01, 0.1, 1.0, 1000.0, max_loading_percent=100
    )
    pandapower.create_ext_grid(net, 0, min_p_mw=-1e6, max_p_mw=1e6, min_q_mvar=-1e6, max_q_mvar=1e6)
    pandapower.create_poly_cost(net, 0, "ext_grid", 1.0)
    for bus, load in enumerate(p, 1):
        pandapower.create_load(net, bus, load, q)
    return net


def test_one_load_changes_no_other_by_a_single_bit():
    """pandapower sums loads as differences of running totals."""
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
        net.load["p_mw"] = [load, 94.2]
        with pytest.raises(GridveilError) as failure:
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
    before = net.load.copy()
    network = network_from_net(net, "x")
    of = {load.key: p for load, p in zip(network.load_identities, network.loads.p, strict=True)}
    loads = {"load 0": 1.5, "load 1": 2.5, "load 2": 4.5, "load 5": 65.0, "load 3": 8.5}
    assert {key: p * 100 for key, p in of.items()} == pytest.approx(loads, rel=1e-15)
    assert network.loads.number.tolist() == [1, 2, 1, 2, 1]
    idle = network.idle_loads
    assert {load.key for load in idle.identities} == {"load 4", "load 6", "load 7"}
    assert sorted(idle.p * 100) == pytest.approx([16.5, 64.5, 128.5])
    assert net.load.equals(before)


def test_a_net_is_left_as_it_was_where_it_cannot_be_converted():
    net = feeder([1.5, 2.5])
    net.line["length_km"] = "long"
    before = net.load
    with pytest.raises(GridveilError, match="could not convert"):
        network_from_net(net, "x")
    assert net.load is before


def test_a_json_file_is_read_and_saved(tmp_path):
    network = load_case("case14_ieee")
    save_case(network, tmp_path / "case.json")
    net = pandapower.from_json(str(tmp_path / "case.json"))
    assert (len(net.bus), len(net.load)) == (14, len(network.loads))
    again = load_case(tmp_path / "case.json")
    assert again.name == network.name
    assert again.loads.values == pytest.approx(network.loads.values)
    in_memory, _ = converted(net)
    assert solve_acopf(again).cost == pytest.approx(solve_acopf(in_memory).cost, rel=1e-9)
    declared = load_case(str(tmp_path / "case.json"), load_buses=range(1, 15))
    assert len(declared.loads) == 14


def test_a_json_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "case.json"
    path.write_text('{"bus": [1, 2, 3]}')
    with pytest.raises(GridveilError, match=r"case\.json: this is not a network saved by pandapow"):
        load_case(path)
    path.write_text('{"_module": "pandapower.auxiliary", "_class": "pandapowerNet", "_obj"')
    with pytest.raises(GridveilError, match=r"case\.json: pandapower cannot read this file"):
        load_case(path)


def test_a_missing_extra_is_told_with_the_command(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandapower", None)
    path = tmp_path / "case.json"
    path.write_text('{"_class": "pandapowerNet"}')
    with pytest.raises(GridveilError, match=r"pip install 'gridveil\[pandapower\]'"):
        load_case(path)
    with pytest.raises(GridveilError, match=r"pip install 'gridveil\[pandapower\]'"):
        save_case(load_case("case3_lmbd"), tmp_path / "new.json")
    assert not (tmp_path / "new.json").exists()
