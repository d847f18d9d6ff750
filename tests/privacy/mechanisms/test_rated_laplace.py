"""Rated Laplace: each load has the noise of its own rating, by another mechanism's theorem."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, dlaplace

from gridveil import Ledger, PublicRatings, RatedLaplace, load_case
from gridveil.errors import GridveilError
from gridveil.privacy.ledger.records import BudgetExceededError
from gridveil.privacy.phase import privatise

SMALL, LARGE = "0.5", "300"
RATINGS = PublicRatings.of([SMALL, "10", LARGE], "a grid map")
MECHANISM = RatedLaplace.of(1, "0.1", RATINGS, 100)


def test_the_distance_of_a_load_is_the_share_of_its_rating():
    assert MECHANISM.load_distances == (Fraction(1, 2000), Fraction(1, 100), Fraction(3, 10))
    promise = MECHANISM.guarantee()
    assert promise.distance == min(promise.distances) == 0.0005
    assert promise.largest_distance == 0.3
    assert "at most 10 % of its public rating" in promise.sentence(100)


@pytest.mark.parametrize("noise", ["product-laplace", "polar-laplace"])
def test_each_load_is_drawn_by_the_noise_of_its_distance(noise):
    mechanism = RatedLaplace.of(1, "0.1", RATINGS, 100, noise)
    loads = np.tile([[5, -7], [0, 0], [40, 1]], (4000, 1))
    noise_of = mechanism.release(loads) - loads
    for i in range(3):
        alone = mechanism.of_load(i)
        drawn, expected = noise_of[i::3], alone.release(np.zeros((4000, 2), dtype=np.int64))
        assert np.abs(drawn).mean() == pytest.approx(np.abs(expected).mean(), rel=0.1)
        shown = np.zeros((1, 2), dtype=np.int64)
        outputs = drawn[:50]
        assert mechanism.loss(*rows(i, outputs, 0), rows(i, outputs, 3)[1])[i::3] == pytest.approx(
            alone.loss(outputs, shown, shown + 3)
        )


def rows(i, outputs, value):
    """Return outputs at the place of load i, and a load of the same value everywhere."""
    placed = np.zeros((3 * len(outputs), 2), dtype=np.int64)
    placed[i::3] = outputs
    return placed, np.full((1, 2), value)


def test_the_noise_of_a_load_passes_a_chi_square_test():
    noise = MECHANISM.release(np.zeros((3 * 20_000, 2), dtype=np.int64))
    for i in range(3):
        scale = MECHANISM.of_load(i).calibration.scale
        law = dlaplace(1 / scale)
        edges = np.unique(np.rint(np.linspace(-3, 3, 13) * scale))
        counts = np.histogram(noise[i::3].ravel(), [-np.inf, *(edges + 0.5), np.inf])[0]
        cdf = np.concatenate([[0], law.cdf(edges), [1]])
        assert chisquare(counts, np.diff(cdf) * counts.sum()).pvalue > 1e-4


def test_loads_of_another_number_are_refused():
    with pytest.raises(GridveilError, match="4 loads for the ratings of 3"):
        MECHANISM.release(np.zeros((4, 2), dtype=np.int64))


def test_its_specification_makes_it_again():
    assert RatedLaplace.from_parameters(MECHANISM.specification()) == MECHANISM
    for name, value in (("ratings", '["1"]'), ("share", "0.10"), ("noise", "x"), ("step", "1")):
        other = {**MECHANISM.specification(), name: value}
        made = RatedLaplace.from_parameters(other)
        assert made is None or made != MECHANISM
    assert RatedLaplace.from_parameters({}) is None
    assert RatedLaplace.from_parameters({**MECHANISM.specification(), "share": "0.10"}) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"share": "0"}, "makes no sense"),
        ({"share": "11"}, "makes no sense"),
        ({"epsilon": "0"}, "epsilon"),
        ({"noise": "piecewise"}, "no distance per load"),
        ({"ratings": PublicRatings((), "none")}, "at least one"),
    ],
)
def test_what_cannot_be_is_refused(changes, says):
    asked = {"epsilon": 1, "share": "0.1", "ratings": RATINGS, "base_mva": 100, **changes}
    with pytest.raises(GridveilError, match=says):
        RatedLaplace.of(**asked)


def test_loads_are_charged_at_their_own_distances(tmp_path):
    network = load_case("case5_pjm")
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ratings = PublicRatings.of(["400", "200", "1000"], "a grid map")
    privatise(network, RatedLaplace.of(1, "0.1", ratings, 100), ledger, "first")
    distances = [float(account.cap.distance) for account in ledger.accounts()]
    assert distances == [40, 20, 100]
    assert {account.spent for account in ledger.accounts()} == {1}
    privatise(network, RatedLaplace.of(1, "0.05", ratings, 100), ledger, "half the share")
    assert {account.spent for account in ledger.accounts()} == {3}
    with pytest.raises(BudgetExceededError):
        privatise(network, RatedLaplace.of("0.1", "0.1", ratings, 100), ledger, "one too many")
