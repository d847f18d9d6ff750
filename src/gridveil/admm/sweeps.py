"""One iteration of Algorithm 2 as three sweeps: all agents, then all buses, then the multipliers.

The result of a sweep does not depend on the order of its agents, and every sum is taken in a fixed
order, so that any number of threads gives the same bits.
"""

import math
from typing import Final

from numba import prange

from gridveil.admm.agents import (
    Eight,
    Four,
    bus_agent,
    consumer_agent,
    generator_agent,
    line_agent,
    line_copies,
    load_agent,
    lone_bus_voltage,
)
from gridveil.admm.compiled import compiled, compiled_inner, compiled_threaded
from gridveil.admm.draw import Draw
from gridveil.admm.layout import LINE_COPIES, Layout
from gridveil.admm.state import DELTA, LINE_VARIABLES, MU_FROM, MU_TO, V_FROM, V_TO, State
from gridveil.arrays import FloatArray

_INTERVALS_FREE_UNTIL = 200
"""The iteration from which a generator stays in the interval of its band where it is: otherwise it
could alternate between two for ever."""
BUS_SUMS: Final = 8
"""The number of sums of a bus agent (sum_bus_copies)."""
_PARTS = 64
"""Into how many parts the lines are cut for the threads."""


@compiled_inner
def copy_vector(source: FloatArray, target: FloatArray) -> None:
    """Copy one vector into another."""
    for i in range(len(source)):
        target[i] = source[i]


@compiled_inner
def update_agents(layout: Layout, draw: Draw, state: State, threaded: bool) -> None:
    """Update the copies of every load, generator and line agent."""
    loads = len(draw.noisy)
    for i in range(loads):
        update_load(draw, state, i)
    for g in range(len(layout.q_min)):
        update_generator(layout, state, loads, g)
    if threaded:
        _update_lines_on_all_threads(layout, state)
    else:
        _update_lines(layout, state, 0, len(layout.rate))


