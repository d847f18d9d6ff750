from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from gridveil import Ledger, load_case
from gridveil.errors import GridveilError
from gridveil.network.series.shapes import example_series
from gridveil.privacy.ledger.records import BudgetExceededError
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import Origin
from gridveil.privacy.ratings import PublicRatings
from gridveil.privacy.series.mechanism import series_mechanism
from gridveil.privacy.series.phase import privatise_series, simulate_series
from gridveil.privacy.series.promise import SeriesPromise

NETWORK = load_case("case5_pjm")
SERIES, RATINGS = example_series(NETWORK, hours=72, seed=1)


def asked(kind="day", epsilon=1, hide="5%rating", start=0, hours=24):
    """Return some hours of the example, and the mechanism of a promise about them."""
    promise = SeriesPromise.of(kind, epsilon, hide)
    alphas = promise.alphas(3, NETWORK.base_mva, PublicRatings.of(list(RATINGS), "examples"))
    part = SERIES.between(start, start + hours)
    return part, series_mechanism(promise, NETWORK.base_mva, alphas, part.first_hour, hours)


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(tmp_path / "ledger.sqlite")
    yield opened
    opened.close()


def spent(ledger, metric=Metric.ABSOLUTE):
    return {a.spent for a in ledger.accounts() if a.metric is metric and a.releases}


@pytest.mark.parametrize("kind", ["energy", "day", "window"])
def test_the_same_id_is_the_same_series_whatever_the_loads_are_now(ledger, kind):
    series, made = asked(kind, hours=30)
    first = privatise_series(NETWORK, series, made, ledger, "r")
    other = replace(series, p=series.p + 1)
    again = privatise_series(NETWORK, other, made, ledger, "r")
    assert first == again
    assert first.coefficients.shape == made.shape
    assert first.origin is Origin.EXACT
    first.require_private()
    other_draw = privatise_series(NETWORK, series, made, ledger, "s")
    assert other_draw != first


def test_an_id_stands_for_one_mechanism_and_its_conditions(ledger):
    series, made = asked()
    privatise_series(NETWORK, series, made, ledger, "r", conditions={"prior": "a"})
    for other, conditions in ((made, {"prior": "b"}), (asked(epsilon=2)[1], {"prior": "a"})):
        with pytest.raises(GridveilError, match="other parameters"):
            privatise_series(NETWORK, series, other, ledger, "r", conditions=conditions)


def test_adjoining_days_cost_nothing_more_and_the_same_day_twice_as_much(ledger):
    for start in (0, 24, 48):
        privatise_series(NETWORK, *asked(epsilon=2, start=start), ledger, f"day {start}")
        assert spent(ledger) == {2}
    series, made = asked(epsilon=2, start=24)
    with pytest.raises(BudgetExceededError, match="in any 24 hours"):
        privatise_series(NETWORK, series, made, ledger, "again")
    privatise_series(NETWORK, *asked(epsilon=1, start=24), ledger, "again")
    assert spent(ledger) == {3}
    assert ledger.inspect().problems == ()


def test_overlapping_days_cost_what_their_hours_lose_together(ledger):
    privatise_series(NETWORK, *asked(start=0), ledger, "one")
    privatise_series(NETWORK, *asked(start=12), ledger, "other")
    hours = {}
    for start in (0, 12):
        for t, loss in enumerate(asked(start=start)[1].hourly_losses().losses, start):
            hours[t] = hours.get(t, 0) + loss
    worst = max(sum(hours.get(t, 0) for t in range(s, s + 24)) for s in range(-23, 36))
    assert spent(ledger) == {worst}
    assert 1 < worst < 2


def test_energy_counts_the_worst_hour_in_an_account_of_its_own(ledger):
    for start, worst in ((0, 1), (24, 1), (12, 2)):
        privatise_series(NETWORK, *asked("energy", start=start), ledger, f"r{start}")
        assert spent(ledger, Metric.ENERGY) == {worst}
        assert spent(ledger) == set()
    privatise_series(NETWORK, *asked("day", epsilon=2), ledger, "day")
    assert spent(ledger) == {2}
    assert ledger.entry("day").elsewhere == {"energy": Fraction(2)}
    with pytest.raises(BudgetExceededError):
        privatise_series(NETWORK, *asked("energy", epsilon="1.5", start=20), ledger, "more")
    assert ledger.inspect().problems == ()


def test_each_load_is_counted_at_its_own_distance(ledger):
    privatise_series(NETWORK, *asked(), ledger, "r")
    distances = {a.key: a.cap.distance for a in ledger.accounts()}
    assert distances == {key: rating / 20 for key, rating in zip(SERIES.keys, RATINGS, strict=True)}
    privatise_series(NETWORK, *asked(hide="10%rating", start=24), ledger, "coarser")
    assert spent(ledger) == {1}
    privatise_series(NETWORK, *asked(hide="2.5%rating", start=48), ledger, "finer")
    assert spent(ledger) == {2}  # told apart twice as well at the distance that counts


def test_a_whole_window_counts_within_its_hours(ledger):
    privatise_series(NETWORK, *asked("window", epsilon=2, hours=72), ledger, "r")
    assert spent(ledger) == {2}
    assert {a.cap.hours for a in ledger.accounts()} == {72}


def test_the_owner_may_count_within_other_hours(ledger):
    privatise_series(NETWORK, *asked(), ledger, "one")
    (register,) = ledger.registers()
    ledger.set_cap(3, register, hours=48)
    privatise_series(NETWORK, *asked(start=24), ledger, "next")
    assert spent(ledger) == {2}
    assert ledger.inspect().problems == ()


def test_what_does_not_belong_together_is_refused_before_anything_is_charged(ledger):
    series, made = asked()
    other, later = load_case("case14_ieee"), asked(start=24)[1]
    for network, mechanism in ((other, made), (NETWORK, later)):
        with pytest.raises(GridveilError, match=r"loads|hours"):
            privatise_series(network, series, mechanism, ledger, "r")
    assert ledger.is_empty


def test_a_distance_that_cannot_be_meant_is_refused_before_the_draw(ledger):
    series, made = asked(hide="1000000MVA")
    with pytest.raises(GridveilError, match="Nothing was drawn"):
        privatise_series(NETWORK, series, made, ledger, "r")
    assert ledger.is_empty


def test_a_simulation_repeats_and_may_not_be_released():
    series, made = asked()
    first, again, other = (simulate_series(NETWORK, series, made, seed) for seed in (1, 1, 2))
    assert first == again
    assert (first.p != other.p).any()
    with pytest.raises(GridveilError, match="simulation"):
        first.require_private()


def test_no_text_shows_a_load():
    series, made = asked()
    private = simulate_series(NETWORK, series, made, 1)
    for text in (repr(made), str(made.specification())):
        assert all(f"{value:.6g}" not in text for value in np.ravel(series.p)[:20])
    assert not np.allclose(private.p, series.p)
