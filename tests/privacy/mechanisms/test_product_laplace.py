import numpy as np
import opendp.prelude as dp
import pytest

from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace


@pytest.mark.parametrize(("epsilon", "alpha"), [(1, 0.1), (0.5, 0.03), (2.5, 0.01), (0.1, 1)])
def test_opendp_agrees_with_the_calibration(epsilon, alpha):
    """OpenDP's own privacy map, at the distance of adjacent loads in steps, gives at most ε."""
    calibration = ProductLaplace.of(epsilon, alpha).calibration
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    noise = dp.m.make_laplace(*space, scale=calibration.scale)
    assert noise.map(int(calibration.steps)) <= epsilon * (1 + 1e-15)


def test_the_loss_never_exceeds_epsilon_for_adjacent_loads():
    mechanism = ProductLaplace.of(1, 0.1)
    random = np.random.default_rng(2)
    outputs = random.integers(-5000, 5000, (10_000, 2))
    other = random.integers(-501, 502, (10_000, 2))
    assert np.abs(mechanism.loss(outputs, np.zeros_like(other), other)).max() <= 1.0


def test_it_needs_a_third_less_variance_than_the_planar_one():
    zeros = np.zeros((200_000, 2))
    product, planar = (
        kind.of(1, 0.1).simulate(zeros, np.random.default_rng(4)).var()
        for kind in (ProductLaplace, PolarLaplace)
    )
    assert product / planar == pytest.approx(2 / 3, rel=0.02)


def test_exact_outputs_of_one_load_are_possible_for_another():
    mechanism = ProductLaplace.of(1, 0.1)
    outputs = mechanism.release(np.zeros((20_000, 2), dtype=np.int64))
    losses = mechanism.loss(outputs, np.zeros(2, dtype=np.int64), np.array([1000, 0]))
    assert np.isfinite(losses).all()
    assert np.abs(losses).max() <= 1.0
