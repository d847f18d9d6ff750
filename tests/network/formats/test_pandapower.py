"""Networks from pandapower and back, costs compared with its own OPF."""

import sys
import warnings

import pytest

from gridveil import from_pandapower, load_case, save_case, solve_acopf, to_pandapower
from gridveil.errors import GridveilError
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
