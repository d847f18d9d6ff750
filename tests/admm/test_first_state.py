"""What a run begins with."""

import threading

import numpy as np
import pytest

from gridveil import AgentOptions, PolarLaplace, load_case, simulate_loads, solve_acopf
from gridveil.admm.engine import run_agents
from gridveil.admm.first_state import start_states
from gridveil.admm.layout import ANGLES, VOLTAGES, build_layout
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.fidelity.admm import agreed
from gridveil.fidelity.bands import cost_bands
from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO
from gridveil.opf.operating_point import OperatingPoint, complex_flows, violations

LARGE = load_case("case1354_pegase")
COSTS = solve_acopf(LARGE).generator_costs
LAYOUT = build_layout(LARGE, cost_bands(LARGE, COSTS, 0.1))
NOISY = simulate_loads(LARGE, PolarLaplace.of(1, 0.1), 1)
VECTOR = np.concatenate([NOISY.p, NOISY.q])


def begun(start):
    return start_states(LAYOUT, [VECTOR], Policy.FAST, start)[0]


@pytest.mark.parametrize("start", [Start.FLAT, Start.FLOW])
def test_copies_of_lines_fit_their_voltages(start):
    lines, ends = LAYOUT.lines(begun(start).x), (LARGE.lines.from_bus, LARGE.lines.to_bus)
    v, theta = np.ones(len(LARGE.buses)), np.zeros(len(LARGE.buses))
    for bus, w, angle in zip(ends, lines[VOLTAGES, :], lines[ANGLES, :], strict=True):
        v[bus], theta[bus] = np.sqrt(w), angle
    nothing = np.zeros(len(LARGE.generators))
    flow_from, flow_to = complex_flows(LARGE, OperatingPoint(v, theta, nothing, nothing))
    assert lines[P_FROM] + 1j * lines[Q_FROM] == pytest.approx(flow_from)
    assert lines[P_TO] + 1j * lines[Q_TO] == pytest.approx(flow_to)


def test_a_power_flow_begins_much_nearer_to_balance():
    lacking = {}
    for start in (Start.FLAT, Start.FLOW):
        p, q, point = agreed(LAYOUT, begun(start), len(LARGE.loads))
        lacking[start] = violations(LARGE.with_loads(p, q), point).active_balance
    assert lacking[Start.FLOW] < 0.3 * lacking[Start.FLAT]


def test_large_networks_begin_with_a_power_flow_and_small_ones_flat():
    for ours, like in zip(begun(Start.AUTO), begun(Start.FLOW), strict=True):
        assert np.array_equal(ours, like)
    small = load_case("case5_pjm")
    layout = build_layout(small, cost_bands(small, solve_acopf(small).generator_costs, 0.1))
    loads = small.loads.values.T.ravel()
    (flat,), (auto,) = (
        start_states(layout, [loads], Policy.FAST, start) for start in (Start.FLAT, Start.AUTO)
    )
    assert all(np.array_equal(a, b) for a, b in zip(flat, auto, strict=True))


def test_many_draws_begin_as_each_would_alone():
    loads = LARGE.loads.values.T.ravel()
    _, second = start_states(LAYOUT, [loads, VECTOR], Policy.FAST, Start.FLOW)
    assert all(np.array_equal(a, b) for a, b in zip(second, begun(Start.FLOW), strict=True))


def test_large_networks_agree_sooner_on_the_same_loads():
    flat, flow = (
        run_agents(LAYOUT, VECTOR, AgentOptions(start=start), threading.Event())
        for start in ("flat", "flow")
    )
    assert flat.status.solved
    assert flow.status.solved
    assert flow.iterations < 0.7 * flat.iterations
    apart = flow.state.x[: len(VECTOR)] - flat.state.x[: len(VECTOR)]
    assert np.linalg.norm(apart) < 1e-4
