"""The audit: passes what is sound, catches what is broken, and has the power to.

The samplers take operating-system entropy, so the tests ask for a confidence at which a false
alarm comes once in a million runs, and for trials enough to reach the claim all the same.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.audit import AuditVerdict, audit
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.mechanisms.base import near_pairs
from gridveil.privacy.mechanisms.piecewise import Piecewise, far_pairs
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace, planar_laplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace

BOUNDS = PublicBounds(np.array([[-1.0, -1.0]]), np.array([[2.0, 2.0]]), "chosen for this test")
ZERO_AND_ALPHA = near_pairs(0.1)[:1]
SURE = 1 - 1e-6


@pytest.mark.parametrize(
    ("mechanism", "pairs", "trials"),
    [
        (PolarLaplace.of(1, 0.1), ZERO_AND_ALPHA, 400_000),
        (ProductLaplace.of(1, 0.1), ZERO_AND_ALPHA, 150_000),
        (Piecewise.of(1, 0.1, BOUNDS), far_pairs(BOUNDS)[1:2], 200_000),
    ],
    ids=["polar", "product", "piecewise-sound"],
)
def test_sound_mechanisms_are_found_within_a_tenth_of_their_claim(mechanism, pairs, trials):
    result = audit(mechanism, epsilon=1.0, pairs=pairs, trials=trials, confidence=SURE)
    assert 0.9 <= result.epsilon_lower_bound <= 1.0
    assert result.verdict is AuditVerdict.CONSISTENT


def test_the_papers_piecewise_calibration_is_caught():
    result = audit(
        Piecewise.of(1, 0.1, BOUNDS, "paper"), epsilon=1.0, pairs=near_pairs(0.1), trials=20_000
    )
    assert result.epsilon_lower_bound > 5
    assert result.verdict is AuditVerdict.BROKEN


@dataclass(frozen=True)
class ExponentialRadius(PolarLaplace):
    """The classic mistake: a radius with exponential density, so that small noise is too likely."""

    def release(self, loads):
        random = np.random.default_rng()
        radius = random.exponential(self.calibration.scale, len(loads))
        angle = random.random(len(loads)) * 2 * np.pi
        noise = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return loads + np.rint(noise).astype(np.int64)


@dataclass(frozen=True)
class TooLittleNoise(PolarLaplace):
    """Ten per cent too little noise."""

    def release(self, loads):
        return loads + planar_laplace(len(loads), 0.9 * self.calibration.scale)


@pytest.mark.parametrize(
    ("broken", "trials"), [(ExponentialRadius, 100_000), (TooLittleNoise, 300_000)]
)
def test_broken_polar_mechanisms_are_caught(broken, trials):
    result = audit(broken.of(1, 0.1), epsilon=1.0, pairs=ZERO_AND_ALPHA, trials=trials)
    assert result.verdict is AuditVerdict.BROKEN


def test_one_unlucky_game_is_played_again():
    """One game in a hundred against a sound mechanism ends above its claim: that is no proof."""
    games = []

    @dataclass(frozen=True)
    class UnluckyOnce(ProductLaplace):
        def release(self, loads):
            games.append(len(loads))
            return loads if len(games) == 1 else super().release(loads)

    result = audit(
        UnluckyOnce.of(1, 0.1), epsilon=1.0, pairs=ZERO_AND_ALPHA, trials=20_000, confidence=SURE
    )
    assert result.verdict is not AuditVerdict.BROKEN
    # Once more for the pair, and once more for rare events of all pairs together.
    assert games.count(20_000) == 3


def test_too_much_noise_is_told_apart_from_a_proof():
    @dataclass(frozen=True)
    class TooMuchNoise(ProductLaplace):
        def release(self, loads):
            return ProductLaplace.of(0.5, 0.1).release(loads)

    assert (
        audit(TooMuchNoise.of(1, 0.1), epsilon=1.0, pairs=ZERO_AND_ALPHA, trials=60_000).verdict
        is AuditVerdict.WEAK
    )


def test_all_pairs_are_at_distance_alpha_and_a_zero_load_is_among_them():
    pairs = near_pairs(0.1)
    assert all(abs(a - c) + abs(b - d) == pytest.approx(0.1) for (a, b), (c, d) in pairs)
    assert any((0.0, 0.0) in pair for pair in pairs)
    assert any((0.0, 0.0) in pair for pair in far_pairs(BOUNDS))


def test_too_few_trials_are_refused():
    with pytest.raises(GridveilError, match="too few"):
        audit(PolarLaplace.of(1, 0.1), epsilon=1.0, pairs=ZERO_AND_ALPHA, trials=10)


def test_a_leak_turned_upside_down_is_caught():
    """A mechanism that answers with the other load is as bad as one that answers with the load."""

    @dataclass(frozen=True)
    class UpsideDown(PolarLaplace):
        def release(self, loads):
            return np.array([1000, 0]) - loads

    result = audit(UpsideDown.of(1, 0.1), epsilon=1.0, pairs=ZERO_AND_ALPHA, trials=5_000)
    assert result.verdict is AuditVerdict.BROKEN
