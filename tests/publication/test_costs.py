"""Private costs where the private loads have no AC-OPF: what they are projected by."""

import numpy as np
import pytest

from gridveil import GridveilError, load_case, solve_acopf
from gridveil.fidelity.projection import projected_loads
from gridveil.fidelity.weights import metric_weights, weighted_distance
from gridveil.publication import targets
from gridveil.publication.case_file import blank
from gridveil.publication.costs import private_costs
from tests.relative_noise import RELATIVE, loads_of, relative_loads

NETWORK = load_case("case30_ieee")


@pytest.fixture(scope="module")
def loads():
    """Private loads without an AC-OPF, and their weights."""
    noisy = next(
        noisy
        for seed in range(100)
        if not solve_acopf(
            NETWORK.with_loads(*loads_of(noisy := relative_loads(NETWORK, seed, 0.3)).T)
        ).status.solved
    )
    return loads_of(noisy), metric_weights(RELATIVE, loads_of(noisy))


def test_loads_that_count_alike_are_projected_2_per_cent_inside_the_limits(loads):
    noisy, weights = loads
    found, near = private_costs(blank(NETWORK), noisy, 0)
    expected = projected_loads(blank(NETWORK), noisy, 0.02)
    assert near == pytest.approx(expected.loads, abs=1e-12)
    same, again = private_costs(blank(NETWORK), noisy, 0, np.full(len(weights), 3.0))
    assert again == pytest.approx(near, abs=1e-4)
    assert same.values == pytest.approx(found.values, rel=1e-3, abs=1.0)


def test_loads_that_do_not_are_projected_by_their_weights(loads):
    noisy, weights = loads
    costs, near = private_costs(blank(NETWORK), noisy, 0, weights)
    expected = projected_loads(blank(NETWORK), noisy, 0.02, weights)
    assert near == pytest.approx(expected.loads, abs=1e-12)
    plain = projected_loads(blank(NETWORK), noisy, 0.02)
    assert weighted_distance(near, noisy, weights) < weighted_distance(plain.loads, noisy, weights)
    total = solve_acopf(NETWORK.with_loads(*near.T)).cost
    assert costs.values.sum() == pytest.approx(total, rel=1e-3)


def test_a_projection_that_does_not_end_is_given_up(loads, monkeypatch):
    """No margin gets more than its iterations, so that what is tried takes a bounded time."""
    noisy, _ = loads
    monkeypatch.setattr(targets, "_MOST_ITERATIONS", 3)
    with pytest.raises(GridveilError, match="no working network was found"):
        private_costs(blank(NETWORK), noisy, 0)
