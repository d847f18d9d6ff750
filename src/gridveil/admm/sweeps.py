"""One iteration of Algorithm 2, in rounds: all agents, then all buses, then the multipliers.

A round's results do not depend on the order of its agents, and every sum is taken in a fixed order,
so that any number of threads gives the same bits.
"""

import math

from numba import prange

from gridveil.admm.agents import (
    Eight,
    Four,
    bus_agent,
    generator_agent,
    line_agent,
    line_copies,
    load_agent,
    lone_bus_voltage,
)
from gridveil.admm.compiled import compiled, compiled_inner, compiled_threaded
from gridveil.admm.layout import Layout
from gridveil.admm.state import State
from gridveil.arrays import FloatArray

_CHOOSING = 200
"""After so many iterations a generator stays in the interval of its band where it is: with free
choice it could go back and forth between two for ever."""
_PARTS = 64
"""Into how many parts the lines are cut for the threads."""


@compiled_inner
def remember(z: FloatArray, before: FloatArray) -> None:
    """Copy the buses' copies."""
    for i in range(len(z)):
        before[i] = z[i]


@compiled_inner
def agents_round(layout: Layout, noisy: FloatArray, state: State, threaded: bool) -> None:
    """Let every load, generator and line agent answer the buses' copies."""
    for i in range(len(noisy)):
        answer_load(noisy, state, i)
    for g in range(len(layout.q_min)):
        answer_generator(layout, state, len(noisy), g)
    if threaded:
        _lines_on_all_threads(layout, state)
    else:
        _lines(layout, state, 0, len(layout.rate))


