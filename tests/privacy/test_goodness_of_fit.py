"""Every sampler's draws fit the distribution its proof needs (10⁶ draws in benchmarks/)."""

import numpy as np

from benchmarks.goodness_of_fit import SMALL, THRESHOLD, chi_square, p_values
from gridveil.privacy.mechanisms.polar_laplace import planar_laplace


def test_every_sampler_fits():
    tested = dict(p_values(60_000))
    assert len(tested) >= 30
    assert {name: p for name, p in tested.items() if not p > THRESHOLD} == {}


def test_the_test_can_fail():
    """Ten per cent too little noise, or noise of the wrong shape, does not fit."""
    assert chi_square(planar_laplace(60_000, 0.9 * SMALL), np.hypot) < THRESHOLD
    assert chi_square(planar_laplace(60_000, SMALL), lambda x, y: abs(x) + abs(y)) < THRESHOLD
