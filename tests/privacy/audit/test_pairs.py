"""Pairs on the grid: the finest that a promise covers, and none that it does not."""

from fractions import Fraction

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.audit import audit
from gridveil.privacy.audit.pairs import all_pairs
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.mechanisms.piecewise import Piecewise
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.sampling.grid import to_grid


def distances(mechanism):
    return [np.abs(pair.one - pair.other).tolist() for pair in all_pairs(mechanism)]


@pytest.mark.parametrize(
    ("alpha", "reach"), [("0.1", 1000), ("1/3", 3334), ("0.25", 2500), ("7.7e-9", 7700)]
)
def test_one_step_apart_and_alpha_and_one_step_apart(alpha, reach):
    assert distances(PolarLaplace.of(1, alpha))[4:] == [[1, 0], [0, 1], [reach, 1], [1, reach]]


@pytest.mark.parametrize("alpha", [Fraction(1, 10), Fraction(1, 3), Fraction(77, 10**10)])
def test_two_loads_at_most_alpha_apart_may_be_that_far_apart_on_the_grid(alpha):
    mechanism = PolarLaplace.of(1, alpha)
    step, eta = mechanism.step, mechanism.step / 50
    low = step * Fraction(49, 100)
    loads = np.array(
        [[float(low), float(low)], [float(low + alpha - eta), float(low + eta)]], dtype=float
    )
    assert abs(np.abs(loads[1] - loads[0]).sum() - float(alpha)) < 1e-9 * float(alpha)
    (one, other), pairs = to_grid(loads, step), all_pairs(mechanism)
    assert (other - one).tolist() == (pairs[6].other - pairs[6].one).tolist()


@pytest.mark.parametrize("upper", [(2.0, 1.0), (0.0, 1.0), (0.0, 0.0)])
def test_pairs_stay_within_public_bounds(upper):
    bounds = PublicBounds(np.array([[-1.0, -0.5]]), np.array([upper]), "chosen for this test")
    mechanism = Piecewise.of(1, "0.1", bounds)
    assert distances(mechanism)[3:] == [[1, 0], [0, 1]]
    lower, upper = bounds.on_grid(mechanism.step, 1)
    for pair in all_pairs(mechanism):
        for load in (pair.one, pair.other):
            assert ((lower <= load) & (load <= upper)).all()


@pytest.mark.parametrize(
    ("mistake", "says"), [({"confidence": 1.0}, "below 1"), ({"pairs": ()}, "at least one pair")]
)
def test_mistakes_are_told(mistake, says):
    with pytest.raises(GridveilError, match=says):
        audit(PolarLaplace.of(1, "0.1"), **mistake)
