import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.network.series.shapes import CUSTOMERS, FIRST_HOUR
from gridveil.privacy.series.basis import Basis
from gridveil.privacy.series.design import chosen_basis
from gridveil.privacy.series.mechanism import series_mechanism
from gridveil.privacy.series.prior import Prior, made_up_customers
from gridveil.privacy.series.promise import SeriesPromise
from gridveil.privacy.series.smoothing import smoothed_coefficients

WEEK = Prior.generated(FIRST_HOUR, 168)


def basis(kind="day", epsilon=1, hide="5%rating", prior=WEEK):
    part = float(SeriesPromise.of(kind, epsilon, hide).hide.amount)
    return chosen_basis(SeriesPromise.of(kind, epsilon, hide), prior, [part], [1.0])


def test_energy_has_every_hour():
    assert basis("energy") == Basis.hourly()


def test_less_noise_allows_more_coefficients():
    counts = [len(basis(epsilon=epsilon).frequencies) for epsilon in (1, 5, 100)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_a_week_is_measured_at_its_daily_rhythm():
    assert 0 in basis("window", epsilon=20).frequencies
    assert 14 in basis("window", epsilon=20).frequencies  # 14 half waves in seven days


def test_the_choice_repeats():
    again = Prior.generated(FIRST_HOUR, 168)
    assert basis() == basis(prior=again)


def test_noise_that_cannot_be_drawn_is_refused():
    with pytest.raises(GridveilError, match="wider noise"):
        basis("day", epsilon="1e-9")


@pytest.mark.parametrize(
    ("epsilon", "others"), [(1, ((0, 1, 2, 3, 4, 5, 6, 7),)), (100, ((0,), (0, 1)))]
)
def test_made_up_loads_are_nearer_with_the_choice_than_with_others(epsilon, others):
    """By simulation, on customers that the prior has not seen."""
    promise = SeriesPromise.of("day", epsilon, "5%rating")
    p, q = made_up_customers(FIRST_HOUR, 168, CUSTOMERS, 60, seed=9)
    off = []
    for one in (basis(epsilon=epsilon), *(Basis.even(24, frequencies) for frequencies in others)):
        made = series_mechanism(promise, 1, (promise.hide.amount,) * 60, FIRST_HOUR, 168, one)
        drawn = made.simulate(made.to_grid(p.T, q.T), np.random.default_rng(1))
        found = smoothed_coefficients(made, drawn, WEEK, np.ones(60))
        off.append(sum(((x - y.T) ** 2).sum() for x, y in zip(found, (p, q), strict=True)))
    assert off[0] < min(off[1:])
