"""from_pandapower and to_pandapower: warnings, and costs held against pandapower's own OPF."""

import warnings

import pytest

from gridveil import from_pandapower, load_case, solve_acopf, to_pandapower
from gridveil.opf.pandapower import ConversionWarning

pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")

from tests.network.formats.pandapower_nets import everything  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def converted(net, **chosen):
    """Return the network, and what was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConversionWarning)
        network = from_pandapower(net, **chosen)
    assert all(w.filename == __file__ for w in told if w.category is ConversionWarning)
    return network, [str(w.message) for w in told if w.category is ConversionWarning]


@pytest.mark.parametrize("name", ["case14", "GBreducednetwork"])
def test_pandapowers_own_networks_cost_the_same(name):
    import pandapower.networks

    net = getattr(pandapower.networks, name)()
    network, told = converted(net)
    assert not any("$/h" in text for text in told)
    assert len(network.buses) == len(net.bus)
    assert network.loads.p.sum() * network.base_mva == pytest.approx(net.load.p_mw.sum())
    assert solve_acopf(network).status.solved


def test_where_limits_mean_something_else_the_network_costs_less_and_it_is_told():
    """pandapower limits the current of a line; no operating point of its own may get lost."""
    import pandapower.networks

    net = pandapower.networks.case6ww()
    network, told = converted(net)
    pandapower.runopp(net, calculate_voltage_angles=True, init="pf")
    ours = solve_acopf(network).cost
    assert ours < net.res_cost
    assert any(f"{ours:,.2f} $/h here and" in text for text in told)
    assert any("limits of currents count as" in text for text in told)


def test_a_net_without_costs_is_read_and_what_was_changed_is_said():
    network, told = converted(everything(), public_injections=["storage"])
    assert told == ["; ".join(network.conversion_notes)]
    assert "public fixed injections" in told[0]


def test_a_network_goes_to_pandapower_and_back():
    network = load_case("case14_ieee")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConversionWarning)
        again = from_pandapower(to_pandapower(network))
    assert again.loads.values == pytest.approx(network.loads.values)


def test_a_difference_of_costs_is_told():
    """Angle limits of this case bind, and pandapower has none."""
    with pytest.warns(ConversionWarning, match=r"\$/h here and"):
        to_pandapower(load_case("case14_ieee__sad"))


def test_loads_go_into_the_net_they_came_from():
    net = everything()
    network, _ = converted(net)
    with pytest.warns(ConversionWarning, match="motor 0: out of service; loads of these names"):
        copy = to_pandapower(network, into=net)
    assert copy.load.p_mw[0] == pytest.approx(net.load.p_mw[0])
    assert copy is not net
