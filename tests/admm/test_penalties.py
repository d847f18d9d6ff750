"""The floor under the penalties: agreement comes first, but late, and only where it is lacking."""

import pytest

from gridveil import Policy, load_case
from gridveil.admm.draw import make_draw
from gridveil.admm.initial_state import initial_states
from gridveil.admm.layout import build_layout
from gridveil.admm.penalties import LOWEST_FLOOR, choose_factor, close_window
from gridveil.admm.start import Start
from gridveil.fidelity.bands import limit_bands

NETWORK = load_case("case5_pjm")
LAYOUT = build_layout(NETWORK, [band.intervals for band in limit_bands(NETWORK.generators)])
AGREED, DISAGREED = 1e-3, 1e-1
"""Sums of the primal residual over a window, below and above what counts as agreement."""


@pytest.fixture
def state():
    (state,) = initial_states(
        LAYOUT, [make_draw(NETWORK.loads.values.T.ravel())], Policy.FAST, Start.FLAT
    )
    return state


def window(state, iteration, residual):
    state.iteration[0], state.window_primal[0] = iteration, residual
    close_window.py_func(state)
    return float(state.penalty_floor[0])


def test_before_iteration_3500_the_floor_stays_lowest(state):
    assert window(state, 3490, DISAGREED) == LOWEST_FLOOR


def test_a_network_that_agrees_is_not_affected(state):
    assert window(state, 4000, AGREED) == LOWEST_FLOOR


def test_the_floor_rises_while_the_network_disagrees_and_sinks_when_it_agrees(state):
    first, second = (window(state, iteration, DISAGREED) for iteration in (3500, 3510))
    assert first == 0.3
    assert second > first
    for iteration in range(3520, 9000, 10):
        highest = window(state, iteration, DISAGREED)
    assert highest == 30.0
    assert window(state, 9000, AGREED) < highest
    for iteration in range(9010, 12000, 10):
        lowest = window(state, iteration, AGREED)
    assert lowest == LOWEST_FLOOR


def test_no_penalty_stays_below_the_floor(state):
    window(state, 3500, DISAGREED)
    group = 5
    state.relative_penalty[group] = 0.1
    state.window_gap[group], state.window_step[group] = 1.0, 100.0  # balance would let it fall
    factors = [choose_factor.py_func(state, group, 1.0, False, True) for _ in range(10)]
    assert factors[0] == pytest.approx(1.3)  # a step at a time
    assert state.relative_penalty[group] == pytest.approx(0.3)
    assert factors[-1] == 1.0