@compiled_threaded
def _update_lines_on_all_threads(layout: Layout, state: State) -> None:
    lines = len(layout.rate)
    for part in prange(_PARTS):
        _update_lines(layout, state, lines * part // _PARTS, lines * (part + 1) // _PARTS)


@compiled_inner
def _update_lines(layout: Layout, state: State, first: int, end: int) -> None:
    """Update the line agents from `first` up to `end`."""
    for k in range(first, end):
        update_line(layout, state, k)


@compiled
def update_buses(layout: Layout, state: State) -> None:
    """Update the copies of every bus agent: balance P and Q, agree on one voltage."""
    for bus in range(len(layout.shunt_g)):
        update_bus(layout, state, bus)


@compiled_inner
def update_multipliers(state: State, previous_z: FloatArray) -> tuple[float, float]:
    """Move the multipliers by ρ(x − z); return the largest primal and dual residual.

    `previous_z` is z as it was before the sweep of the buses.
    """
    primal = dual = total = 0.0
    for i in range(len(state.x)):
        gap, step = update_multiplier(state, i, previous_z[i])
        primal = max(primal, gap)
        dual = max(dual, step)
        total += gap + step
    if not math.isfinite(total):  # max() ignores a NaN
        return math.nan, math.nan
    return primal, dual


@compiled_inner
def update_load(draw: Draw, state: State, i: int) -> None:
    """Update a copy of a load agent: i counts p of every load, then q.

    A load with limits finds p and q together; each of the two copies takes its own.
    """
    loads = len(draw.p_min)
    of = i if i < loads else i - loads
    if draw.p_min[of] == -math.inf:
        state.x[i] = _load_without_limits(draw, state, i)
        return
    p, q = consumer_agent(
        _load_without_limits(draw, state, of),
        _load_without_limits(draw, state, of + loads),
        2.0 * draw.weights[of] + state.rho[of],
        2.0 * draw.weights[of + loads] + state.rho[of + loads],
        draw.slopes[of],
    )
    state.x[i] = p if i < loads else q


@compiled_inner
def _load_without_limits(draw: Draw, state: State, i: int) -> float:
    """Return a copy of a load agent as Model 2 has it."""
    rho = state.rho[i]
    target = state.z[i] - state.dual[i] / rho
    return float(load_agent(draw.noisy[i], draw.weights[i], target, rho))


@compiled_inner
def update_generator(layout: Layout, state: State, first: int, g: int) -> None:
    """Update generator agent g; the copies of the generators begin at `first`."""
    x, z, dual, rho = state.x, state.z, state.dual, state.rho
    is_free = state.iteration[0] < _INTERVALS_FREE_UNTIL
    i = first + g
    target, best, last = z[i] - dual[i] / rho[i], math.inf, x[i]
    for k in range(layout.interval_start[g], layout.interval_start[g + 1]):
        low, high = layout.interval_low[k], layout.interval_high[k]
        if is_free or low <= last <= high:
            best = generator_agent(target, low, high, best)
    x[i] = best
    i += len(layout.q_min)
    target = z[i] - dual[i] / rho[i]
    x[i] = generator_agent(target, layout.q_min[g], layout.q_max[g], math.inf)


@compiled_inner
def update_line(layout: Layout, state: State, k: int) -> None:
    """Update line agent k."""
    n = len(layout.rate)
    first = len(state.x) - LINE_COPIES * n
    x, last, box = state.x[first:], state.line_solution, layout.box
    square, cosine, sine = _four(layout.square, k), _four(layout.cosine, k), _four(layout.sine, k)
    limits = (box[0, k], box[1, k], box[2, k], box[3, k], box[4, k], box[5, k])
    start = (last[V_FROM, k], last[V_TO, k], last[DELTA, k], last[MU_FROM, k], last[MU_TO, k])
    rho = _eight(state.rho[first:], k, n)
    z, dual = _eight(state.z[first:], k, n), _eight(state.dual[first:], k, n)
    target = (
        z[0] - dual[0] / rho[0],
        z[1] - dual[1] / rho[1],
        z[2] - dual[2] / rho[2],
        z[3] - dual[3] / rho[3],
        z[4] - dual[4] / rho[4],
        z[5] - dual[5] / rho[5],
        z[6] - dual[6] / rho[6],
        z[7] - dual[7] / rho[7],
    )
    solution = line_agent(square, cosine, sine, layout.rate[k], limits, target, rho, start)
    copies = line_copies(square, cosine, sine, target, rho, solution)
    for j in range(LINE_VARIABLES):
        last[j, k] = solution[j]
    for j in range(LINE_COPIES):
        x[k + j * n] = copies[j]


@compiled_inner
def _four(rows: FloatArray, k: int) -> Four:
    """Return the numbers of a line in an array of four rows."""
    return rows[0, k], rows[1, k], rows[2, k], rows[3, k]


@compiled_inner
def _eight(copies: FloatArray, k: int, lines: int) -> Eight:
    """Return the numbers of a line in the part of a shared vector that belongs to the lines."""
    return (
        copies[k],
        copies[k + lines],
        copies[k + 2 * lines],
        copies[k + 3 * lines],
        copies[k + 4 * lines],
        copies[k + 5 * lines],
        copies[k + 6 * lines],
        copies[k + 7 * lines],
    )


@compiled_inner
def update_bus(layout: Layout, state: State, bus: int) -> None:
    """Update a bus agent's copies."""
    mu_p, mu_q, w, angle = solve_bus(layout, state, bus)
    z = state.z
    for k in range(layout.port_start[bus], layout.port_start[bus + 1]):
        i, j, sign = layout.port_p[k], layout.port_q[k], layout.port_sign[k]
        z[i] = bus_power(state, i, sign * mu_p)
        z[j] = bus_power(state, j, sign * mu_q)
    for k in range(layout.end_start[bus], layout.end_start[bus + 1]):
        z[layout.end_w[k]] = w
        z[layout.end_angle[k]] = angle


@compiled_inner
def bus_power(state: State, i: int, mu: float) -> float:
    """Return a bus's copy of a power: its target, moved by the multiplier of its balance."""
    return float(state.x[i] + (state.dual[i] + mu) / state.rho[i])


@compiled_inner
def solve_bus(layout: Layout, state: State, bus: int) -> Four:
    """Return a bus agent's solution: the multipliers of its balances, its w and its angle."""
    return balance_bus(layout, bus, sum_bus_copies(layout, state, bus, 0, 1))


@compiled_inner
def sum_bus_copies(layout: Layout, state: State, bus: int, first: int, stride: int) -> Eight:
    """Return the sums that a bus agent needs, over every `stride`-th copy from the `first` on.

    Of w and of θ: Σρ and Σ(ρx + λ); of p and of q: the surplus with all copies at their targets,
    and Σ1/ρ.
    """
    x, dual, rho = state.x, state.dual, state.rho
    weight = w = angle_weight = angle = 0.0
    for k in range(layout.end_start[bus] + first, layout.end_start[bus + 1], stride):
        i, j = layout.end_w[k], layout.end_angle[k]
        weight += rho[i]
        w += rho[i] * x[i] + dual[i]
        angle_weight += rho[j]
        angle += rho[j] * x[j] + dual[j]
    p_surplus = q_surplus = p_inverse_rho = q_inverse_rho = 0.0
    for k in range(layout.port_start[bus] + first, layout.port_start[bus + 1], stride):
        i, j, sign = layout.port_p[k], layout.port_q[k], layout.port_sign[k]
        p, q = 1.0 / rho[i], 1.0 / rho[j]
        p_surplus += sign * (x[i] + dual[i] * p)
        q_surplus += sign * (x[j] + dual[j] * q)
        p_inverse_rho += p
        q_inverse_rho += q
    return weight, w, angle_weight, angle, p_surplus, q_surplus, p_inverse_rho, q_inverse_rho


@compiled_inner
def balance_bus(layout: Layout, bus: int, sums: Eight) -> Four:
    """Balance P and Q at a bus and agree on one voltage, from the sums of its copies."""
    weight, w, angle_weight, angle, p_surplus, q_surplus, p_inverse_rho, q_inverse_rho = sums
    g, b, w_inverse_rho = layout.shunt_g[bus], layout.shunt_b[bus], 0.0
    if weight > 0.0:
        w, angle, w_inverse_rho = w / weight, angle / angle_weight, 1.0 / weight
    else:
        w = lone_bus_voltage(
            p_surplus,
            q_surplus,
            p_inverse_rho,
            q_inverse_rho,
            g,
            b,
            layout.w_min[bus],
            layout.w_max[bus],
        )
    if layout.reference[bus]:
        angle = 0.0
    mu_p, mu_q = bus_agent(
        p_surplus - g * w, q_surplus + b * w, p_inverse_rho, q_inverse_rho, g, b, w_inverse_rho
    )
    return mu_p, mu_q, w + (b * mu_q - g * mu_p) * w_inverse_rho, angle


@compiled_inner
def update_multiplier(state: State, i: int, previous_z: float) -> tuple[float, float]:
    """Move one multiplier by ρ(x − z); return |x − z| and ρ|Δz|, given z before its update."""
    gap = state.x[i] - state.z[i]
    state.dual[i] += state.rho[i] * gap
    return abs(gap), state.rho[i] * abs(state.z[i] - previous_z)


@compiled_inner
def load_objective(draw: Draw, state: State) -> float:
    """Return Σ w (Ŝ − S̃)², the agents' objective."""
    total = 0.0
    for i in range(len(draw.noisy)):
        total += squared_displacement(draw, state, i)
    return total


@compiled_inner
def squared_displacement(draw: Draw, state: State, i: int) -> float:
    """Return w (x − x̃)² of a copy of a load agent."""
    return float(draw.weights[i] * (state.x[i] - draw.noisy[i]) ** 2)


@compiled_inner
def dispatch_cost(layout: Layout, first: int, state: State) -> float:
    """Return the cost of the generators' outputs, in $/h; their copies begin at `first`."""
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
