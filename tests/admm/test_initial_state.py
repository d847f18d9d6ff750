"""The initial state of a run."""

import threading
from dataclasses import dataclass

import numpy as np
import pytest

from gridveil import AgentOptions, PolarLaplace, load_case, simulate_loads, solve_acopf
from gridveil.admm.draw import Draw, make_draw
from gridveil.admm.engine import run_agents
from gridveil.admm.initial_state import initial_states
from gridveil.admm.layout import ANGLES, VOLTAGES, Layout, build_layout
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.fidelity.agents import agreed_point
from gridveil.fidelity.bands import cost_bands
from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint, complex_flows, violations
from tests.cases import TINY


@dataclass(frozen=True)
class Problem:
    network: Network
    layout: Layout
    draw: Draw

    def initial_state(self, start):
        return initial_states(self.layout, [self.draw], Policy.FAST, start)[0]


def problem(name):
    network = load_case(name)
    costs = solve_acopf(network).generator_costs
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    layout = build_layout(network, [band.intervals for band in cost_bands(network, costs, 0.1)])
    return Problem(network, layout, make_draw(np.concatenate([noisy.p, noisy.q])))


@pytest.fixture(scope="module")
def large():
    return problem("case1354_pegase")


@pytest.mark.parametrize("start", [Start.FLAT, Start.FLOW])
def test_copies_of_lines_fit_their_voltages(large, start):
    network, lines = large.network, large.layout.lines(large.initial_state(start).x)
    ends = (network.lines.from_bus, network.lines.to_bus)
    v, theta = np.ones(len(network.buses)), np.zeros(len(network.buses))
    for bus, w, angle in zip(ends, lines[VOLTAGES, :], lines[ANGLES, :], strict=True):
        v[bus], theta[bus] = np.sqrt(w), angle
    nothing = np.zeros(len(network.generators))
    flow_from, flow_to = complex_flows(network, OperatingPoint(v, theta, nothing, nothing))
    assert lines[P_FROM] + 1j * lines[Q_FROM] == pytest.approx(flow_from, abs=1e-10)
    assert lines[P_TO] + 1j * lines[Q_TO] == pytest.approx(flow_to, abs=1e-10)


def test_a_power_flow_starts_much_nearer_to_balance(large):
    lacking = {}
    for start in (Start.FLAT, Start.FLOW):
        p, q, point = agreed_point(
            large.layout, large.initial_state(start), len(large.network.loads)
        )
        lacking[start] = violations(large.network.with_loads(p, q), point).active_balance
    assert lacking[Start.FLOW] < 0.3 * lacking[Start.FLAT]


def test_large_networks_start_from_a_power_flow_and_small_ones_flat(large):
    for of, like in ((large, Start.FLOW), (problem("case5_pjm"), Start.FLAT)):
        pairs = zip(of.initial_state(Start.AUTO), of.initial_state(like), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)


def test_many_draws_start_as_each_would_alone(large):
    draws = [make_draw(large.network.loads.values.T.ravel()), large.draw]
    _, second = initial_states(large.layout, draws, Policy.FAST, Start.FLOW)
    alone = large.initial_state(Start.FLOW)
    assert all(np.array_equal(a, b) for a, b in zip(second, alone, strict=True))


def test_large_networks_agree_sooner_on_the_same_loads(large):
    flat, flow = (
        run_agents(large.layout, large.draw, AgentOptions(start=start), threading.Event())
        for start in ("flat", "flow")
    )
    assert flat.status.solved
    assert flow.status.solved
    assert flow.iterations < 0.7 * flat.iterations
    loads = slice(0, len(large.draw.noisy))
    assert np.linalg.norm(flow.state.x[loads] - flat.state.x[loads]) < 1e-4


def shifted():
    """A small network whose one transformer shifts by 150° and whose lines have no angle limits."""
    case = TINY.with_(branch=[[*row[:11], 0.0, 0.0] for row in TINY.branch[:2]])
    network = case.with_cell("branch", 0, 9, 150.0).network()
    costs = solve_acopf(network).generator_costs
    layout = build_layout(network, [band.intervals for band in cost_bands(network, costs, 0.1)])
    return Problem(network, layout, make_draw(network.loads.values.T.ravel()))


def test_networks_with_phase_shifts_start_from_a_power_flow_around_them():
    problem = shifted()
    lines = problem.layout.lines(problem.initial_state(Start.AUTO).x)
    delta = np.degrees(lines[ANGLES[0]] - lines[ANGLES[1]])
    assert delta == pytest.approx([150.0, 0.0], abs=10.0)
    assert abs(delta[0] - 150.0) > 0.1
    assert np.abs(lines[P_FROM]).max() < 2 * problem.network.loads.p.sum()


def test_agents_agree_across_a_phase_shift():
    problem = shifted()
    run = run_agents(problem.layout, problem.draw, AgentOptions(), threading.Event())
    assert run.status.solved
    p, _, point = agreed_point(problem.layout, run.state, 2)
    assert p == pytest.approx(problem.network.loads.p, abs=1e-4)
    assert violations(problem.network, point).largest < 1e-3
