"""The ledger's promises, on a file and on a database alike: hard caps, exact sums, one draw."""

from fractions import Fraction

import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.ledger import NEW, Ledger
from gridveil.privacy.ledger.records import BudgetExceededError, Charge, Hours, Spending
from gridveil.privacy.metric import Metric
from tests.privacy.ledger.owners import BUSES, draw, owner, spending

SPENDING = spending()


def test_what_is_drawn_is_stored_and_returned_again(place):
    values = Ledger(place).spend("r1", SPENDING, draw)
    assert Ledger(place).spend("r1", SPENDING, lambda: pytest.fail("drawn twice")).tolist() == (
        values.tolist()
    )


def test_the_cap_is_hard_and_the_refusal_is_explained(place):
    ledger = Ledger(place)
    for i in range(3):
        ledger.spend(f"r{i}", SPENDING, draw)
    with pytest.raises(BudgetExceededError) as error:
        ledger.spend("r3", SPENDING, lambda: pytest.fail("drawn though refused"))
    assert "bus 3 of a network and 4 more loads" in str(error.value)
    assert "spent ε = 3 of its cap of 3" in str(error.value)
    assert "gridveil ledger cap" in str(error.value)
    assert [account.spent for account in ledger.accounts()] == [3] * 5


def test_sums_are_exact(place):
    ledger = Ledger(place)
    tenth = spending(epsilon="0.1")
    for i in range(30):
        ledger.spend(f"r{i}", tenth, draw)
    assert ledger.accounts()[0].left == 0
    with pytest.raises(BudgetExceededError):
        ledger.spend("one more", spending(epsilon="1e-12"), draw)


def test_caps_of_loads_come_before_those_of_networks_and_all(place):
    ledger = Ledger(place)
    ledger.set_cap(10)
    ledger.open_register(owner())
    ledger.set_cap(5, "a network")
    ledger.set_cap("0.5", "a network", ["bus 8"])
    ledger.spend("r", spending(epsilon="0.5"), draw)
    caps = {account.key: account.cap.epsilon for account in ledger.accounts()}
    assert list(caps.values()) == [5, 5, Fraction(1, 2), 5, 5]
    with pytest.raises(BudgetExceededError, match="bus 8 of a network"):
        ledger.spend("r2", spending(epsilon="0.25"), draw)


def test_a_smaller_distance_costs_in_proportion(place):
    ledger = Ledger(place)
    ledger.spend("r", spending(epsilon="0.5", distance="0.1"), draw)
    assert ledger.check(spending(epsilon="0.1", distance="0.02")) == Fraction(1, 2)
    assert ledger.check(spending(epsilon="0.1", distance="0.5")) == Fraction(1, 10)
    assert ledger.check(spending(epsilon="0.1", distance=None)) == Fraction(1, 10)


def test_checking_changes_nothing(place):
    ledger = Ledger(place)
    before = ledger.history()
    assert ledger.check(SPENDING) == 1
    assert ledger.history() == before
    assert ledger.accounts() == []


def test_a_failed_draw_costs_nothing(place):
    ledger = Ledger(place)

    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ledger.spend("r", SPENDING, fail)
    assert ledger.accounts() == []
    ledger.spend("r", SPENDING, draw)


@pytest.mark.parametrize(
    ("epsilon", "distance"), [("-5", "10"), ("0", "10"), ("1", "0"), ("1", "-2")]
)
def test_budget_cannot_be_refunded(place, epsilon, distance):
    ledger = Ledger(place)
    with pytest.raises(GridveilError, match="must be above 0"):
        ledger.spend("r", spending(epsilon=epsilon, distance=distance), draw)
    assert ledger.accounts() == []


def test_the_advice_of_a_refusal_would_be_allowed(place):
    ledger = Ledger(place)
    ledger.spend("r", spending(epsilon="2"), draw)
    with pytest.raises(BudgetExceededError, match=r"ε of at most 0\.1,"):
        ledger.check(spending(distance="0.01"))
    assert ledger.check(spending(epsilon="0.1", distance="0.01")) == 1


def test_an_id_stands_for_one_release_alone(place):
    ledger = Ledger(place)
    ledger.spend("r", SPENDING, draw)
    for other in (spending(spec="other"), spending(hours=Hours(0, (Fraction(1),)))):
        with pytest.raises(GridveilError, match="other parameters"):
            ledger.spend("r", other, lambda: pytest.fail("drawn again"))