@compiled_threaded
def _lines_on_all_threads(layout: Layout, state: State) -> None:
    lines = len(layout.rate)
    for part in prange(_PARTS):
        _lines(layout, state, lines * part // _PARTS, lines * (part + 1) // _PARTS)


@compiled_inner
def _lines(layout: Layout, state: State, first: int, end: int) -> None:
    """Let the line agents from `first` up to `end` answer."""
    for k in range(first, end):
        answer_line(layout, state, k)


@compiled
def bus_round(layout: Layout, state: State) -> None:
    """Let every bus agent answer the agents' copies: balance P and Q, agree on one voltage."""
    for bus in range(len(layout.shunt_g)):
        answer_bus(layout, state, bus)


@compiled_inner
def multiplier_round(state: State, before: FloatArray) -> tuple[float, float]:
    """Move the multipliers by ρ(x − z); return the largest primal and dual residual.

    `before` is z as it was before the buses' round.
    """
    primal = dual = total = 0.0
    for i in range(len(state.x)):
        gap, step = move_multiplier(state, i, before[i])
        primal = max(primal, gap)
        dual = max(dual, step)
        total += gap + step
    if not math.isfinite(total):  # max() lets a NaN slip by
        return math.nan, math.nan
    return primal, dual


@compiled_inner
def answer_load(noisy: FloatArray, state: State, i: int) -> None:
    """Let a load agent answer: i counts p of every load, then q."""
    rho = state.rho[i]
    state.x[i] = load_agent(noisy[i], state.z[i] - state.dual[i] / rho, rho)


@compiled_inner
def answer_generator(layout: Layout, state: State, first: int, g: int) -> None:
    """Let generator agent g answer; the copies of the generators begin at `first`."""
    x, z, dual, rho = state.x, state.z, state.dual, state.rho
    choosing = state.iteration[0] < _CHOOSING
    i = first + g
    target, best, last = z[i] - dual[i] / rho[i], math.inf, x[i]
    for k in range(layout.interval_start[g], layout.interval_start[g + 1]):
        low, high = layout.interval_low[k], layout.interval_high[k]
        if choosing or low <= last <= high:
            best = generator_agent(target, low, high, best)
    x[i] = best
    i += len(layout.q_min)
    target = z[i] - dual[i] / rho[i]
    x[i] = generator_agent(target, layout.q_min[g], layout.q_max[g], math.inf)


@compiled_inner
def answer_line(layout: Layout, state: State, k: int) -> None:
    """Let line agent k answer."""
    n = len(layout.rate)
    start = len(state.x) - 8 * n
    x, z, dual, rho, last = (
        state.x[start:],
        state.z[start:],
        state.dual[start:],
        state.rho[start:],
        state.lines,
    )
    square, cosine, sine, box = layout.square, layout.cosine, layout.sine, layout.box
    a = (square[0, k], square[1, k], square[2, k], square[3, k])
    b = (cosine[0, k], cosine[1, k], cosine[2, k], cosine[3, k])
    c = (sine[0, k], sine[1, k], sine[2, k], sine[3, k])
    limits = (box[0, k], box[1, k], box[2, k], box[3, k], box[4, k], box[5, k])
    before = (last[0, k], last[1, k], last[2, k], last[3, k], last[4, k])
    weight = (
        rho[k],
        rho[k + n],
        rho[k + 2 * n],
        rho[k + 3 * n],
        rho[k + 4 * n],
        rho[k + 5 * n],
        rho[k + 6 * n],
        rho[k + 7 * n],
    )
    target = (
        z[k] - dual[k] / weight[0],
        z[k + n] - dual[k + n] / weight[1],
        z[k + 2 * n] - dual[k + 2 * n] / weight[2],
        z[k + 3 * n] - dual[k + 3 * n] / weight[3],
        z[k + 4 * n] - dual[k + 4 * n] / weight[4],
        z[k + 5 * n] - dual[k + 5 * n] / weight[5],
        z[k + 6 * n] - dual[k + 6 * n] / weight[6],
        z[k + 7 * n] - dual[k + 7 * n] / weight[7],
    )
    solution = line_agent(a, b, c, layout.rate[k], limits, target, weight, before)
    copies = line_copies(a, b, c, target, weight, solution)
    for j in range(5):
        last[j, k] = solution[j]
    for j in range(8):
        x[k + j * n] = copies[j]


@compiled_inner
def answer_bus(layout: Layout, state: State, bus: int) -> None:
    """Let a bus agent answer."""
    mu_p, mu_q, w, angle = settle_bus(layout, state, bus)
    z = state.z
    for k in range(layout.port_start[bus], layout.port_start[bus + 1]):
        i, j, sign = layout.port_p[k], layout.port_q[k], layout.port_sign[k]
        z[i] = agreed_power(state, i, sign * mu_p)
        z[j] = agreed_power(state, j, sign * mu_q)
    for k in range(layout.end_start[bus], layout.end_start[bus + 1]):
        z[layout.end_w[k]] = w
        z[layout.end_angle[k]] = angle


@compiled_inner
def agreed_power(state: State, i: int, pull: float) -> float:
    """Return a bus's copy of a power: its target, moved by the multiplier of its balance."""
    return float(state.x[i] + (state.dual[i] + pull) / state.rho[i])


@compiled_inner
def settle_bus(layout: Layout, state: State, bus: int) -> Four:
    """Return what a bus agent comes to: the multipliers of its balances, its w and its angle."""
    return balance_bus(layout, bus, gather_bus(layout, state, bus, 0, 1))


@compiled_inner
def gather_bus(layout: Layout, state: State, bus: int, first: int, stride: int) -> Eight:
    """Add up what a bus's copies want, from the first on every so many.

    Of w and of θ: Σρ and Σ(ρx + λ); of p and of q: what is left over at the targets, and Σ1/ρ.
    """
    x, dual, rho = state.x, state.dual, state.rho
    weight = w = turn_weight = angle = 0.0
    for k in range(layout.end_start[bus] + first, layout.end_start[bus + 1], stride):
        i, j = layout.end_w[k], layout.end_angle[k]
        weight += rho[i]
        w += rho[i] * x[i] + dual[i]
        turn_weight += rho[j]
        angle += rho[j] * x[j] + dual[j]
    p_left = q_left = p_room = q_room = 0.0
    for k in range(layout.port_start[bus] + first, layout.port_start[bus + 1], stride):
        i, j, sign = layout.port_p[k], layout.port_q[k], layout.port_sign[k]
        p, q = 1.0 / rho[i], 1.0 / rho[j]
        p_left += sign * (x[i] + dual[i] * p)
        q_left += sign * (x[j] + dual[j] * q)
        p_room += p
        q_room += q
    return weight, w, turn_weight, angle, p_left, q_left, p_room, q_room


@compiled_inner
def balance_bus(layout: Layout, bus: int, wanted: Eight) -> Four:
    """Balance P and Q at a bus and agree on one voltage, from what its copies want."""
    weight, w, turn_weight, angle, p_left, q_left, p_room, q_room = wanted
    g, b, room = layout.shunt_g[bus], layout.shunt_b[bus], 0.0
    if weight > 0.0:
        w, angle, room = w / weight, angle / turn_weight, 1.0 / weight
    else:
        w = lone_bus_voltage(
            p_left, q_left, p_room, q_room, g, b, layout.w_min[bus], layout.w_max[bus]
        )
    if layout.reference[bus]:
        angle = 0.0
    mu_p, mu_q = bus_agent(p_left - g * w, q_left + b * w, p_room, q_room, g, b, room)
    return mu_p, mu_q, w + (b * mu_q - g * mu_p) * room, angle


@compiled_inner
def move_multiplier(state: State, i: int, before: float) -> tuple[float, float]:
    """Move one multiplier by ρ(x − z); return |x − z| and ρ|Δz|, given z as it was before."""
    gap = state.x[i] - state.z[i]
    state.dual[i] += state.rho[i] * gap
    return abs(gap), state.rho[i] * abs(state.z[i] - before)


@compiled_inner
def displacement(noisy: FloatArray, state: State) -> float:
    """Return ‖Ŝ − S̃‖², the agents' objective."""
    total = 0.0
    for i in range(len(noisy)):
        total += (state.x[i] - noisy[i]) ** 2
    return total


@compiled_inner
def dispatch_cost(layout: Layout, first: int, state: State) -> float:
    """Return what the generators' outputs cost, in $/h; their copies begin at `first`."""
    total = 0.0
    for g in range(len(layout.q_min)):
        total += generator_cost(layout, g, state.x[first + g])
    return total


@compiled_inner
def generator_cost(layout: Layout, g: int, p: float) -> float:
    """Return the cost of one generator's output, as Costs defines it."""
    total = 0.0
    for row in range(len(layout.cost)):
        total = total * p + layout.cost[len(layout.cost) - 1 - row, g]
    first, end = layout.segment_start[g], layout.segment_start[g + 1]
    for k in range(first, end):
        line = layout.segment_slope[k] * p + layout.segment_intercept[k]
        total = line if k == first else max(total, line)
    return total


@compiled_inner
def typical_penalty(state: State) -> float:
    """Return the geometric mean of all penalties."""
    total = 0.0
    for i in range(len(state.rho)):
        total += math.log(state.rho[i])
    return math.exp(total / len(state.rho))
