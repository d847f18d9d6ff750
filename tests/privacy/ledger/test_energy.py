"""Energy in the ledger: the book against the true loss, over all ways to share a change out."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.privacy.ledger import caps
from gridveil.privacy.ledger.accounting import DatedLoss, Spent, together
from gridveil.privacy.ledger.chain import append
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.records import BudgetExceededError, Charge, Hours, Spending
from gridveil.privacy.metric import Metric
from tests.privacy.ledger.owners import BUSES, draw, owner

HOURS = 4
SHARES = [s for s in itertools.product(range(5), repeat=HOURS) if sum(s) == 4]
"""Ways to share out a change among hours, in quarters."""
RELEASES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(1, 2),
        st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(2)]),
        st.sampled_from([Fraction(1), Fraction(2), Fraction(4)]),
    ),
    max_size=4,
)
"""First hour, hours, ε and α: noise of scale α/ε on every hour."""


def true_loss(releases, distance):
    """Enumerate the ways to share out a change among hours: exact, for Laplace noise."""
    return max(
        sum(
            epsilon / alpha * sum(share[first : first + length]) * distance / 4
            for first, length, epsilon, alpha in releases
        )
        for share in SHARES
    )


def spent(releases):
    return Spent(
        {},
        [DatedLoss(Hours(first, (e,) * length), alpha) for first, length, e, alpha in releases],
    )


@given(RELEASES, st.sampled_from([Fraction(1), Fraction(3), Fraction(4)]))
def test_the_worst_hour_is_at_least_the_true_loss(releases, distance):
    book = spent(releases).at(distance, 1)
    assert true_loss(releases, distance) <= book
    if all(alpha <= distance for *_, alpha in releases):
        assert true_loss(releases, distance) == book


@given(st.lists(RELEASES, max_size=3), st.sampled_from([Fraction(1), Fraction(4)]))
def test_members_of_a_group_may_change_in_hours_of_their_own(members, distance):
    book = together(spent(one).counted_at_worst_hour(distance) for one in members).at(None, 1)
    assert sum((true_loss(one, distance) for one in members), Fraction(0)) <= book
    assert book == sum((spent(one).at(distance, 1) for one in members), Fraction(0))


def asked(epsilon, first, length=2, buses=BUSES):
    losses = (Fraction(epsilon),) * length
    charge = Charge(Fraction(epsilon), Fraction(5), Metric.ENERGY)
    whole = owner(buses=list(buses), is_part=len(buses) < len(BUSES))
    return Spending(whole, charge, "spec", Hours(first, losses))


@pytest.fixture
def ledger(tmp_path):
    opened = Ledger(tmp_path / "ledger.sqlite")
    opened.open_register(owner())
    yield opened
    opened.close()


def test_hours_apart_are_parallel_even_where_a_window_is_set(ledger):
    ledger.set_cap(2, "a network", hours=24)
    for i, first in enumerate((0, 2, 4)):
        ledger.spend(f"r{i}", asked(2, first), draw)
    assert {(a.spent, a.cap.shown(a.metric)) for a in ledger.accounts()} == {(2, "2 at 5 MVAh")}
    with pytest.raises(BudgetExceededError):
        ledger.check(asked("0.1", 5))
    assert ledger.inspect().problems == ()


def test_a_group_pays_for_the_worst_hour_of_each_member(ledger):
    ledger.set_group("a network", "one owner", [f"bus {bus}" for bus in BUSES[:2]])
    ledger.spend("one", asked(2, 0, buses=BUSES[:1]), lambda: draw(BUSES[:1]))
    with pytest.raises(BudgetExceededError, match="one owner"):
        ledger.check(asked(2, 2, buses=BUSES[1:2]))
    ledger.spend("other", asked(1, 2, buses=BUSES[1:2]), lambda: draw(BUSES[1:2]))
    assert {g.spent for g in ledger.groups() if g.metric is Metric.ENERGY} == {3}


def test_energy_has_no_window(ledger):
    with pytest.raises(GridveilError, match="no window"):
        ledger.set_cap(2, "a network", hours=24, metric=Metric.ENERGY)


def test_charges_must_be_those_of_the_worst_hour():
    with pytest.raises(GridveilError, match="epsilon"):
        Spending(owner(), Charge(Fraction(2), Fraction(5), Metric.ENERGY), "", Hours(0, (1, 1)))


def test_caps_of_all_metrics_that_are_older_than_energy_hold_for_it(ledger):
    """As versions before it wrote them: three metrics in the tables, none named in the row."""

    def older(transaction):
        for metric in caps.FIRST_METRICS:
            transaction.run("INSERT INTO caps VALUES (1, 0, ?, '1')", (metric.value,))
        content = {
            "register": "a network", "loads": None, "group": None, "metric": "all", "cap": "1",
            "before": {}, "reason": "",
        }  # fmt: skip
        append(transaction, "cap", content)

    ledger._store.work(older)
    assert ledger.inspect().problems == ()
    with pytest.raises(BudgetExceededError):
        ledger.check(asked("1.1", 0))
    ledger.set_cap(2, "a network")
    assert ledger.check(asked("1.1", 0)) == Fraction(11, 10)
    assert ledger.inspect().problems == ()


def test_a_ledger_before_its_first_series_counts_it_as_it_will(ledger):
    """The window of a promise counts in what a release would cost, before it is noted."""
    day = Hours(0, tuple(Fraction(1, 24) for _ in range(72)))
    charge = Charge(Fraction(3), Fraction(5))
    spending = Spending(owner(), charge, "spec", day, window=24)
    assert ledger.check(spending) == 1
    ledger.spend("r", spending, draw)
    assert {a.spent for a in ledger.accounts()} == {1}
    assert [e.kind for e in ledger.history()].count("window") == 1
    assert ledger.inspect().problems == ()
