"""An audit is asked for as a release is, by what is hidden."""

import pytest

from gridveil import GridveilError, PolarLaplace, audit
from gridveil.privacy.audit.subject import audited_mechanism
from gridveil.privacy.metric import Metric


def chosen(mechanism=None, **asked):
    return audited_mechanism(mechanism, "sound", **asked).guarantee()


@pytest.mark.parametrize(
    ("asked", "mechanism", "distance"),
    [
        ({}, "product-laplace", 0.1),
        ({"hide": "10%"}, "relative-laplace", 0.1),
        ({"mechanism": "relative-laplace"}, "relative-laplace", 0.1),
        ({"hide": "5MVA"}, "product-laplace", 0.05),
        ({"hide": "5MVA", "mechanism": "polar-laplace"}, "polar-laplace", 0.05),
        ({"alpha": "0.2", "mechanism": "polar-laplace"}, "polar-laplace", 0.2),
        ({"hide": "20%rating", "rating": 30}, "rated-laplace", 0.06),
        ({"hide": "20%rating", "rating": 30, "mechanism": "rated-laplace"}, "rated-laplace", 0.06),
    ],
)
def test_what_is_hidden_chooses_mechanism_and_distance(asked, mechanism, distance):
    promise = chosen(epsilon="0.5", **asked)
    assert (promise.mechanism, promise.epsilon) == (mechanism, 0.5)
    assert promise.distance == pytest.approx(distance)
    assert (promise.kind is Metric.RELATIVE) == (mechanism == "relative-laplace")


def test_the_floor_is_a_quarter_of_an_mva_or_what_is_said():
    assert chosen(hide="10%").floor == 0.0025
    assert chosen(hide="10%", floor="200kVA").floor == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"mechanism": "relative-laplace", "alpha": "0.1"}, "say --hide in %"),
        ({"hide": "10%", "mechanism": "polar-laplace"}, "has no relative distance"),
        ({"hide": "5MVA", "alpha": "0.1"}, "both say what is hidden"),
        ({"hide": "20%rating"}, "need each other"),
        ({"rating": 30}, "need each other"),
        ({"mechanism": "rated-laplace"}, "say --hide 10%rating"),
        ({"hide": "20%rating", "rating": 30, "mechanism": "piecewise"}, "no distance per load"),
        ({"floor": 2}, "means something where --hide is in %"),
        ({"hide": "ten"}, "none of 10%"),
    ],
)
def test_what_does_not_fit_together_is_refused(asked, said):
    with pytest.raises(GridveilError, match=said):
        audit(**asked)


def test_a_mechanism_given_as_an_object_has_its_own_distance():
    for own in ({"hide": "10%"}, {"alpha": 0.1}, {"floor": 1}, {"rating": 1}):
        with pytest.raises(GridveilError, match="has its own"):
            audit(PolarLaplace.of(1, 0.1), **own)
