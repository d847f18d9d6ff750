"""Public limits of loads: the nearest loads within them, and restored loads that keep them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil import (
    AgentOptions,
    GridveilError,
    LoadLimits,
    PolarLaplace,
    load_case,
    restore,
    restore_many,
    simulate_loads,
    solve_acopf,
)
from gridveil.fidelity.base import BandKind, FidelityProblem
from gridveil.fidelity.phase import fidelity_problems
from gridveil.fidelity.projection import projected_loads
from gridveil.fidelity.registry import make_method
from gridveil.fidelity.weights import weighted_distance
from tests.fidelity.test_agents import TIGHT
from tests.relative_noise import relative_loads

CASES = ["case5_pjm", "case14_ieee", "case30_ieee", "case57_ieee"]
FACTORS = [None, 0.9]
sizes = st.floats(-50, 50)
load_lists = st.lists(st.tuples(sizes, sizes, st.booleans()), min_size=1, max_size=8)
factors = st.one_of(st.none(), st.floats(0.01, 0.999))


def all_of(network, factor=None):
    return LoadLimits(np.ones(len(network.loads), dtype=bool), factor)


def made(rows, factor):
    p, q, consumers = zip(*rows, strict=True)
    return LoadLimits(np.array(consumers), factor), np.stack([p, q], axis=1)


@given(load_lists, factors)
def test_the_nearest_loads_keep_the_limits_and_stay_where_they_are(rows, factor):
    limits, loads = made(rows, factor)
    near = limits.nearest(loads)
    assert limits.excess(near) == 0.0
    assert (limits.nearest(near) == near).all()
    assert (near[~limits.consumers] == loads[~limits.consumers]).all()
    assert not np.signbit(near[limits.consumers, 0]).any()


@given(load_lists, factors, st.floats(0, 60), st.floats(-1, 1))
def test_no_load_within_the_limits_is_nearer(rows, factor, p, share):
    limits, loads = made(rows, factor)
    q = 60 * share if factor is None else limits.slope * p * share
    near, other = limits.nearest(loads), np.array([p, q])
    mine = np.hypot(*(near - loads).T)[limits.consumers]
    theirs = np.hypot(*(other - loads).T)[limits.consumers]
    assert (mine <= theirs * (1 + 1e-12) + 1e-12).all()


@given(load_lists, factors)
def test_a_load_moves_without_knowing_the_others(rows, factor):
    limits, loads = made(rows, factor)
    for i, row in enumerate(limits.nearest(loads)):
        alone = LoadLimits(limits.consumers[i : i + 1], factor).nearest(loads[i : i + 1])
        assert (alone[0] == row).all()


def test_the_excess_is_what_breaks_the_limits():
    limits = LoadLimits(np.array([True, True, False]), 0.6)  # |Q| ≤ 4/3 P
    assert limits.slope == pytest.approx(4 / 3)
    loads = np.array([[3.0, -5.0], [-0.5, 0.0], [-9.0, 9.0]])
    assert limits.excess(loads) == pytest.approx(1.0)
    assert replace(limits, power_factor=None).excess(loads) == 0.5


@pytest.mark.parametrize("factor", [0.0, 1.0, -0.9, 2.0, np.nan])
def test_a_power_factor_that_is_none_is_refused(factor):
    with pytest.raises(GridveilError, match="must be above 0 and below 1"):
        LoadLimits(np.array([True]), factor)


def test_limits_of_another_network_are_refused():
    limits = LoadLimits(np.ones(2, dtype=bool))
    with pytest.raises(GridveilError, match="limits: 2 loads for 3 noisy ones"):
        FidelityProblem(
            load_case("case5_pjm"), np.zeros((3, 2)), np.zeros(5), 0.1, BandKind.COST,
            limits=limits,
        )  # fmt: skip


def problem(name, factor, seed=1, beta=0.05, relative=False):
    network = load_case(name)
    noisy = (
        relative_loads(network, seed)
        if relative
        else simulate_loads(network, PolarLaplace.of(1, 0.1), seed)
    )
    costs = solve_acopf(network).generator_costs
    return fidelity_problems(
        network, [noisy], costs, beta, make_method("central"), "generator", all_of(network, factor)
    )[0]


def solved(of, method, agents=None):
    found = make_method(method, agents).solve(of)
    assert found.status.solved
    return np.stack([found.p, found.q], axis=1)


@pytest.mark.parametrize("method", ["central", "bilevel"])
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", CASES)
def test_restored_loads_keep_their_limits_exactly(name, factor, method):
    network = load_case(name)
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    limits = all_of(network, factor)
    costs = solve_acopf(network).generator_costs
    restored = restore(network, noisy, costs, 0.05, method, limits=limits)
    assert restored.status.solved
    assert restored.max_violation < 1e-6
    loads = restored.network.loads.values
    assert limits.excess(loads) == 0.0
    if name != "case5_pjm":  # whose three loads are large
        free = restore(network, noisy, costs, 0.05, method).network.loads.values
        assert limits.excess(free) > 1e-3


@pytest.mark.parametrize("factor", FACTORS)
def test_limits_that_nothing_breaks_change_nothing_but_rounding(factor):
    network = load_case("case14_ieee")
    noisy = simulate_loads(network, PolarLaplace.of(1, 1e-4, step=1e-7), 1)
    costs = solve_acopf(network).generator_costs
    free = restore(network, noisy, costs, 0.05, "central")
    true = np.array([network.loads.p > 0.01, np.abs(network.loads.q) < 0.4 * network.loads.p])
    limits = LoadLimits(true.all(axis=0), factor)
    assert limits.consumers.sum() >= 5
    held = restore(network, noisy, costs, 0.05, "central", limits=limits)
    assert held.distance_to(free) < 1e-6


def test_no_limits_give_the_same_bits():
    network = load_case("case14_ieee")
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    costs = solve_acopf(network).generator_costs
    nobody = LoadLimits(np.zeros(len(network.loads), dtype=bool), 0.9)
    for method in ("central", "bilevel", "admm"):
        free = restore(network, noisy, costs, 0.05, method)
        for limits in (None, nobody):
            again = restore(network, noisy, costs, 0.05, method, limits=limits)
            assert (again.network.loads.values == free.network.loads.values).all()


@pytest.mark.parametrize("factor", FACTORS)
def test_projected_loads_keep_the_limits(factor):
    network = load_case("case30_ieee")
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.2), 2)
    limits = all_of(network, factor)
    loads = limits.nearest(np.stack([noisy.p, noisy.q], axis=1))
    found = projected_loads(network, loads, 0.02, limits=limits)
    assert found.status.solved
    assert limits.excess(found.loads) == 0.0


@pytest.mark.parametrize("relative", [False, True], ids=["absolute", "relative"])
@pytest.mark.parametrize("factor", FACTORS)
def test_agents_with_patience_find_the_central_solution(factor, relative):
    of = problem("case14_ieee", factor, relative=relative)
    near, central = solved(of, "admm", TIGHT), solved(of, "central")
    assert of.limits.excess(near) == 0.0
    assert np.abs(near - central).max() <= 2e-5
    if not relative:
        free = solved(replace(of, limits=None), "central")
        assert weighted_distance(central, free, of.weights) > 1e-3


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", CASES)
def test_agents_keep_the_limits_as_they_are(name, factor):
    of = problem(name, factor, seed=2)
    found = make_method("admm").solve(of)
    loads, central = np.stack([found.p, found.q], axis=1), solved(of, "central")
    assert found.status.solved
    assert of.limits.excess(loads) == 0.0
    distance = weighted_distance(central, of.noisy, of.weights)
    assert weighted_distance(loads, central, of.weights) <= 0.02 * distance + 1e-2


def test_many_draws_and_a_polished_run_keep_them_too():
    network = load_case("case14_ieee")
    limits = all_of(network, 0.9)
    draws = [simulate_loads(network, PolarLaplace.of(1, 0.1), seed) for seed in (1, 2)]
    costs = solve_acopf(network).generator_costs
    few = AgentOptions(max_iterations=50, polish=True)
    for found in restore_many(network, draws, costs, 0.05, "admm", agents=few, limits=limits):
        assert found.status.solved
        assert limits.excess(found.network.loads.values) == 0.0
