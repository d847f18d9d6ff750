"""The sweeps on whole networks: a working network is a fixed point, whatever it contains."""

import numpy as np
import pytest

from gridveil import load_case, solve_acopf
from gridveil.admm.draw import make_draw
from gridveil.admm.initial_state import initial_states
from gridveil.admm.iteration import COLUMNS, advance
from gridveil.admm.layout import ANGLES, VOLTAGES, build_layout
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.admm.state import DELTA, V_FROM, V_TO
from gridveil.admm.sweeps import update_buses
from gridveil.fidelity.agents import consensus
from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO
from gridveil.opf.operating_point import complex_flows
from tests.cases import TINY, bus, gen, line, polynomial

AWKWARD = TINY.with_(
    bus=[bus(1, 3), bus(2, 1, 80.0, 20.0, 3.0, 19.0), bus(7, 2, -15.0, 10.0), bus(9, 3, 20.0, 5.0)],
    gen=[gen(1, 200.0), gen(7, 100.0), gen(7, 50.0), gen(9, 60.0)],
    branch=[
        line(1, 2, rate=150.0, tap=0.97, shift=3.0),
        line(1, 2, x=0.2),
        line(2, 7),
        line(7, 1, b=0.4),
    ],
    gencost=[polynomial(0.02, 10.0, 5.0)] * 4,
)
"""Shunts, parallel lines, a transformer, two generators and a negative load at a bus, an island."""


def limits(network):
    gens = network.generators
    return [((float(a), float(b)),) for a, b in zip(gens.p_min, gens.p_max, strict=True)]


def at_point(network, point):
    """Return the layout and a state in which every copy is what a working network has."""
    layout = build_layout(network, limits(network))
    noisy = np.concatenate([network.loads.p, network.loads.q])
    (state,) = initial_states(layout, [make_draw(noisy)], Policy.FAST, Start.FLAT)
    start, end = network.lines.from_bus, network.lines.to_bus
    flow_from, flow_to = complex_flows(network, point)
    state.x[: len(noisy)] = noisy
    state.x[len(noisy) : layout.first_line] = np.concatenate([point.p, point.q])
    copies = layout.lines(state.x)
    copies[[P_FROM, Q_FROM, P_TO, Q_TO]] = (
        flow_from.real, flow_from.imag, flow_to.real, flow_to.imag
    )  # fmt: skip
    copies[VOLTAGES, :] = point.v[start] ** 2, point.v[end] ** 2
    copies[ANGLES, :] = point.theta[start], point.theta[end]
    state.line_solution[[V_FROM, V_TO, DELTA]] = (
        point.v[start],
        point.v[end],
        point.theta[start] - point.theta[end],
    )
    return layout, noisy, state


@pytest.mark.parametrize(
    "network",
    [
        AWKWARD.network(),
        *map(load_case, ("case14_ieee", "case118_ieee", "case300_ieee", "case500_goc")),
    ],
    ids=lambda network: network.name,
)
def test_a_working_network_is_a_fixed_point(network):
    """With the noisy loads being those of an AC-OPF solution, nobody has a reason to move."""
    point = solve_acopf(network).point
    layout, noisy, state = at_point(network, point)
    wanted = state.x.copy()
    update_buses(layout, state)
    assert state.z == pytest.approx(wanted, abs=1e-6)
    v, theta = consensus(layout, state)
    assert v == pytest.approx(point.v, abs=1e-6)
    assert theta == pytest.approx(point.theta, abs=1e-6)
    history = np.empty((20, COLUMNS))
    advance(layout, make_draw(noisy), state, False, 0.0, False, history)
    assert history[:, :2].max() <= 1e-4  # as far as AC-OPF's own mismatch and limits allow
    assert state.x == pytest.approx(wanted, abs=1e-4)


def test_a_bus_agents_answer_balances_every_bus():
    network = load_case("case118_ieee")
    layout = build_layout(network, limits(network))
    random = np.random.default_rng(4)
    noisy = random.normal(size=2 * len(network.loads))
    (state,) = initial_states(layout, [make_draw(noisy)], Policy.FAST, Start.FLAT)
    state.x[:] = random.normal(size=layout.size)
    state.dual[:] = random.normal(size=layout.size)
    state.rho[:] = np.exp(random.normal(size=layout.size))
    update_buses(layout, state)
    for i in range(len(network.buses)):
        ports = slice(layout.port_start[i], layout.port_start[i + 1])
        ends = slice(layout.end_start[i], layout.end_start[i + 1])
        w = state.z[layout.end_w[ends]]
        assert np.ptp(w) == 0.0
        assert np.ptp(state.z[layout.end_angle[ends]]) == 0.0
        p = layout.port_sign[ports] @ state.z[layout.port_p[ports]]
        q = layout.port_sign[ports] @ state.z[layout.port_q[ports]]
        assert p - network.buses.shunt_g[i] * w[0] == pytest.approx(0.0, abs=1e-9)
        assert q + network.buses.shunt_b[i] * w[0] == pytest.approx(0.0, abs=1e-9)
