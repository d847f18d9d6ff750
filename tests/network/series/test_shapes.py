"""Made-up profiles: like loads in what matters, the same for the same seed, carried by networks."""

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.network.library import load_case
from gridveil.network.series.shapes import CUSTOMERS, FIRST_HOUR, customer_shapes, example_series
from gridveil.opf.acopf import solve_acopf

NETWORK = load_case("case14_ieee")
YEAR, RATINGS = example_series(NETWORK, 8760, 1)


def test_every_shape_has_the_mean_1_over_its_year():
    shapes = customer_shapes(482136, 8760)
    np.testing.assert_allclose(shapes.mean(axis=1), 1.0, rtol=1e-12)
    assert shapes.min() > 0


def test_customers_keep_the_time_of_their_zone():
    in_utc = customer_shapes(FIRST_HOUR, 48)
    in_tokyo = customer_shapes(FIRST_HOUR - 9, 48, "Asia/Tokyo")
    np.testing.assert_array_equal(in_utc, in_tokyo)
    with pytest.raises(GridveilError, match="Europe/Berlin"):
        customer_shapes(FIRST_HOUR, 24, "Mars/Base")


def test_offices_and_industry_rest_at_weekends_and_households_peak_in_winter():
    week = customer_shapes(FIRST_HOUR, 168).reshape(len(CUSTOMERS), 7, 24).mean(axis=2)
    for name, ratio in (("office", 0.75), ("industry", 0.85), ("shop", 0.8)):
        day = week[[kind.name for kind in CUSTOMERS].index(name)]
        assert day[6] < ratio * day[:5].mean(), name
    january, july = (customer_shapes(482136 + 24 * day, 24)[0].mean() for day in (14, 196))
    assert january > 1.3 * july


def test_more_hours_of_a_seed_continue_the_fewer():
    day, ratings = example_series(NETWORK, 24, 1)
    assert day == YEAR.between(0, 24)
    assert ratings == RATINGS
    assert example_series(NETWORK, 24, 2)[0] != day


def test_no_load_ever_draws_more_than_its_rating():
    apparent = np.hypot(YEAR.p, YEAR.q).max(axis=0) * NETWORK.base_mva
    assert (apparent <= [float(rating) for rating in RATINGS]).all()
    assert (apparent > 0).all()


def test_loads_move_together_and_differ_from_each_other():
    share = YEAR.p / NETWORK.loads.p
    daily = share.reshape(-1, 24, share.shape[1]).mean(axis=1)
    together = np.corrcoef(daily.T)
    assert np.median(together) > 0.1
    assert together[~np.eye(len(together), dtype=bool)].max() < 0.999
    assert 0.15 < share.std(axis=0).mean() < 0.4


@pytest.mark.parametrize("hour", [3, 12, 19, 6 * 24 + 4])
def test_the_network_works_with_them(hour):
    assert solve_acopf(NETWORK.with_loads(*YEAR.at(hour))).status.solved


def test_hours_there_are_not():
    with pytest.raises(GridveilError, match="at least 1"):
        example_series(NETWORK, 0, 1)
