import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.network.series.shapes import CUSTOMERS, FIRST_HOUR
from gridveil.privacy.series.prior import Prior, from_days, made_up_customers, to_days


@pytest.mark.parametrize("hours", [5, 24, 30, 168])
def test_a_transform_along_days_gives_the_series_back(hours):
    series = np.random.default_rng(1).normal(size=(3, hours))
    assert np.allclose(from_days(to_days(series), hours), series)


def test_the_transform_keeps_sizes_so_that_white_noise_stays_white():
    series = np.random.default_rng(1).normal(size=(2, 168))
    assert np.linalg.norm(to_days(series)) == pytest.approx(np.linalg.norm(series))


def test_made_up_customers_repeat_and_differ_by_seed():
    one, again, other = (
        made_up_customers(FIRST_HOUR, 48, CUSTOMERS, 5, seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert np.min(one[0]) > 0
    assert np.max(one[0]) < 1.6


def test_covariances_are_positive_and_those_of_the_samples():
    prior = Prior.generated(FIRST_HOUR, 24 * 14, customers=40)
    covariance = prior.spectrum.covariance
    assert covariance.shape == (14, 48, 48)
    assert np.linalg.eigvalsh(covariance).min() > 0
    total = np.einsum("fhh->", covariance[:, :24, :24]) / 1.15  # what is added to the diagonal
    spread = ((prior.p - prior.p.mean(axis=0)) ** 2).sum() / 39
    assert total == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (np.ones((1, 24)), np.ones((1, 24))),
        (np.ones((2, 24)), np.ones((2, 23))),
        (np.full((2, 24), np.nan), np.ones((2, 24))),
    ],
)
def test_what_is_no_prior_is_refused(p, q):
    with pytest.raises(GridveilError, match="prior"):
        Prior(p, q, "a file")