def test_a_new_ledger_says_that_it_knows_nothing(place):
    ledger = Ledger(place)
    assert ledger.was_made
    assert ledger.is_empty
    ledger.spend("first", SPENDING, draw)
    ledger.spend("second", SPENDING, draw)
    again = Ledger(place)
    assert not again.was_made
    assert not again.is_empty
    assert [again.entry(name).seals[0].is_first for name in ("first", "second")] == [True, False]
    assert again.identity == ledger.identity
    assert NEW == "no earlier release of any load is known here"


def test_a_release_names_its_row_and_the_head_of_the_chain(place):
    ledger = Ledger(place)
    ledger.spend("r", SPENDING, draw)
    seal = ledger.entry("r").seals[0]
    assert (seal.ledger, seal.opened_at) == (ledger.identity, ledger.opened_at)
    assert ledger.head_of(seal.row) == seal.head
    ledger.spend("s", SPENDING, draw)
    assert ledger.head_of(seal.row) == seal.head
    assert ledger.entry("s").seals[0].row > seal.row


def test_metrics_are_counted_and_capped_apart(place):
    ledger = Ledger(place)
    relative = spending(epsilon="2", distance="0.1", metric=Metric.RELATIVE)
    ledger.spend("absolute", spending(epsilon="2"), draw)
    ledger.spend("relative", relative, draw)
    shown = {(a.key, a.metric): a.spent for a in ledger.accounts()}
    assert shown == {
        (f"bus {bus}", metric): 2 for bus in BUSES for metric in (Metric.ABSOLUTE, Metric.RELATIVE)
    }
    ledger.set_cap(1, "a network", metric=Metric.LOG)
    for metric in (Metric.ABSOLUTE, Metric.RELATIVE, Metric.LOG):
        with pytest.raises(BudgetExceededError):
            ledger.check(spending(epsilon="1.5", metric=metric))
    assert ledger.check(spending(epsilon="1.5", metric=Metric.ENERGY)) == Fraction(3, 2)
    assert ledger.check(spending(epsilon="1", metric=Metric.LOG)) == 1


def test_hours_that_do_not_meet_do_not_add_up_within_a_window(place):
    ledger = Ledger(place)
    ledger.open_register(owner())
    ledger.set_cap(3, "a network", hours=24, distance="0.1")
    day = tuple([Fraction(1, 12)] * 24)  # 2 in a day
    for i in range(3):
        ledger.spend(f"day {i}", spending(epsilon="2", hours=Hours(24 * i, day)), draw)
    assert {a.spent for a in ledger.accounts()} == {2}
    with pytest.raises(BudgetExceededError):  # the same day again
        ledger.check(spending(epsilon="2", hours=Hours(24, day)))
    assert ledger.check(spending(epsilon="1")) == 1  # without a date it is of any hour
    with pytest.raises(BudgetExceededError):
        ledger.check(spending(epsilon="1.01"))


def test_loads_of_one_owner_share_a_cap(place):
    ledger = Ledger(place)
    ledger.open_register(owner())
    ledger.set_group("a network", "a smelter", ["bus 3", "bus 5"])
    ledger.spend("r", SPENDING, draw)
    [group] = ledger.groups()
    assert (group.key, group.spent, group.cap.epsilon) == ("a smelter", 2, 3)
    with pytest.raises(BudgetExceededError, match="the group 'a smelter'"):
        ledger.check(SPENDING)
    ledger.set_cap(4, "a network", group="a smelter", reason="both halls were sold")
    ledger.spend("s", SPENDING, draw)
    assert ledger.groups()[0].left == 0
    assert [a.groups for a in ledger.accounts()] == [("a smelter",)] * 2 + [()] * 3


def test_every_change_of_a_cap_is_a_row(place):
    ledger = Ledger(place)
    ledger.open_register(owner())
    ledger.set_cap(5, "a network", distance=10, reason="policy of 2026")
    ledger.set_cap(6, "a network", ["bus 8"])
    rows = [event.content for event in ledger.history() if event.kind == "cap"]
    assert [(r["cap"], r["before"], r["reason"]) for r in rows] == [
        ("5", {}, "policy of 2026"),
        ("6", {}, ""),
    ]
    assert ledger.inspect().ok


def rated(distances, epsilon="1", **changes):
    """Return what a release asks that hides a share of each load's rating."""
    of = owner(**changes)
    exact = tuple(map(Fraction, distances))
    return Spending(of, Charge(Fraction(epsilon), min(exact)), "spec", distances=exact)


