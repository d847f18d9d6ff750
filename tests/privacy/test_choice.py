"""Which mechanism hides what was asked for."""

from fractions import Fraction

import numpy as np
import pytest

from gridveil import PublicBounds, load_case
from gridveil.errors import GridveilError
from gridveil.privacy.choice import default_floor, noise_choice
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import simulate_loads
from gridveil.privacy.ratings import PublicRatings

NETWORK = load_case("case14_ieee")
RATINGS = PublicRatings.of([10 * (i + 1) for i in range(len(NETWORK.loads))], "a grid map")


def made(epsilon=None, **asked):
    return noise_choice(**asked).make(NETWORK, epsilon)


def test_ten_per_cent_of_each_load_is_hidden_if_nothing_is_said():
    promise = made().guarantee()
    assert (promise.mechanism, promise.kind) == ("relative-laplace", Metric.RELATIVE)
    assert (promise.epsilon, promise.distance, promise.floor) == (1, 0.1, 0.0025)
    assert made(hide="10%").specification() == made().specification()
    assert made(mechanism="relative-laplace").specification() == made().specification()


@pytest.mark.parametrize(
    ("asked", "mechanism", "alpha"),
    [
        ({"hide": "5MVA"}, "product-laplace", 0.05),
        ({"alpha": "0.05"}, "product-laplace", 0.05),
        ({"mechanism": "product-laplace"}, "product-laplace", 0.1),
        ({"mechanism": "polar-laplace"}, "polar-laplace", 0.1),
        ({"mechanism": "polar-laplace", "hide": "5MVA"}, "polar-laplace", 0.05),
    ],
)
def test_mva_and_per_unit_are_absolute_distances(asked, mechanism, alpha):
    promise = made(**asked).guarantee()
    assert (promise.mechanism, promise.kind) == (mechanism, Metric.ABSOLUTE)
    assert promise.distance == alpha


def test_shares_of_ratings_give_each_load_a_distance():
    promise = made(hide="20%rating", ratings=RATINGS).guarantee()
    assert promise.mechanism == "rated-laplace"
    assert promise.distances == tuple(0.02 * (i + 1) for i in range(11))
    polar = made(hide="20%rating", ratings=RATINGS, mechanism="polar-laplace")
    assert polar.specification()["noise"] == "polar-laplace"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"hide": "10%", "alpha": "0.1"}, "drop one"),
        ({"hide": "10%", "mechanism": "polar-laplace"}, "has no relative distance"),
        ({"alpha": "0.1", "mechanism": "relative-laplace"}, "say --hide in %"),
        ({"hide": "5MVA", "mechanism": "relative-laplace"}, "say --hide in %"),
        ({"hide": "5MVA", "floor": "1MVA"}, "--floor"),
        ({"alpha": "0.1", "floor": "1MVA"}, "--floor"),
        ({"hide": "10%", "ratings": RATINGS}, "--ratings"),
        ({"hide": "10%rating"}, "--ratings FILE"),
        ({"hide": "10%rating", "mechanism": "piecewise", "ratings": RATINGS}, "no distance per"),
        ({"hide": "10%", "floor": "0"}, "floor"),
        ({"hide": "60%"}, "raise epsilon"),
        ({"hide": "2000%rating", "ratings": RATINGS}, "makes no sense"),
    ],
)
def test_what_does_not_fit_together_is_refused(asked, says):
    with pytest.raises(GridveilError, match=says):
        made(**asked)


def test_floors_are_in_mva():
    for floor in ("2MVA", "2000 kVA", 2, "2"):
        assert made(floor=floor).guarantee().floor == 0.02


def test_bounds_clamp_whatever_is_chosen():
    bounds = PublicBounds(np.array([[0.0, -1.0]]), np.array([[5.0, 1.0]]), "ratings")
    for asked in ({}, {"hide": "5MVA"}, {"hide": "20%rating", "ratings": RATINGS}):
        assert made(bounds=bounds, **asked).specification()["clamped"] == "yes"


@pytest.mark.parametrize(
    ("name", "floor"),
    [
        ("case14_ieee", Fraction(1, 4)),
        ("case118_ieee", Fraction(1, 4)),
        ("case30_ieee", Fraction(1, 10)),
        ("case5_pjm", Fraction(1, 4)),
    ],
)
def test_the_default_floor_fits_the_size_of_loads_by_public_numbers(name, floor):
    network = load_case(name)
    assert default_floor(network) == floor
    assert default_floor(network.with_loads(*(network.loads.values * 7.3).T)) == floor


@pytest.mark.parametrize("name", ["case588_sdet", "case1803_snem", "case2853_sdet"])
def test_few_loads_turn_negative_at_the_default_promise(name):
    """With a floor of 1 MVA, 1.1 to 4.8 % did: these have many loads of less than half of that."""
    network = load_case(name)
    mechanism = noise_choice().make(network)
    positive = network.loads.p > 0
    draws = [simulate_loads(network, mechanism, seed).p[positive] for seed in range(50)]
    assert np.mean(np.array(draws) < 0) <= 0.01
