"""How the penalties ρ change from iteration to iteration: residual balancing, and the paper's rule.

**fast.** Where a penalty is too small, an agent and its bus stay apart while the bus's copy z
rests; where it is too large they agree, but both move slowly. It is right where the gap x − z and
the step of z are the same size. So every ten iterations, a window, each group of penalties compares
the sums of both, and changes by a factor of 1.3 where one is twice the other. A line balances its
own p, q, w and θ, by itself: one that carries tens of p.u. needs other penalties than its
neighbours. Loads balance together, and so do generators, by sums. What keeps this stable:

- a group whose penalty changes direction needs a larger imbalance next time, so that penalties
  settle;
- no penalty falls while the primal residual grows;
- the penalty of a group that oscillates (its z moved, but has got nowhere) while the residual
  stagnates rises.

Low penalties find the right loads, but a large network then agrees slowly, and every change of a
penalty disturbs it. So after 3,500 iterations agreement comes first: while the primal residual
exceeds 5e-4, no penalty may be below a floor, which rises; once it does not, the floor sinks.

**paper.** One ρ for all: up by 2 % when the primal residual exceeds 7 times the dual one, down by
2 % in the opposite case, within 5 and 10⁶; after 4,500 iterations "boosting", up by 2 % each time
the primal residual exceeds 1e-3.
"""

import math
from typing import NamedTuple

import numpy as np

from gridveil.admm.compiled import compiled, compiled_inner
from gridveil.admm.layout import Layout
from gridveil.admm.state import State
from gridveil.arrays import FloatArray

WINDOW = 10
"""Iterations from one balancing to the next."""
_FACTOR = 1.3
_IMBALANCE = 2.0
_CAUTION = 0.3
"""How much larger the imbalance must be after each change of direction, relatively."""
_GROWTH = 1.2
"""A primal residual that grew by more, from window to window, forbids lower penalties."""
_STAGNATION = 0.9
_OSCILLATION = 0.2
"""Net movement relative to the sum of steps, below which a group oscillates."""
_SETTLING = 200
"""Iterations before which oscillation is not considered."""
_LARGEST_CHANGE = 1e3
_AGREEING_FROM = 3500
_AGREED = 5e-4
LOWEST_FLOOR, _FIRST_FLOOR, _HIGHEST_FLOOR = 1.0 / _LARGEST_CHANGE, 0.3, 30.0
_FLOOR_RISES, _FLOOR_SINKS = 1.03, 1.1

PAPER_CHANGE = 1.02
PAPER_IMBALANCE = 7.0
PAPER_LOWEST, PAPER_HIGHEST = 5.0, 1e6
BOOSTING_FROM = 4500
BOOSTING_ABOVE = 1e-3


class GroupWorkspace(NamedTuple):
    """Working memory of residual balancing: one number per group, squares in the metric of ρ."""

    gap_squares: FloatArray
    """Of x − z, in this iteration."""
    step_squares: FloatArray
    """Of Δz, in this iteration."""
    net_squares: FloatArray
    """Of how far z is from where the window began."""
    penalty_factor: FloatArray
    """By which the penalty changes at the end of a window."""


@compiled_inner
def group_workspace(groups: int) -> GroupWorkspace:
    """Return working memory for so many groups."""
    return GroupWorkspace(np.empty(groups), np.empty(groups), np.empty(groups), np.empty(groups))


@compiled_inner
def balance_residuals(
    layout: Layout,
    state: State,
    workspace: GroupWorkspace,
    previous_z: FloatArray,
    primal: float,
) -> bool:
    """Add an iteration to the window, and change the penalties at its end; return if they were."""
    measure_squares(layout, state, workspace, previous_z)
    add_to_window(state, workspace)
    state.window_primal[0] += primal
    if state.iteration[0] % WINDOW != 0:
        return False
    measure_net_squares(layout, state, workspace)
    stagnates, may_fall = close_window(state)
    choose_factors(state, workspace, stagnates, may_fall)
    apply_factors(layout, state, workspace)
    return True


@compiled_inner
def measure_squares(
    layout: Layout, state: State, workspace: GroupWorkspace, previous_z: FloatArray
) -> None:
    """Sum up the squared gaps and steps of this iteration, group by group."""
    gaps, steps = workspace.gap_squares, workspace.step_squares
    for group in range(len(gaps)):
        gaps[group] = steps[group] = 0.0
    for i in range(len(state.x)):
        group = layout.group[i]
        gaps[group] += squared_gap(state, i)
        steps[group] += squared_distance(state, i, previous_z[i])


@compiled_inner
def squared_gap(state: State, i: int) -> float:
    """Return (x − z)² of one copy, in the metric of ρ."""
    return float(state.rho[i] * (state.x[i] - state.z[i]) ** 2)


@compiled_inner
def squared_distance(state: State, i: int, earlier: float) -> float:
    """Return the square of how far z is from an earlier value, in the metric of ρ."""
    return float(state.rho[i] * (state.z[i] - earlier) ** 2)


