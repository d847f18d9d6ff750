"""Models 2, 3 and 5 against Ipopt on the same small problem; Model 4 has a module of its own."""

import math
from functools import cache

import casadi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.admm.agents import (
    bus_agent,
    consumer_agent,
    generator_agent,
    load_agent,
    lone_bus_voltage,
)

QUIET = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-12}}


def numbers(low, high):
    return st.floats(low, high, allow_nan=False, width=64)


penalties = numbers(-3.0, 3.0).map(lambda power: 10.0**power)


@cache
def load_by_ipopt():
    x, p = casadi.SX.sym("x"), casadi.SX.sym("p", 4)
    objective = p[1] * (x - p[0]) ** 2 + p[3] / 2 * (x - p[2]) ** 2
    return casadi.nlpsol("load", "ipopt", {"x": x, "p": p, "f": objective}, QUIET)


@settings(max_examples=1000)
@given(numbers(-5, 5), penalties, numbers(-5, 5), penalties)
def test_load(noisy, weight, target, rho):
    ours = load_agent(noisy, weight, target, rho)
    theirs = float(load_by_ipopt()(x0=0.0, p=[noisy, weight, target, rho])["x"])
    assert ours == pytest.approx(theirs, abs=1e-8)
    slope = 2 * weight * (ours - noisy) + rho * (ours - target)
    assert slope == pytest.approx(0.0, abs=1e-8 * (weight + rho))


@given(numbers(-5, 5), numbers(-5, 5), penalties)
def test_a_load_of_weight_1_moves_as_the_paper_says_to_the_bit(noisy, target, rho):
    assert load_agent(noisy, 1.0, target, rho) == (2.0 * noisy + rho * target) / (2.0 + rho)


@cache
def consumer_by_ipopt():
    x, p = casadi.SX.sym("x", 2), casadi.SX.sym("p", 5)
    objective = p[2] / 2 * (x[0] - p[0]) ** 2 + p[3] / 2 * (x[1] - p[1]) ** 2
    edges = casadi.vertcat(p[4] * x[0] - x[1], p[4] * x[0] + x[1])
    exact = {**QUIET, "ipopt": {**QUIET["ipopt"], "bound_relax_factor": 0.0}}
    return casadi.nlpsol("consumer", "ipopt", {"x": x, "p": p, "f": objective, "g": edges}, exact)


@settings(max_examples=300, deadline=None)
@given(numbers(-3, 3), numbers(-3, 3), penalties, penalties, numbers(0.05, 5))
def test_a_consumer_keeps_its_power_factor(p, q, p_curvature, q_curvature, slope):
    ours = consumer_agent(p, q, p_curvature, q_curvature, slope)
    assert ours[0] >= 0.0
    assert abs(ours[1]) <= slope * ours[0]
    theirs = consumer_by_ipopt()(
        x0=[1.0, 0.0], p=[p, q, p_curvature, q_curvature, slope], lbg=0.0, ubg=np.inf
    )
    value = p_curvature / 2 * (ours[0] - p) ** 2 + q_curvature / 2 * (ours[1] - q) ** 2
    scale = 1 + p_curvature + q_curvature
    assert value == pytest.approx(float(theirs["f"]), rel=1e-6, abs=1e-6 * scale)


@given(numbers(-3, 3), numbers(-3, 3), penalties, penalties)
def test_a_consumer_without_a_power_factor_feeds_nothing_back(p, q, p_curvature, q_curvature):
    assert consumer_agent(p, q, p_curvature, q_curvature, math.inf) == (max(p, 0.0), q)


@cache
def generator_by_ipopt():
    x, p = casadi.SX.sym("x"), casadi.SX.sym("p")
    exact = {**QUIET, "ipopt": {**QUIET["ipopt"], "bound_relax_factor": 0.0}}
    return casadi.nlpsol("gen", "ipopt", {"x": x, "p": p, "f": (x - p) ** 2 / 2}, exact)


