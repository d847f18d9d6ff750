"""The power flow that large networks start from, against pandapower's and against bare limits."""

import numpy as np
import pytest

from gridveil import PolarLaplace, load_case, simulate_loads, to_pandapower
from gridveil.admm.dc_flow import dc_flows
from gridveil.admm.initial_state import flat_state
from gridveil.admm.layout import build_layout
from gridveil.admm.policy import Policy
from gridveil.fidelity.bands import limit_bands
from tests.admm.test_sweeps import AWKWARD
from tests.cases import TINY, bus, gen, line

LOSSLESS = TINY.with_(
    branch=[line(1, 2, r=0.0, b=0.0), line(2, 7, r=0.0, x=0.3, b=0.0), line(1, 7, r=0.0, b=0.0)]
)


def solved(network, loads=None):
    values = network.loads.values if loads is None else loads
    layout = build_layout(network, [band.intervals for band in limit_bands(network.generators)])
    return dc_flows(layout, [flat_state(layout, values.T.ravel(), Policy.FAST).x])[0]


def test_angles_are_pandapowers():
    pandapower = pytest.importorskip("pandapower", reason="pandapower is an extra")
    network = LOSSLESS.network()
    outputs, angles = solved(network)
    net = to_pandapower(network)
    net.gen["p_mw"] = outputs[1] * network.base_mva
    pandapower.rundcpp(net)
    assert np.degrees(angles) == pytest.approx(net.res_bus.va_degree.to_numpy(), abs=1e-9)
    assert net.res_ext_grid.p_mw.sum() == pytest.approx(outputs[0] * network.base_mva)


@pytest.mark.parametrize("name", ["case39_epri", "case118_ieee", "case1354_pegase"])
def test_outputs_cover_what_is_drawn_each_within_its_limits(name):
    network = load_case(name)
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    outputs, angles = solved(network, np.stack([noisy.p, noisy.q], axis=1))
    gens = network.generators
    assert (outputs >= gens.p_min).all()
    assert (outputs <= gens.p_max).all()
    flat = network.lines.y_ff.real + network.lines.y_ft.real  # losses of a network without angles
    flat = flat + network.lines.y_tt.real + network.lines.y_tf.real
    drawn = noisy.p.sum() + network.buses.shunt_g.sum() + flat.sum()
    assert outputs.sum() == pytest.approx(drawn, rel=1e-9)
    assert (angles[network.buses.reference] == 0).all()
    assert 0.1 < np.ptp(angles) < np.pi


def test_loads_beyond_all_limits_leave_generators_at_theirs():
    network = TINY.network()
    outputs, _ = solved(network, 100 * network.loads.values)
    assert outputs == pytest.approx(network.generators.p_max)


def test_generators_without_limits_stay_where_they_were():
    network = TINY.network()
    layout = build_layout(network, [[(-np.inf, np.inf)], [(0.0, 1.0)]])
    flat = flat_state(layout, network.loads.values.T.ravel(), Policy.FAST)
    ((outputs, angles),) = dc_flows(layout, [flat.x])
    assert outputs[0] == 0.0
    assert np.isfinite(angles).all()


@pytest.mark.parametrize(
    "case",
    [
        AWKWARD,
        TINY.with_(branch=[line(1, 2, r=0.1, x=0.0), line(1, 7)]),
        TINY.with_(bus=[bus(1, 3, 20.0)], gen=[gen(1, 90.0)], branch=[], gencost=TINY.gencost[:1]),
    ],
    ids=["islands", "resistances", "no lines"],
)
def test_where_there_is_nothing_to_solve_angles_are_zero_or_at_least_numbers(case):
    outputs, angles = solved(case.network())
    assert np.isfinite(outputs).all()
    assert np.isfinite(angles).all()
    if case is not AWKWARD:
        assert (angles == 0).all()