@compiled_inner
def add_to_window(state: State, workspace: GroupWorkspace) -> None:
    """Add the measured gaps and steps to the window statistics of every group."""
    for group in range(len(workspace.gap_squares)):
        add_group_to_window(
            state, group, workspace.gap_squares[group], workspace.step_squares[group]
        )


@compiled_inner
def add_group_to_window(state: State, group: int, gap_squares: float, step_squares: float) -> None:
    """Add a gap and a step, given by their squares, to the window statistics of a group."""
    state.window_gap[group] += math.sqrt(gap_squares)
    state.window_step[group] += math.sqrt(step_squares)


@compiled_inner
def measure_net_squares(layout: Layout, state: State, workspace: GroupWorkspace) -> None:
    """Sum up the squared net movement of z since the window began, group by group."""
    net = workspace.net_squares
    for group in range(len(net)):
        net[group] = 0.0
    for i in range(len(state.z)):
        net[layout.group[i]] += squared_distance(state, i, state.window_z[i])


@compiled_inner
def close_window(state: State) -> tuple[bool, bool]:
    """End a window: return whether the residual stagnates, and whether penalties may fall."""
    primal, last = state.window_primal[0], state.last_window_primal[0]
    state.last_window_primal[0], state.window_primal[0] = primal, 0.0
    floor = state.penalty_floor[0]
    if state.iteration[0] >= _AGREEING_FROM and primal > WINDOW * _AGREED:
        state.penalty_floor[0] = min(max(_FLOOR_RISES * floor, _FIRST_FLOOR), _HIGHEST_FLOOR)
    else:
        state.penalty_floor[0] = max(floor / _FLOOR_SINKS, LOWEST_FLOOR)
    stagnates = bool(primal > _STAGNATION * last and state.iteration[0] > _SETTLING)
    return stagnates, bool(primal <= _GROWTH * last)


@compiled_inner
def choose_factors(
    state: State, workspace: GroupWorkspace, stagnates: bool, may_fall: bool
) -> None:
    """Choose the penalty factor of every group, and reset its window statistics."""
    for group in range(len(workspace.net_squares)):
        workspace.penalty_factor[group] = choose_factor(
            state, group, workspace.net_squares[group], stagnates, may_fall
        )


@compiled_inner
def choose_factor(
    state: State, group: int, net_squares: float, stagnates: bool, may_fall: bool
) -> float:
    """Return the penalty factor of a group, and reset its window statistics."""
    gap, step = state.window_gap[group], state.window_step[group]
    threshold = _IMBALANCE * (1.0 + _CAUTION * state.direction_changes[group])
    factor = 1.0
    if (stagnates and math.sqrt(net_squares) < _OSCILLATION * step) or gap > threshold * step:
        factor = _FACTOR
    elif step > threshold * gap and may_fall:
        factor = 1.0 / _FACTOR
    relative, floor = state.relative_penalty[group] * factor, state.penalty_floor[0]
    if relative < floor:
        factor = min(max(floor / state.relative_penalty[group], 1.0), _FACTOR)
        relative = state.relative_penalty[group] * factor
    if relative > _LARGEST_CHANGE or relative < 1.0 / _LARGEST_CHANGE:
        factor = 1.0
    if (factor - 1.0) * (state.last_factor[group] - 1.0) < 0.0:
        state.direction_changes[group] += 1.0
    if factor != 1.0:
        state.last_factor[group] = factor
    state.relative_penalty[group] *= factor
    state.window_gap[group] = state.window_step[group] = 0.0
    return factor


@compiled_inner
def apply_factors(layout: Layout, state: State, workspace: GroupWorkspace) -> None:
    """Change all penalties by the factors of their groups, and begin a new window."""
    for i in range(len(state.rho)):
        apply_factor(state, i, workspace.penalty_factor[layout.group[i]])


@compiled_inner
def apply_factor(state: State, i: int, factor: float) -> None:
    """Change the penalty of one copy, and begin its new window."""
    state.rho[i] *= factor
    state.window_z[i] = state.z[i]


@compiled
def paper_penalty(rho: float, iteration: float, primal: float, dual: float) -> float:
    """Return the one penalty after an iteration, by the paper's rule."""
    if iteration >= BOOSTING_FROM:
        if primal > BOOSTING_ABOVE:
            rho *= PAPER_CHANGE
    elif primal > PAPER_IMBALANCE * dual:
        rho *= PAPER_CHANGE
    elif dual > PAPER_IMBALANCE * primal:
        rho /= PAPER_CHANGE
    return min(max(rho, PAPER_LOWEST), PAPER_HIGHEST)


@compiled_inner
def apply_paper_rule(state: State, primal: float, dual: float) -> bool:
    """Change the one penalty by the paper's rule; return if it changed."""
    rho = paper_penalty(state.rho[0], state.iteration[0], primal, dual)
    changed = bool(rho != state.rho[0])
    for i in range(len(state.rho)):
        state.rho[i] = rho
    return changed
