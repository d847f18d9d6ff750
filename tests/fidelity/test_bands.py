"""Cost bands: exact for every shape of cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.fidelity.bands import Band, cost_bands
from tests.cases import TINY, gen, polynomial


def bands(gencost, costs, beta, **tables):
    network = TINY.with_(gencost=gencost, **tables).network()
    return network, cost_bands(network, np.array(costs), beta)


def test_a_monotone_cost_has_one_interval():
    _, (first, second) = bands(
        [polynomial(10.0, 0.0), polynomial(0.0, 20.0, 5.0)], [1000.0, 405.0], 0.1
    )
    assert first.intervals == (pytest.approx((0.9, 1.1), abs=1e-8),)
    assert second.intervals == (pytest.approx(((364.5 - 5) / 2000, (445.5 - 5) / 2000), abs=1e-8),)


def test_a_cost_with_a_valley_has_two():
    """c(p) = (p − 1)² in p.u. of 100 MW, O* = 0.25: both sides of the valley at p = 1."""
    cost = polynomial(1e-4, -0.02, 1.0)
    _, (band, _) = bands([cost, polynomial(1.0, 0.0)], [0.25, 0.0], 0.1)
    low, high = band.intervals
    assert low == pytest.approx((1 - np.sqrt(0.275), 1 - np.sqrt(0.225)), abs=1e-7)
    assert high == pytest.approx((1 + np.sqrt(0.225), 1 + np.sqrt(0.275)), abs=1e-7)
    assert band.hull == (low[0], high[1])
    assert band.nearest(0.9) == low
    assert band.slack(1.0) < 0 < band.slack(sum(low) / 2)


def test_piecewise_linear_costs():
    points = [1, 0, 0, 3, 0, 0, 100, 1000, 200, 4000]
    _, (band, _) = bands([points, polynomial(1.0, 0.0)], [1600.0, 0.0], 0.5)
    assert band.intervals == (pytest.approx((0.8, 1 + 1400 / 3000), abs=1e-7),)


def test_limits_cut_bands_off():
    _, (band, _) = bands([polynomial(10.0, 0.0), polynomial(1.0, 0.0)], [2000.0, 0.0], 0.5)
    assert band.intervals == (pytest.approx((1.0, 2.0), abs=1e-8),)


def test_a_generator_that_costs_nothing_is_free_and_one_that_was_off_stays_off():
    _, (free, off) = bands([polynomial(0.0, 0.0), polynomial(20.0, 0.0)], [0.0, 0.0], 0.01)
    assert free.intervals == ((0.0, 2.0),)
    assert off.hull == pytest.approx((0.0, 0.0), abs=1e-9)


def test_negative_costs_have_bands_of_their_size():
    _, (band, _) = bands([polynomial(-10.0, 0.0), polynomial(1.0, 0.0)], [-1000.0, 0.0], 0.1)
    assert band.intervals == (pytest.approx((0.9, 1.1), abs=1e-8),)


def test_no_tolerance_leaves_a_point():
    _, (band, _) = bands([polynomial(10.0, 0.0), polynomial(1.0, 0.0)], [1000.0, 50.0], 0.0)
    assert band.hull == pytest.approx((1.0, 1.0), abs=1e-8)


def test_an_empty_band_is_refused_by_name():
    with pytest.raises(GridveilError, match=r"generator 1 \(bus 1\): no output within its limits"):
        bands([polynomial(10.0, 0.0), polynomial(1.0, 0.0)], [5000.0, 0.0], 0.1)


coefficients = st.lists(st.floats(-50, 50), min_size=1, max_size=5)


@given(coefficients, st.floats(0, 200), st.floats(0.001, 0.5), st.floats(0, 200))
def test_an_output_is_in_its_band_exactly_if_its_cost_is(shape, at, beta, tried):
    """Any polynomial: O* is its cost at some output, and any other output is tried."""
    scaled = [c * 0.01**k for k, c in enumerate(reversed(shape))][::-1]
    case = TINY.with_(
        gen=[gen(1, 200.0), TINY.gen[1]], gencost=[polynomial(*scaled), polynomial(0.0)]
    )
    network = case.network()
    cost = network.generators.costs
    target = cost(np.array([at / 100, 0.0]))
    (band, _) = cost_bands(network, target, beta)
    assert band.slack(at / 100) >= -1e-6
    excess = abs(cost(np.array([tried / 100, 0.0]))[0] - target[0]) - beta * abs(target[0])
    slack = band.slack(tried / 100)
    if excess > 1e-3:
        assert slack < 0
    if excess < -1e-3:
        assert slack >= 0


def test_the_nearest_interval_of_several():
    band = Band(((0.0, 1.0), (2.0, 3.0)))
    assert band.nearest(1.4) == (0.0, 1.0)
    assert band.nearest(1.6) == (2.0, 3.0)
    assert band.slack(2.25) == 0.25
