"""One iteration of Algorithm 2, in rounds: all agents, then all buses, then the multipliers.

A round's results do not depend on the order of its agents, and every sum is taken in a fixed order,
so that any number of threads gives the same bits.
"""

import math

from numba import prange

from gridveil.admm.agents import (
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
    x, z, dual, rho = state.x, state.z, state.dual, state.rho
    for i in range(len(noisy)):
        x[i] = load_agent(noisy[i], z[i] - dual[i] / rho[i], rho[i])
    p, generators = len(noisy), len(layout.q_min)
    choosing = state.iteration[0] < _CHOOSING
    for g in range(generators):
        i = p + g
        target, best, last = z[i] - dual[i] / rho[i], math.inf, x[i]
        for k in range(layout.interval_start[g], layout.interval_start[g + 1]):
            low, high = layout.interval_low[k], layout.interval_high[k]
            if choosing or low <= last <= high:
                best = generator_agent(target, low, high, best)
        x[i] = best
        i += generators
        target = z[i] - dual[i] / rho[i]
        x[i] = generator_agent(target, layout.q_min[g], layout.q_max[g], math.inf)
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
    for k in range(first, end):
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
        for i in range(5):
            last[i, k] = solution[i]
        for i in range(8):
            x[k + i * n] = copies[i]


@compiled
def bus_round(layout: Layout, state: State) -> None:
    """Let every bus agent answer the agents' copies: balance P and Q, agree on one voltage."""
    z, rho = state.z, state.rho
    for bus in range(len(layout.shunt_g)):
        weight = w = turn_weight = angle = 0.0
        for k in range(layout.end_start[bus], layout.end_start[bus + 1]):
            i, j = layout.end_w[k], layout.end_angle[k]
            weight += rho[i]
            w += rho[i] * state.x[i] + state.dual[i]
            turn_weight += rho[j]
            angle += rho[j] * state.x[j] + state.dual[j]
        p_left = q_left = p_room = q_room = 0.0
        for k in range(layout.port_start[bus], layout.port_start[bus + 1]):
            i, j, sign = layout.port_p[k], layout.port_q[k], layout.port_sign[k]
            p_left += sign * (state.x[i] + state.dual[i] / rho[i])
            q_left += sign * (state.x[j] + state.dual[j] / rho[j])
            p_room += 1.0 / rho[i]
            q_room += 1.0 / rho[j]
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
        w += (b * mu_q - g * mu_p) * room
        for k in range(layout.port_start[bus], layout.port_start[bus + 1]):
            i, j, sign = layout.port_p[k], layout.port_q[k], layout.port_sign[k]
            z[i] = state.x[i] + (state.dual[i] + sign * mu_p) / rho[i]
            z[j] = state.x[j] + (state.dual[j] + sign * mu_q) / rho[j]
        for k in range(layout.end_start[bus], layout.end_start[bus + 1]):
            z[layout.end_w[k]] = w
            z[layout.end_angle[k]] = angle


@compiled_inner
def multiplier_round(state: State, before: FloatArray) -> tuple[float, float]:
    """Move the multipliers by ρ(x − z); return the largest primal and dual residual.

    `before` is z as it was before the buses' round.
    """
    primal = dual = total = 0.0
    for i in range(len(state.x)):
        gap = state.x[i] - state.z[i]
        state.dual[i] += state.rho[i] * gap
        step = state.rho[i] * abs(state.z[i] - before[i])
        primal = max(primal, abs(gap))
        dual = max(dual, step)
        total += gap + step
    if not math.isfinite(total):  # max() lets a NaN slip by
        return math.nan, math.nan
    return primal, dual


@compiled_inner
def displacement(noisy: FloatArray, state: State) -> float:
    """Return ‖Ŝ − S̃‖², the agents' objective."""
    total = 0.0
    for i in range(len(noisy)):
        total += (state.x[i] - noisy[i]) ** 2
    return total


@compiled_inner
def typical_penalty(state: State) -> float:
    """Return the geometric mean of all penalties."""
    total = 0.0
    for i in range(len(state.rho)):
        total += math.log(state.rho[i])
    return math.exp(total / len(state.rho))
