"""The state a run begins with, and the first penalties. Nothing of the true loads is used."""

from collections.abc import Sequence

import numpy as np

from gridveil.admm.dc_flow import dc_flows
from gridveil.admm.layout import ANGLES, VOLTAGES, Layout
from gridveil.admm.penalties import LOWEST_FLOOR
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start, starts_flat
from gridveil.admm.state import State
from gridveil.admm.sweeps import bus_round
from gridveil.arrays import FloatArray

_FAST_POWER = 0.5
"""First penalty of every power, a quarter of the curvature of the loads' objective."""
_FAST_VOLTAGE = 1.5
"""First penalty of every voltage, relative to the line's |y|: what turns voltages into flows."""
PAPER_START = 5.0
"""The one penalty of the paper's rule starts at its lower bound."""


def first_penalties(layout: Layout, policy: Policy) -> FloatArray:
    """Return the first penalty of every shared quantity."""
    if policy is Policy.PAPER:
        return np.full(layout.size, PAPER_START)
    rho = np.full(layout.size, _FAST_POWER)
    admittance = np.hypot(layout.cosine[0], layout.sine[0])
    layout.lines(rho)[VOLTAGES + ANGLES, :] = _FAST_VOLTAGE * admittance
    return rho


def start_states(
    layout: Layout, draws: Sequence[FloatArray], policy: Policy, start: Start
) -> list[State]:
    """Return what the runs of some draws begin with, as the buses see it.

    A draw holds p and then q of every load.
    """
    states = [flat_state(layout, noisy, policy) for noisy in draws]
    if not starts_flat(start, len(layout.rate)):
        ends = layout.line_ends()
        flows = dc_flows(layout, [state.x for state in states])
        for state, (outputs, angles) in zip(states, flows, strict=True):
            state.x[2 * layout.loads :][: layout.generators] = outputs
            _set_lines(layout, state.x, state.lines, angles[ends])
            state.z[:] = state.x
    for state in states:
        bus_round(layout, state)
        state.window_z[:] = state.z
    return states


def flat_state(layout: Layout, noisy: FloatArray, policy: Policy) -> State:
    """Return what agents begin with: voltages of 1, generators mid-band, loads as they came."""
    x = np.zeros(layout.size)
    x[: len(noisy)] = noisy
    gens = x[len(noisy) :][: 2 * layout.generators].reshape(2, layout.generators)
    low, high = layout.band_ends()
    bounded = np.isfinite(low) & np.isfinite(high)
    gens[0] = np.clip(0.0, low, high)
    gens[0, bounded] = (low[bounded] + high[bounded]) / 2
    gens[1] = np.clip(0.0, layout.q_min, layout.q_max)
    flat = np.zeros((5, len(layout.rate)))
    flat[:3] = np.clip([[1.0], [1.0], [0.0]], layout.box[::2], layout.box[1::2])
    _set_lines(layout, x, flat, np.zeros((2, len(layout.rate))))
    return begun(x, first_penalties(layout, policy), flat, layout.groups)


def _set_lines(layout: Layout, x: FloatArray, own: FloatArray, angles: FloatArray) -> None:
    """Give lines angles at their ends, and the flows that go with them.

    `own` are the lines' own variables: v_f, v_t and δ, which keeps its limits, and multipliers.
    """
    v_f, v_t, delta = own[:3]
    delta[:] = np.clip(angles[0] - angles[1], *layout.box[4:])
    lines = layout.lines(x)
    wave = layout.cosine * np.cos(delta) + layout.sine * np.sin(delta)
    lines[:4] = layout.square * np.stack([v_f, v_f, v_t, v_t]) ** 2 + v_f * v_t * wave
    lines[VOLTAGES, :] = v_f**2, v_t**2
    lines[ANGLES, :] = angles


def begun(x: FloatArray, rho: FloatArray, lines: FloatArray, groups: int) -> State:
    """Return a state in which nothing has happened yet."""
    return State(
        x=x,
        z=x.copy(),
        dual=np.zeros(len(x)),
        rho=rho,
        lines=lines,
        window_z=x.copy(),
        ways=np.zeros((5, groups)),
        turns=np.zeros(groups),
        last_factor=np.ones(groups),
        raised=np.ones(groups),
        residuals=np.array([0.0, np.inf]),
        floor=np.array([LOWEST_FLOOR]),
        iteration=np.zeros(2),
    )