@settings(max_examples=1000)
@given(numbers(-3, 3), st.lists(numbers(-2, 2), min_size=2, max_size=6, unique=True))
def test_generator(target, ends):
    """The nearest point of one, two or three intervals; Ipopt solves each of them."""
    ends = sorted(ends)[: len(ends) // 2 * 2]
    intervals = list(zip(ends[::2], ends[1::2], strict=True))
    best = math.inf
    for low, high in intervals:
        best = generator_agent(target, low, high, best)
    assert any(low <= best <= high for low, high in intervals)
    theirs = [
        float(generator_by_ipopt()(x0=(low + high) / 2, p=target, lbx=low, ubx=high)["f"])
        for low, high in intervals
    ]
    assert (best - target) ** 2 / 2 == pytest.approx(min(theirs), abs=1e-6)


def test_generator_without_limits_is_at_its_target():
    assert generator_agent(3.5, -math.inf, math.inf, math.inf) == 3.5


@cache
def bus_by_ipopt(ports, ends):
    """Model 5: minimise Σρ/2 (z − a)² subject to balance; w one number for all line ends."""
    p, q, w = casadi.SX.sym("p", ports), casadi.SX.sym("q", ports), casadi.SX.sym("w")
    a = casadi.SX.sym("a", 2 * ports + ends)
    rho = casadi.SX.sym("r", 2 * ports + ends)
    sign, shunt = casadi.SX.sym("s", ports), casadi.SX.sym("g", 2)
    z = casadi.vertcat(p, q, casadi.repmat(w, ends, 1))
    problem = {
        "x": casadi.vertcat(p, q, w),
        "p": casadi.vertcat(a, rho, sign, shunt),
        "f": 0.5 * casadi.dot(rho, (z - a) ** 2),
        "g": casadi.vertcat(casadi.dot(sign, p) - shunt[0] * w, casadi.dot(sign, q) + shunt[1] * w),
    }
    return casadi.nlpsol("bus", "ipopt", problem, QUIET)


@st.composite
def buses(draw):
    ports, ends = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    sizes = 2 * ports + ends
    a = draw(st.lists(numbers(-2, 2), min_size=sizes, max_size=sizes))
    rho = draw(st.lists(penalties, min_size=sizes, max_size=sizes))
    sign = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=ports, max_size=ports))
    shunt = draw(st.sampled_from([(0.0, 0.0), (0.05, 0.4), (0.0, -1.0), (0.3, 0.0)]))
    return ports, ends, np.array(a), np.array(rho), np.array(sign), shunt


@settings(max_examples=1000)
@given(buses())
def test_bus(instance):
    ports, ends, a, rho, sign, (g, b) = instance
    p, q, w = np.split(a, [ports, 2 * ports])
    rho_p, rho_q, rho_w = np.split(rho, [ports, 2 * ports])
    mean, room = rho_w @ w / rho_w.sum(), 1 / rho_w.sum()
    mu_p, mu_q = bus_agent(
        sign @ p - g * mean, sign @ q + b * mean, (1 / rho_p).sum(), (1 / rho_q).sum(), g, b, room
    )
    z_p, z_q = p + sign * mu_p / rho_p, q + sign * mu_q / rho_q
    z_w = mean + (b * mu_q - g * mu_p) * room
    # Balance holds, and the rest of the optimality conditions hold by construction.
    assert sign @ z_p - g * z_w == pytest.approx(0.0, abs=1e-8)
    assert sign @ z_q + b * z_w == pytest.approx(0.0, abs=1e-8)
    theirs = bus_by_ipopt(ports, ends)(
        x0=0.0, p=np.concatenate([a, rho, sign, [g, b]]), lbg=0.0, ubg=0.0
    )
    gap = np.concatenate([z_p, z_q, np.full(ends, z_w)]) - a
    assert 0.5 * rho @ gap**2 == pytest.approx(float(theirs["f"]), rel=1e-6, abs=1e-8)
    found = np.concatenate([z_p, z_q, [z_w]])
    assert found == pytest.approx(np.array(theirs["x"]).ravel(), abs=1e-5)


@cache
def lone_bus_by_ipopt():
    w, p = casadi.SX.sym("w"), casadi.SX.sym("p", 6)
    p_left, q_left, p_room, q_room, g, b = (p[i] for i in range(6))
    cost = (p_left - g * w) ** 2 / (2 * p_room) + (q_left + b * w) ** 2 / (2 * q_room)
    exact = {**QUIET, "ipopt": {**QUIET["ipopt"], "bound_relax_factor": 0.0}}
    return casadi.nlpsol("lone", "ipopt", {"x": w, "p": p, "f": cost}, exact)


@settings(max_examples=300)
@given(numbers(-2, 2), numbers(-2, 2), penalties, penalties, numbers(0.1, 1), numbers(-1, 1))
def test_a_bus_without_lines_feeds_its_shunts(p_left, q_left, p_room, q_room, g, b):
    parameters = (p_left, q_left, p_room, q_room, g, b)
    ours = lone_bus_voltage(*parameters, 0.81, 1.21)
    theirs = float(lone_bus_by_ipopt()(x0=1.0, p=parameters, lbx=0.81, ubx=1.21)["x"])
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert 0.81 <= ours <= 1.21


def test_a_bus_without_lines_and_shunts_has_any_voltage():
    assert lone_bus_voltage(0.1, 0.2, 1.0, 1.0, 0.0, 0.0, 0.81, 1.21) == 1.0
