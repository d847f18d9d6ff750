from fractions import Fraction

import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.metric import Metric
from gridveil.privacy.ratings import PublicRatings
from gridveil.privacy.series.promise import SeriesPromise


@pytest.mark.parametrize(
    ("kind", "hide", "says"),
    [
        ("energy", "100%rating", "adds up to 100 % of its rating times 1 h"),
        ("energy", "5MVA", "adds up to 5 MVAh"),
        ("day", "5%rating", "up to 5 % of its rating in each of any 24 consecutive hours"),
        ("window", "2MVA", "up to 2 MVA in every hour of the release"),
    ],
)
def test_a_promise_says_what_it_hides(kind, hide, says):
    sentence = SeriesPromise.of(kind, 2, hide).sentence()
    assert says in sentence
    assert "at most 7.39 (ε = 2, δ = 0)" in sentence


def test_distances_follow_public_ratings_exactly():
    promise = SeriesPromise.of("day", "1/3", "5%rating")
    ratings = PublicRatings.of([10, "2.5"], "a grid map")
    assert promise.alphas(2, 100, ratings) == (Fraction(1, 200), Fraction(1, 800))
    assert SeriesPromise.of("day", 1, "5MVA").alphas(2, 100) == (Fraction(1, 20),) * 2


def test_energy_is_counted_in_a_metric_of_its_own():
    metrics = [SeriesPromise.of(kind, 1, "5MVA").metric for kind in ("energy", "day", "window")]
    assert metrics == [Metric.ENERGY, Metric.ABSOLUTE, Metric.ABSOLUTE]
    assert Metric.ENERGY.shown(Fraction(5)) == "5 MVAh"


@pytest.mark.parametrize(
    ("kind", "epsilon", "hide", "message"),
    [
        ("week", 1, "5MVA", "there are energy, day, window"),
        ("day", 0, "5MVA", "epsilon"),
        ("day", 1, "10%", "a share of the rating"),
    ],
)
def test_what_no_series_can_promise_is_refused(kind, epsilon, hide, message):
    with pytest.raises(GridveilError, match=message):
        SeriesPromise.of(kind, epsilon, hide)


def test_shares_of_ratings_need_ratings():
    promise = SeriesPromise.of("day", 1, "5%rating")
    with pytest.raises(GridveilError, match="--ratings"):
        promise.alphas(2, 100)
    with pytest.raises(GridveilError, match="ratings of 1 loads for a network of 2"):
        promise.alphas(2, 100, PublicRatings.of([10], "a grid map"))
