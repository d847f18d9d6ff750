"""The support of the exact planar mechanism, and how a float sampler fails the same test."""

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.attacks import impossible
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace, _proposal_scale

MECHANISM = PolarLaplace.of(1, 0.1)
DRAWS = 20_000


def test_float_noise_makes_outputs_that_another_load_cannot():
    zeros = np.zeros((DRAWS, 2))
    outputs = MECHANISM.simulate(zeros, np.random.default_rng(1))
    assert impossible(outputs[:, 0], 0.1).sum() > 0.2 * DRAWS


def test_exact_noise_does_not():
    """Every output of load 0 is whole steps from load α, at a probability within e^ε."""
    outputs = MECHANISM.release(np.zeros((DRAWS, 2), dtype=np.int64))
    alpha = np.array([1000, 0])
    assert outputs.dtype == np.int64
    values = outputs * float(MECHANISM.step)
    assert np.array_equal(np.rint(values / float(MECHANISM.step)), outputs)
    losses = MECHANISM.loss(outputs, np.zeros(2, dtype=np.int64), alpha)
    assert (~np.isfinite(losses)).sum() == 0
    assert np.abs(losses).max() <= 1.0


@pytest.mark.parametrize("scale", [0.37, 1.0, 2.5, 1002.0, 1e7])
def test_the_proposal_is_wide_enough_to_the_last_bit(scale):
    proposal = _proposal_scale(scale)
    assert Fraction(proposal) ** 2 >= 2 * Fraction(scale) ** 2
    assert proposal == pytest.approx(scale * np.sqrt(2), rel=1e-15)


def test_the_loss_never_exceeds_epsilon_for_adjacent_loads():
    random = np.random.default_rng(2)
    outputs = random.integers(-5000, 5000, (10_000, 2))
    other = random.integers(-501, 502, (10_000, 2))  # at most 1002 steps apart (L1)
    assert np.abs(MECHANISM.loss(outputs, np.zeros_like(other), other)).max() <= 1.0


def test_the_guarantee_says_it_in_megawatts():
    guarantee = MECHANISM.guarantee()
    assert (guarantee.epsilon, guarantee.delta, guarantee.distance) == (1.0, 0.0, 0.1)
    assert guarantee.scale == pytest.approx(0.1002)
    sentence = guarantee.sentence(100.0)
    assert "10 MVA" in sentence
    assert "2.72" in sentence
    for word in ("anonym", "cannot be detected"):
        assert word not in sentence
