"""The ledger's charge for relative distances: of other floors, for real mechanisms."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from gridveil import ProductLaplace, RelativeLaplace, load_case
from gridveil.errors import GridveilError
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.records import BudgetExceededError
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import charge_of, floor_mva, privatise
from gridveil.privacy.relative_distance import (
    check_relative_distance,
    floor_factor,
    relative_distance_at,
)

FLOORS = ("1e-6", "0.01", "0.3", "0.9", "1", "1.1", "2", "10", "100", "1e6")
COUNT = 100_000


def chart(loads, floor):
    p, q = loads.astype(np.longdouble).T
    return np.stack([np.arcsinh(p / floor), np.arcsinh(q / np.hypot(p, floor))], axis=1)


def distances(one, other, floor):
    return np.abs(chart(one, floor) - chart(other, floor)).sum(axis=1)


def pairs(floor, random):
    """Loads of all sizes around both floors, near ones along all directions and far ones."""
    scale = np.exp(random.uniform(-3, 3, (COUNT, 2))) * random.choice([1.0, floor], (COUNT, 1))
    one = scale * random.choice([-1.0, 1.0], (COUNT, 2))
    one[:, 1] *= random.choice([0.0, 1.0, 1e3, 1e8], COUNT)
    u, tau = chart(one, 1.0).T
    near = np.where(random.random(COUNT) < 0.7, 1e-4 * min(1.0, floor), random.uniform(0, 6, COUNT))
    share = random.choice([0.0, 0.5, 1.0, 0.01, 0.99], COUNT)
    u = u + near * share * random.choice([-1, 1], COUNT)
    tau = tau + near * (1 - share) * random.choice([-1, 1], COUNT)
    return one, np.stack([np.sinh(u), np.cosh(u) * np.sinh(tau)], axis=1)


@pytest.mark.parametrize("floor", FLOORS)
def test_distances_with_another_floor_are_at_most_so_many_times_as_large(floor):
    """The ledger's floor is 1 MVA; the factor is nearly reached for floors far from it."""
    one, other = pairs(float(floor), np.random.default_rng(1))
    ours, ledgers = distances(one, other, float(floor)), distances(one, other, 1.0)
    some = ledgers > 0
    ratio = (ours[some] / ledgers[some]).max()
    factor = float(floor_factor(Fraction(floor), Fraction(1)))
    assert ratio <= factor * (1 + 1e-6)
    if float(floor) in (1e-6, 0.01, 100, 1e6):
        assert ratio > 0.97 * factor


def test_the_same_floor_is_charged_as_it_is_and_others_at_a_smaller_distance():
    a, one = Fraction(1, 10), Fraction(1)
    assert relative_distance_at(a, one, one) == a
    assert relative_distance_at(a, Fraction(2), one) == a / Fraction(5, 4)
    assert relative_distance_at(a, Fraction(1, 4), one) == a / Fraction(52, 10)
    assert relative_distance_at(a, Fraction(1, 1000), Fraction(1, 1000)) == a
    assert relative_distance_at(a, Fraction(1, 1000), None) == a


@pytest.mark.parametrize(("base", "floor"), [(100, "0.01"), (10, "0.01"), (1, "2"), (49, "1/49")])
def test_a_relative_mechanism_is_charged_without_the_base(base, floor):
    mechanism = RelativeLaplace.of("1/3", "0.1", floor=floor)
    charge = charge_of(mechanism, base)
    assert charge.metric is Metric.RELATIVE
    assert (charge.epsilon, charge.distance) == (Fraction(1, 3), Fraction(1, 10))
    assert floor_mva(mechanism, base) == Fraction(floor) * base


def test_a_register_counts_with_the_floor_of_its_first_release(tmp_path):
    """Counted with a floor of 1 MVA, 10 % of a floor of 1 kVA was next to nothing."""
    ledger, network = Ledger(tmp_path / "ledger.sqlite"), load_case("case5_pjm")
    fine = RelativeLaplace.of(1, "0.1", floor="0.00001")
    privatise(network, fine, ledger, "first")
    account = ledger.accounts()[0]
    assert (account.spent, account.cap.distance, account.cap.floor) == (
        1, Fraction(1, 10), Fraction(1, 1000),
    )  # fmt: skip
    privatise(network, fine, ledger, "second")
    assert {a.spent for a in ledger.accounts()} == {2}
    with pytest.raises(BudgetExceededError):
        privatise(network, RelativeLaplace.of(1, "0.0001", floor="0.01"), ledger, "much finer")
    privatise(network, RelativeLaplace.of("0.4", "0.1", floor="0.01"), ledger, "another floor")
    assert {a.spent for a in ledger.accounts()} == {2 + Fraction(4, 10) * Fraction(5, 4)}
    assert ledger.inspect().problems == ()


def test_a_release_is_charged_in_its_own_metric_and_drawn_once(tmp_path):
    ledger, network = Ledger(tmp_path / "ledger.sqlite"), load_case("case5_pjm")
    mechanism = RelativeLaplace.of(1, "0.1")
    first = privatise(network, mechanism, ledger, "spring")
    again = privatise(network, mechanism, ledger, "spring")
    assert first == again
    privatise(network, ProductLaplace.of(1, "0.1"), ledger, "absolute")
    found = {(account.metric, account.spent, account.cap.distance) for account in ledger.accounts()}
    assert found == {(Metric.RELATIVE, 1, Fraction(1, 10)), (Metric.ABSOLUTE, 1, Fraction(10))}
    shares = np.abs(np.log(np.abs(first.p / network.loads.p)))
    assert (shares < 4).all()
    assert not np.array_equal(first.p, network.loads.p)


@pytest.mark.parametrize("distance", ["1.01", "0.00009", "10"])
def test_what_no_distance_can_be_is_refused(distance):
    with pytest.raises(GridveilError, match="Nothing was drawn"):
        check_relative_distance(Fraction(distance))


def test_a_foreign_relative_mechanism_is_refused_before_the_draw(tmp_path):
    """Its own code allows a distance that cannot be meant."""

    class Foreign(RelativeLaplace):
        name = "foreign"

        def guarantee(self):
            return replace(super().guarantee(), distance=7.0)

        def release(self, loads):
            raise AssertionError("drawn")

    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(GridveilError, match="more than the whole load"):
        privatise(load_case("case5_pjm"), Foreign.of(1, "0.1"), ledger, "spring")
    assert ledger.accounts() == []
