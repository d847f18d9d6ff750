"""The AC-OPF of several hours: hourly optima without ramps, ramps kept, checked by enumeration."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import load_case, solve_acopf
from gridveil.opf.multi_hour import solve_multi_hour
from gridveil.opf.operating_point import violations
from gridveil.opf.ramps import ramp_excess

SHARES = np.array([0.7, 1.0, 0.8])
"""The load of each hour, of that of the case."""


@pytest.fixture(scope="module")
def network():
    return load_case("case5_pjm")


def loads(network, shares=SHARES):
    return shares[:, None] * network.loads.p, shares[:, None] * network.loads.q


@pytest.mark.parametrize("name", ["case5_pjm", "case30_ieee"])
def test_without_ramps_each_hour_costs_what_it_costs_alone(name):
    network = load_case(name)
    p, q = loads(network)
    found = solve_multi_hour(network, p, q, np.full(len(network.generators), np.inf))
    alone = [solve_acopf(network.with_loads(*hour)).cost for hour in zip(p, q, strict=True)]
    assert found.status.solved
    np.testing.assert_allclose(found.generator_costs.sum(axis=1), alone, rtol=1e-7)


def test_ramps_are_kept_and_every_hour_works(network):
    p, q = loads(network)
    free = solve_multi_hour(network, p, q, np.full(5, np.inf))
    ramps = np.full(5, 1.0)
    assert ramp_excess(free.points.p, ramps) > 0.1  # so that they bind
    found = solve_multi_hour(network, p, q, ramps)
    assert found.status.solved
    assert ramp_excess(found.points.p, ramps) < 1e-7
    for hour, at in enumerate(zip(p, q, strict=True)):
        assert violations(network.with_loads(*at), found.points.at(hour)).largest < 1e-6
    assert found.generator_costs.sum() > free.generator_costs.sum()


def test_the_joint_optimum_is_that_of_enumerated_outputs(network):
    """Fix the first hour's output of the one generator with a ramp limit, on a grid."""
    p, q = loads(network, SHARES[:2])
    bound = 4
    ramps = np.full(5, np.inf)
    ramps[bound] = 0.3

    def cost(hour, low, high):
        gens = network.generators
        p_min, p_max = gens.p_min.copy(), gens.p_max.copy()
        p_min[bound], p_max[bound] = max(low, p_min[bound]), min(high, p_max[bound])
        held = replace(network, generators=replace(gens, p_min=p_min, p_max=p_max))
        result = solve_acopf(held.with_loads(p[hour], q[hour]))
        return result.cost if result.status.solved else np.inf

    def both(x):
        return cost(0, x, x) + cost(1, x - 0.3, x + 0.3)

    found = solve_multi_hour(network, p, q, ramps)
    at, joint = found.points.p[0, bound], found.generator_costs.sum()
    assert abs(found.points.p[1, bound] - at) == pytest.approx(0.3, abs=1e-6)
    grid = at + np.linspace(-0.5, 0.5, 11)
    assert both(at) == pytest.approx(joint, rel=1e-5)
    assert min(map(both, grid)) >= joint * (1 - 1e-6)


def test_the_hour_before_counts(network):
    p, q = loads(network)
    first = solve_acopf(network.with_loads(p[0], q[0])).point.p
    before = np.clip(first + 0.5, network.generators.p_min, network.generators.p_max)
    found = solve_multi_hour(network, p, q, np.full(5, 1.0), before)
    assert found.status.solved
    assert np.abs(found.points.p[0] - before).max() <= 1.0 + 1e-6


def test_ramps_that_cannot_be_kept_are_said(network):
    p, q = loads(network, np.array([0.5, 1.0]))
    assert not solve_multi_hour(network, p, q, np.full(5, 1e-3)).status.solved
