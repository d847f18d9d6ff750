"""Spreads and chances of simulated releases."""

import numpy as np
import pytest
from scipy.stats import binom

from gridveil.publication.forecast.statistics import Chance, Spread


def test_nine_of_ten_values_lie_in_a_spread():
    values = np.random.default_rng(1).normal(size=10_000)
    spread = Spread.of(values)
    assert np.mean([spread.holds(value) for value in values]) == pytest.approx(0.9, abs=1e-3)
    assert spread.median == pytest.approx(0, abs=0.03)


def test_values_that_are_not_finite_say_nothing():
    assert Spread.of([np.nan, 1.0, np.inf]) == Spread(1.0, 1.0, 1.0)
    assert Spread.of([np.nan]) is None
    assert Spread.of([]) is None


@pytest.mark.parametrize("happened", range(11))
def test_the_interval_of_a_chance_is_that_of_clopper_and_pearson(happened):
    chance = Chance.of(happened, 10)
    if happened:
        assert binom.sf(happened - 1, 10, chance.low) == pytest.approx(0.05)
    if happened < 10:
        assert binom.cdf(happened, 10, chance.high) == pytest.approx(0.05)
    assert chance.low <= happened / 10 <= chance.high


def test_bands_of_few_releases_hold_nine_of_ten_further_ones():
    random = np.random.default_rng(2)
    held = [Spread.of(x[:20]).holds(x[20]) for x in random.standard_cauchy((4000, 21))]
    assert np.mean(held) == pytest.approx(0.9, abs=0.015)
