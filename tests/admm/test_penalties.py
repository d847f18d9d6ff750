"""The floor under the penalties: agreement comes first, but late, and only where it is lacking."""

import pytest

from gridveil import Policy, load_case
from gridveil.admm.initial_state import start_states
from gridveil.admm.layout import build_layout
from gridveil.admm.penalties import LOWEST_FLOOR, close_window, decide_for
from gridveil.admm.start import Start
from gridveil.fidelity.bands import limit_bands

NETWORK = load_case("case5_pjm")
LAYOUT = build_layout(NETWORK, limit_bands(NETWORK.generators))
CALM, LOUD = 1e-3, 1e-1
"""Sums of the primal residual over a window, below and above what counts as agreement."""


@pytest.fixture
def state():
    (state,) = start_states(LAYOUT, [NETWORK.loads.values.T.ravel()], Policy.FAST, Start.FLAT)
    return state


def window(state, iteration, residual):
    state.iteration[0], state.residuals[0] = iteration, residual
    close_window.py_func(state)
    return float(state.floor[0])


def test_before_iteration_3500_nothing_happens(state):
    assert window(state, 3490, LOUD) == LOWEST_FLOOR


def test_a_network_that_agrees_never_notices(state):
    assert window(state, 4000, CALM) == LOWEST_FLOOR


def test_the_floor_rises_while_the_network_disagrees_and_sinks_when_it_agrees(state):
    first, second = (window(state, iteration, LOUD) for iteration in (3500, 3510))
    assert first == 0.3
    assert second > first
    for iteration in range(3520, 9000, 10):
        highest = window(state, iteration, LOUD)
    assert highest == 30.0
    assert window(state, 9000, CALM) < highest
    for iteration in range(9010, 12000, 10):
        lowest = window(state, iteration, CALM)
    assert lowest == LOWEST_FLOOR


def test_no_penalty_stays_below_the_floor(state):
    window(state, 3500, LOUD)
    group = 5
    state.raised[group] = 0.1
    state.ways[0, group], state.ways[1, group] = 1.0, 100.0  # balance would let it fall
    factors = [decide_for.py_func(state, group, 1.0, False, True) for _ in range(10)]
    assert factors[0] == pytest.approx(1.3)  # a step at a time
    assert state.raised[group] == pytest.approx(0.3)
    assert factors[-1] == 1.0
