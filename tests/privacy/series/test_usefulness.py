import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.network.series.shapes import FIRST_HOUR
from gridveil.privacy.series.prior import Prior
from gridveil.privacy.series.promise import SeriesPromise
from gridveil.privacy.series.usefulness import errors_of, forecast_series, no_data, true_energy


def forecast(kind, epsilon, hide, hours=72):
    promise = SeriesPromise.of(kind, epsilon, hide)
    return forecast_series(promise, FIRST_HOUR, hours, [promise.hide.amount] * 20, [1.0] * 20)


def test_a_promise_that_leaves_the_hours_is_useful():
    found = forecast("energy", 2, "5%rating")
    assert not found.is_useless
    assert found.released.p < found.true_energy.p < found.no_data.p
    found.require_useful(accept_useless=False)


@pytest.mark.parametrize(
    ("kind", "epsilon", "hide"), [("window", 1, "50%rating"), ("day", "0.1", "5%rating")]
)
def test_a_promise_that_drowns_the_loads_is_refused_unless_accepted(kind, epsilon, hide):
    found = forecast(kind, epsilon, hide)
    assert found.is_useless
    with pytest.raises(GridveilError, match="--accept-useless"):
        found.require_useful(accept_useless=False)
    found.require_useful(accept_useless=True)


def test_it_is_judged_by_public_numbers_alone():
    assert forecast("day", 1, "5%rating") == forecast("day", 1, "5%rating")


def test_errors_are_relative_and_nothing_is_off_where_nothing_differs():
    p = np.abs(np.random.default_rng(1).normal(1, 0.2, (24, 3)))
    same = errors_of(p, p, p, p)
    assert (same.p, same.q, same.total, same.peak, same.ramp) == (0, 0, 0, 0, 0)
    twice = errors_of(2 * p, 3 * p, p, p)
    assert (twice.p, twice.q, twice.total, twice.peak, twice.ramp) == pytest.approx((1, 2, 1, 1, 1))


def test_baselines_are_shapes_with_rating_and_with_energy():
    prior = Prior.generated(FIRST_HOUR, 24)
    sizes = np.array([1.0, 3.0])
    p = np.random.default_rng(1).uniform(0.1, 1, (24, 2))
    shape, _ = no_data(prior, sizes)
    assert np.allclose(shape[:, 1], 3 * shape[:, 0])
    energy, _ = true_energy(p, p, prior, sizes)
    assert np.allclose(energy.sum(axis=0), p.sum(axis=0))
    assert np.allclose(energy[:, 0] / energy[0, 0], shape[:, 0] / shape[0, 0])
