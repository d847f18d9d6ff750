"""The initial state of a run and its first penalties, from noisy loads and public data alone."""

from collections.abc import Sequence

import numpy as np

from gridveil.admm.dc_flow import dc_flows, shift_angles
from gridveil.admm.draw import Draw
from gridveil.admm.layout import ANGLES, FLOWS, VOLTAGES, Layout
from gridveil.admm.penalties import LOWEST_FLOOR, PAPER_LOWEST
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start, starts_flat
from gridveil.admm.state import DELTA, LINE_VARIABLES, V_FROM, V_TO, State
from gridveil.admm.sweeps import update_buses
from gridveil.arrays import FloatArray

_FAST_POWER = 0.5
"""First penalty of every power, a quarter of the curvature of the loads' objective."""
_FAST_VOLTAGE = 1.5
"""First penalty of every voltage, relative to the line's |y|, which turns voltages into flows."""
PAPER_START = PAPER_LOWEST
"""The one penalty of the paper's rule starts at its lower bound."""
_OWN = (V_FROM, V_TO, DELTA)
"""Rows of a line's solution that are voltages."""


def first_penalties(layout: Layout, policy: Policy) -> FloatArray:
    """Return the first penalty of every copy."""
    if policy is Policy.PAPER:
        return np.full(layout.size, PAPER_START)
    rho = np.full(layout.size, _FAST_POWER)
    admittance = np.hypot(layout.cosine[0], layout.sine[0])
    layout.lines(rho)[VOLTAGES + ANGLES, :] = _FAST_VOLTAGE * admittance
    return rho


def initial_states(
    layout: Layout, draws: Sequence[Draw], policy: Policy, start: Start
) -> list[State]:
    """Return the initial states of several draws, after a first sweep of the buses."""
    states = [flat_state(layout, draw.noisy, policy) for draw in draws]
    shifts = shift_angles(layout)
    if not starts_flat(start, len(layout.rate), bool(shifts.any())):
        ends = layout.line_ends()
        for state in states:
            _set_lines(layout, state.x, state.line_solution, shifts[ends])
        flows = dc_flows(layout, [state.x for state in states])
        for state, (outputs, angles) in zip(states, flows, strict=True):
            state.x[layout.first_generator :][: layout.generators] = outputs
            _set_lines(layout, state.x, state.line_solution, (shifts + angles)[ends])
            state.z[:] = state.x
    for state in states:
        update_buses(layout, state)
        state.window_z[:] = state.z
    return states


def carried_state(layout: Layout, before: State, policy: Policy) -> State:
    """Return the state in which agents start from the end of a run for other loads.

    Copies and multipliers are carried on; penalties start anew, as those that grew while the other
    run converged are too stiff.
    """
    rho = first_penalties(layout, policy)
    state = initial_state(before.x.copy(), rho, before.line_solution.copy(), layout.groups)
    state.z[:], state.dual[:] = before.z, before.dual
    state.window_z[:] = before.z
    return state


def flat_state(layout: Layout, noisy: FloatArray, policy: Policy) -> State:
    """Return a flat start: voltages of 1, outputs mid-band, the noisy loads."""
    x = np.zeros(layout.size)
    x[: len(noisy)] = noisy
    gens = x[len(noisy) :][: 2 * layout.generators].reshape(2, layout.generators)
    low, high = layout.band_ends()
    bounded = np.isfinite(low) & np.isfinite(high)
    gens[0] = np.clip(0.0, low, high)
    gens[0, bounded] = (low[bounded] + high[bounded]) / 2
    gens[1] = np.clip(0.0, layout.q_min, layout.q_max)
    solution = np.zeros((LINE_VARIABLES, len(layout.rate)))
    solution[_OWN, :] = np.clip([[1.0], [1.0], [0.0]], layout.box[::2], layout.box[1::2])
    _set_lines(layout, x, solution, np.zeros((2, len(layout.rate))))
    return initial_state(x, first_penalties(layout, policy), solution, layout.groups)


def _set_lines(layout: Layout, x: FloatArray, solution: FloatArray, angles: FloatArray) -> None:
    """Set the copies and the solution of every line to given angles at its ends.

    v_f and v_t are those of the solution; δ stays within its limits.
    """
    v_f, v_t, delta = solution[V_FROM], solution[V_TO], solution[DELTA]
    delta[:] = np.clip(angles[0] - angles[1], *layout.box[4:])
    lines = layout.lines(x)
    wave = layout.cosine * np.cos(delta) + layout.sine * np.sin(delta)
    lines[FLOWS, :] = layout.square * np.stack([v_f, v_f, v_t, v_t]) ** 2 + v_f * v_t * wave
    lines[VOLTAGES, :] = v_f**2, v_t**2
    lines[ANGLES, :] = angles


def initial_state(x: FloatArray, rho: FloatArray, line_solution: FloatArray, groups: int) -> State:
    """Return a state before the first iteration, in which buses have the copies of the agents."""
    return State(
        x=x,
        z=x.copy(),
        dual=np.zeros(len(x)),
        rho=rho,
        line_solution=line_solution,
        window_z=x.copy(),
        window_gap=np.zeros(groups),
        window_step=np.zeros(groups),
        direction_changes=np.zeros(groups),
        last_factor=np.ones(groups),
        relative_penalty=np.ones(groups),
        window_primal=np.zeros(1),
        last_window_primal=np.full(1, np.inf),
        penalty_floor=np.full(1, LOWEST_FLOOR),
        iteration=np.zeros(1),
        within_tolerance_count=np.zeros(1),
    )