def test_each_load_is_counted_at_the_distance_of_its_first_release(place):
    ledger = Ledger(place)
    ledger.spend("first", rated(["1", "2", "4", "8", "16"]), draw)
    spent = {account.key: account for account in ledger.accounts()}
    assert [account.spent for account in spent.values()] == [1] * 5
    assert [float(account.cap.distance) for account in spent.values()] == [1, 2, 4, 8, 16]
    assert ledger.entry("first").distance is None
    ledger.spend("half", rated(["0.5", "2", "2", "8", "16"], epsilon="0.5"), draw)
    assert [account.spent for account in ledger.accounts()] == [2, 1.5, 2, 1.5, 1.5]
    with pytest.raises(BudgetExceededError, match=r"bus 3 .* counted at 1 MVA"):
        ledger.spend("too small", rated(["0.1", "2", "4", "8", "16"]), draw)
    assert ledger.inspect().problems == ()


def test_a_release_with_one_distance_after_one_per_load_is_charged_by_slopes(place):
    ledger = Ledger(place)
    ledger.spend("first", rated(["1", "2", "4", "8", "16"]), draw)
    ledger.spend("second", spending("1/8", "8"), draw)
    assert [account.spent for account in ledger.accounts()] == [
        1 + Fraction(1, 8), 1 + Fraction(1, 8), 1 + Fraction(1, 8), 1 + Fraction(1, 8), 1 + 2 / 8
    ]  # fmt: skip


def test_a_group_is_counted_at_the_distances_of_its_loads(place):
    ledger = Ledger(place)
    ledger.open_register(owner())
    ledger.set_group("a network", "both", ["bus 3", "bus 21"])
    ledger.set_cap("2.5", "a network", group="both")
    ledger.spend("first", rated(["1", "2", "4", "8", "16"]), draw)
    [group] = ledger.groups()
    assert (group.spent, group.cap.distance) == (2, None)
    assert group.cap.shown(group.metric) == "2.5 at the distance of each load"
    with pytest.raises(BudgetExceededError, match="the group 'both'"):
        ledger.spend("second", rated(["1", "2", "4", "8", "16"], epsilon="0.3"), draw)


def test_the_distance_of_some_loads_can_be_set(place):
    ledger = Ledger(place)
    ledger.spend("first", spending("1", "8"), draw)
    ledger.set_cap(3, "a network", ["bus 3"], distance="16", reason="a large customer")
    spent = {account.key: account.spent for account in ledger.accounts()}
    assert (spent["bus 3"], spent["bus 5"]) == (2, 1)
    assert ledger.inspect().problems == ()


def test_distances_are_those_of_the_loads():
    for distances in (["1", "2"], ["2", "2", "4", "8", "16", "32"]):
        with pytest.raises(GridveilError, match="a distance for each load"):
            rated(distances)


def test_a_window_leaves_the_distance_of_each_load(place):
    """It made loads count at none: a release of a thousandth of the distance cost ε = 1."""
    ledger = Ledger(place)
    ledger.spend("first", rated(["1", "2", "4", "8", "16"]), draw)
    with pytest.raises(GridveilError, match="a window of hours is one of a register"):
        ledger.set_cap(3, "a network", ["bus 3"], hours=24)
    ledger.set_cap(3, "a network", hours=24)
    assert [float(a.cap.distance) for a in ledger.accounts()] == [1, 2, 4, 8, 16]
    assert {a.cap.hours for a in ledger.accounts()} == {24}
    with pytest.raises(BudgetExceededError):
        ledger.spend("fine", rated(["0.001", "2", "4", "8", "16"]), draw)
    assert ledger.inspect().problems == ()


def test_a_cap_holds_in_every_metric_whatever_else_it_sets(place):
    ledger = Ledger(place)
    ledger.open_register(owner())
    for further in ({}, {"hours": 24}, {"distance": 10}, {"distance_metric": Metric.RELATIVE,
                                                          "distance": "0.1"}):  # fmt: skip
        ledger.set_cap("0.5", "a network", **further)
        for metric, distance in ((Metric.ABSOLUTE, "10"), (Metric.RELATIVE, "0.1")):
            with pytest.raises(BudgetExceededError):
                ledger.check(spending("0.6", distance, metric=metric))
    with pytest.raises(GridveilError, match="the distance is relative"):
        ledger.set_cap(1, distance="0.1", distance_metric=Metric.RELATIVE, metric=Metric.ABSOLUTE)
    assert ledger.inspect().problems == ()
