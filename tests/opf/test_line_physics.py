"""Physics with impedances as variables: against the plain one, and finite differences."""

import numpy as np
import pytest
from scipy.sparse import coo_array

from gridveil import load_case
from gridveil.opf.line_physics import LinePhysics
from gridveil.opf.physics import Physics
from tests.privacy.quantities.hard_case import hard_case

STEP = 1e-6


@pytest.fixture(params=["hard", "case14_ieee"])
def physics(request):
    """Series capacitors, no resistance, parallel and tiny ones; taps."""
    network = hard_case().network() if request.param == "hard" else load_case(request.param)
    return LinePhysics(network), network


def point(network, rng, moved=0.2):
    n = len(network.buses)
    t = rng.normal(0, moved, 3 * len(network.lines)) if moved else np.zeros(3 * len(network.lines))
    return np.concatenate([rng.normal(0, 0.1, n), rng.uniform(0.95, 1.05, n), t])


def matrix(entries, structure, shape):
    return coo_array((entries, structure), shape=shape).toarray()


def test_without_a_move_it_is_the_plain_physics(physics):
    of, network = physics
    x = point(network, np.random.default_rng(1), moved=0.0)
    assert np.array_equal(of.values(x), Physics(network).values(x))
    moved = of.lines_at(point(network, np.random.default_rng(1)))
    assert ((moved.r == 0) == (network.lines.r == 0)).all()
    assert (np.sign(moved.x) == np.sign(network.lines.x)).all()


def test_derivatives_agree_with_finite_differences(physics):
    of, network = physics
    rng = np.random.default_rng(2)
    x, multipliers = point(network, rng), rng.normal(size=of.rows)

    def jacobian(at):
        return matrix(of.jacobian(at), of.jacobian_structure(), (of.rows, of.columns))

    lower = matrix(of.hessian(x, multipliers), of.hessian_structure(), (of.columns, of.columns))
    assert (np.triu(lower, 1) == 0).all()
    first, second = jacobian(x), lower + np.tril(lower, -1).T
    steps = STEP * np.eye(of.columns)
    by_values = [(of.values(x + step) - of.values(x - step)) / (2 * STEP) for step in steps]
    by_slopes = [
        (jacobian(x + step) - jacobian(x - step)).T @ multipliers / (2 * STEP) for step in steps
    ]
    np.testing.assert_allclose(first, np.stack(by_values, 1), atol=1e-8 * np.abs(first).max())
    np.testing.assert_allclose(second, np.stack(by_slopes), atol=1e-8 * np.abs(second).max())
