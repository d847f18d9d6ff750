"""Gradients of the optimal cost against finite differences, every kind of number, six networks."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import cost_gradients, load_case, solve_acopf
from tests.cases import TINY, bus, gen, line

CASES = ("case5_pjm", "case14_ieee", "case24_ieee_rts", "case30_ieee", "case39_epri", "case57_ieee")
LINES = ("r", "x", "b", "rate")
LOADS = ("load_p", "load_q")
UNITS = ("p_min", "p_max", "q_min", "q_max")
KINDS = (*LINES, *LOADS, *UNITS, "coefficients")
STEP = 1e-4
NEGLIGIBLE = 1e-6
"""Of the cost: gradients of limits that do not bind are as far from 0 as solvers stop."""


def values(network, kind):
    if kind in LOADS:
        return getattr(network.loads, kind[-1])
    part = network.lines if kind in LINES else network.generators
    return part.costs.coefficients if kind == "coefficients" else getattr(part, kind)


def changed(network, kind, new):
    if kind in LOADS:
        loads = {"p": network.loads.p, "q": network.loads.q, kind[-1]: new}
        return network.with_loads(loads["p"], loads["q"])
    if kind in LINES:
        return replace(network, lines=replace(network.lines, **{kind: new}))
    if kind == "coefficients":
        new, kind = replace(network.generators.costs, coefficients=new), "costs"
    return replace(network, generators=replace(network.generators, **{kind: new}))


def compared(name):
    """Compare the gradients of a case with finite differences; return the kinds that count there.

    Every number of a kind moves by its own share, in the direction that raises the cost.
    """
    network, random, kinds = load_case(name), np.random.default_rng(1), []
    result = solve_acopf(network, solver="ipopt")
    gradients = cost_gradients(result)
    for kind in KINDS:
        value, gradient = values(network, kind), getattr(gradients, kind)
        size = np.where(np.isfinite(value), value, 0.0)
        direction = size * random.uniform(0.5, 1.5, value.shape) * np.sign(gradient * size)
        told = float((gradient * direction).sum())
        if told < NEGLIGIBLE * result.cost:
            continue
        up, down = (
            solve_acopf(changed(network, kind, value + sign * STEP * direction), solver="ipopt")
            for sign in (1, -1)
        )
        assert (up.cost - down.cost) / (2 * STEP) == pytest.approx(told, rel=1e-5), (name, kind)
        kinds.append(kind)
    return kinds


def test_gradients_of_every_kind_agree_with_finite_differences():
    assert {kind for name in CASES for kind in compared(name)} == set(KINDS)


def test_multipliers_say_which_limits_bind_and_on_which_side():
    result = solve_acopf("case5_pjm")
    network, of = result.network, result.multipliers
    gens, v = network.generators, result.point.v
    at_top, at_bottom = gens.p_max - result.point.p < 1e-6, result.point.p - gens.p_min < 1e-6
    assert (of.p[at_top] > 1).all()
    assert at_top.any()
    assert (of.p[at_bottom] < -1).all()
    assert (np.abs(of.p[~at_top & ~at_bottom]) < 1e-2).all()
    assert (of.v[network.buses.v_max - v < 1e-6] > 0).any()
    assert of.active / network.base_mva == pytest.approx(result.active_price)
    full = result.loading > 1 - 1e-6
    assert ((of.flow_from + of.flow_to > 1) == full).all()


def test_angle_limits_have_multipliers():
    """A line whose angle may be 2° at most, beside one that costs twice as much to replace."""
    network = TINY.with_(
        bus=[bus(1, 3), bus(2, 1, 80.0, 20.0), bus(7, 2, 50.0, 10.0)],
        gen=[gen(1, 200.0), gen(7, 100.0)],
        branch=[line(1, 2, angle=2.0), line(2, 7), line(1, 7)],
    ).network()
    result = solve_acopf(network)
    (told, *others) = result.multipliers.angle
    step = 1e-4
    costs = [
        solve_acopf(replace(network, lines=replace(network.lines, angle_max=limit))).cost
        for sign in (1, -1)
        for limit in [network.lines.angle_max + sign * step * np.array([1, 0, 0])]
    ]
    assert told > 1
    assert np.abs(others).max() < 1e-2
    assert (costs[0] - costs[1]) / (2 * step) == pytest.approx(-told, rel=1e-5)


def test_networks_without_costs_have_no_multipliers():
    from tests.cases import network_without_costs

    result = solve_acopf(network_without_costs("case5_pjm"))
    assert all((multiplier == 0).all() for multiplier in vars(result.multipliers).values())


def test_units_with_a_piecewise_linear_cost_have_a_gradient_by_their_limits_alone():
    curve = [[1, 0, 0, 3, 0, 0, 100, 500, 200, 1500], [2, 0, 0, 3, 0.01, 20.0, 0.0]]
    network = TINY.with_(gencost=curve, gen=[gen(1, 60.0), gen(7, 100.0)]).network()
    gradients = cost_gradients(solve_acopf(network))
    assert (gradients.coefficients[0] == 0).all()
    assert gradients.coefficients[1, 1] == pytest.approx(solve_acopf(network).point.p[1])
    costs = [
        solve_acopf(
            replace(network, generators=replace(network.generators, p_max=np.array([top, 1.0])))
        ).cost
        for top in (0.6001, 0.5999)
    ]
    assert (costs[0] - costs[1]) / 2e-4 == pytest.approx(gradients.p_max[0], rel=1e-5)
