"""How the penalties ρ change from iteration to iteration.

**fast.** Where a penalty is too small, an agent and its bus stay apart while the bus's copy z
rests; where it is too large they agree, and creep along together. It is right where the gap x − z
and the step of z are the same size. So every ten iterations each group of penalties compares the
way that both have gone, and moves by 1.3 where one is twice the other. A line balances its own p,
q, w and θ, by itself: one that carries tens of p.u. needs other penalties than its neighbours.
Loads balance together, and so do generators, by sums. What keeps this stable:

- a group that changes its mind needs a larger imbalance next time, so that penalties settle;
- no penalty falls while the primal residual grows;
- a group that went to and fro without getting anywhere, while the residual hardly fell, is held too
  softly, and its penalty rises.

Low penalties find the right loads, but a large network then agrees slowly, and the least changes of
penalties keep it restless. So after 3,500 iterations agreement comes first: while the primal
residual exceeds 5e-4, no penalty may be below a floor, which rises; below that the floor sinks.

**paper.** One ρ for all: up by 2 % when the primal residual exceeds 7 times the dual one, down by
2 % in the opposite case, within 5 and 10⁶; after 4,500 iterations "boosting", up by 2 % each time
the primal residual exceeds 1e-3.
"""

import math

from gridveil.admm.compiled import compiled, compiled_inner
from gridveil.admm.layout import Layout
from gridveil.admm.state import State
from gridveil.arrays import FloatArray

WINDOW = 10
"""Iterations from one balancing to the next."""
_FACTOR = 1.3
_IMBALANCE = 2.0
_CAUTION = 0.3
"""How much larger the imbalance must be after each change of mind, relatively."""
_GROWTH = 1.2
"""A primal residual that grew by more, from window to window, forbids lower penalties."""
_STAGNATION = 0.9
_TO_AND_FRO = 0.2
"""Distance over way, below which a group got nowhere."""
_SETTLING = 200
"""Iterations before to and fro means anything."""
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


@compiled_inner
def balance(layout: Layout, state: State, before: FloatArray, primal: float) -> bool:
    """Take note of an iteration; at the end of a window balance. Return if it was the end."""
    measure(layout, state, before)
    add_ways(state)
    state.residuals[0] += primal
    if state.iteration[0] % WINDOW != 0:
        return False
    measure_net(layout, state)
    stagnates, may_fall = close_window(state)
    decide(state, stagnates, may_fall)
    apply(layout, state)
    return True


@compiled_inner
def measure(layout: Layout, state: State, before: FloatArray) -> None:
    """Put the squares of this iteration's gaps and steps, group by group, into rows 2 and 3."""
    ways = state.ways
    for group in range(len(state.turns)):
        ways[2, group] = ways[3, group] = 0.0
    for i in range(len(state.x)):
        group = layout.group[i]
        ways[2, group] += squared_gap(state, i)
        ways[3, group] += squared_way(state, i, before[i])


@compiled_inner
def squared_gap(state: State, i: int) -> float:
    """Return (x − z)² of one copy, in the metric of ρ."""
    return float(state.rho[i] * (state.x[i] - state.z[i]) ** 2)


@compiled_inner
def squared_way(state: State, i: int, since: float) -> float:
    """Return the square of how far one z is from where it was, in the metric of ρ."""
    return float(state.rho[i] * (state.z[i] - since) ** 2)


@compiled_inner
def add_ways(state: State) -> None:
    """Add the gaps and steps that were measured to the ways of every group."""
    for group in range(len(state.turns)):
        add_way(state, group, state.ways[2, group], state.ways[3, group])


@compiled_inner
def add_way(state: State, group: int, gap: float, step: float) -> None:
    """Add a gap and a step, given by their squares, to the ways of a group."""
    state.ways[0, group] += math.sqrt(gap)
    state.ways[1, group] += math.sqrt(step)


@compiled_inner
def measure_net(layout: Layout, state: State) -> None:
    """Put into row 2 the square of how far each group's z is from where the window began."""
    net = state.ways[2]
    for group in range(len(net)):
        net[group] = 0.0
    for i in range(len(state.z)):
        net[layout.group[i]] += squared_way(state, i, state.window_z[i])


@compiled_inner
def close_window(state: State) -> tuple[bool, bool]:
    """End a window: return whether the residual stagnates, and whether penalties may fall."""
    now, last = state.residuals[0], state.residuals[1]
    state.residuals[1], state.residuals[0] = now, 0.0
    if state.iteration[0] >= _AGREEING_FROM and now > WINDOW * _AGREED:
        state.floor[0] = min(max(_FLOOR_RISES * state.floor[0], _FIRST_FLOOR), _HIGHEST_FLOOR)
    else:
        state.floor[0] = max(state.floor[0] / _FLOOR_SINKS, LOWEST_FLOOR)
    stagnates = bool(now > _STAGNATION * last and state.iteration[0] > _SETTLING)
    return stagnates, bool(now <= _GROWTH * last)


@compiled_inner
def decide(state: State, stagnates: bool, may_fall: bool) -> None:
    """Put into row 4 by what each group's penalty changes, and forget the ways."""
    for group in range(len(state.turns)):
        state.ways[4, group] = decide_for(state, group, state.ways[2, group], stagnates, may_fall)


@compiled_inner
def decide_for(state: State, group: int, net: float, stagnates: bool, may_fall: bool) -> float:
    """Return by what a group's penalty changes, and forget its ways; `net` is a square."""
    gap_way, z_way = state.ways[0, group], state.ways[1, group]
    threshold = _IMBALANCE * (1.0 + _CAUTION * state.turns[group])
    factor = 1.0
    if (stagnates and math.sqrt(net) < _TO_AND_FRO * z_way) or gap_way > threshold * z_way:
        factor = _FACTOR
    elif z_way > threshold * gap_way and may_fall:
        factor = 1.0 / _FACTOR
    raised = state.raised[group] * factor
    if raised < state.floor[0]:
        factor = min(max(state.floor[0] / state.raised[group], 1.0), _FACTOR)
        raised = state.raised[group] * factor
    if raised > _LARGEST_CHANGE or raised < 1.0 / _LARGEST_CHANGE:
        factor = 1.0
    if (factor - 1.0) * (state.last_factor[group] - 1.0) < 0.0:
        state.turns[group] += 1.0
    if factor != 1.0:
        state.last_factor[group] = factor
    state.raised[group] *= factor
    state.ways[0, group] = state.ways[1, group] = 0.0
    return factor


@compiled_inner
def apply(layout: Layout, state: State) -> None:
    """Change the penalties as was decided, and begin a new window."""
    for i in range(len(state.rho)):
        begin_window(state, i, state.ways[4, layout.group[i]])


@compiled_inner
def begin_window(state: State, i: int, factor: float) -> None:
    """Change one penalty, and remember where its window began."""
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
def follow_the_paper(state: State, primal: float, dual: float) -> bool:
    """Change the one penalty by the paper's rule; return if it changed."""
    rho = paper_penalty(state.rho[0], state.iteration[0], primal, dual)
    changed = bool(rho != state.rho[0])
    for i in range(len(state.rho)):
        state.rho[i] = rho
    return changed
