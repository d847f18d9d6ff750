"""What the book says: at least the true loss, found by enumeration, and exactly its rule.

Small mechanisms stand for real ones: discrete Laplace noise on whole numbers, on one hour or on the
coefficients of a few, and randomised response. All pairs of series are enumerated, and all outputs.
"""

import itertools
import math
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import dlaplace

from gridveil.privacy.ledger.accounting import DatedLoss, Spent, slope, together, worst_window
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.records import (
    Charge,
    Hours,
    RegisterChoice,
    Spending,
)
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.metric import Metric
from gridveil.privacy.sampling.grid import to_grid
from tests.privacy.ledger.owners import draw, owner

HOURS = 4
POINTS = ((0, 0), (1, 0), (1, 1), (3, 0), (2, 2))
"""The values (P, Q) that a load may have."""
CHARTS = {
    Metric.ABSOLUTE: np.array(POINTS),
    Metric.RELATIVE: np.array([(0, 0), (3, 0), (3, 2), (4, 0), (4, 1)]),
}
"""The coordinates of each value that a mechanism adds noise to, and that a metric is the L1
distance of; the second stands for any public chart."""
BUSES = (3, 5, 8)
KEYS = tuple(f"bus {bus}" for bus in BUSES)
MUCH = 10**6


@dataclass(frozen=True)
class Small:
    """A mechanism whose loss is known exactly: discrete Laplace noise on public combinations."""

    metric: Metric
    distance: Fraction | None
    """α; None for randomised response, which tells any two values apart alike."""
    first: int
    rows: tuple[tuple[int, ...], ...]
    """The public integer basis B: a coefficient to a row, an hour to a column."""
    epsilons: tuple[Fraction, ...]
    """ε of each coefficient."""
    is_dated: bool

    @property
    def span(self) -> range:
        """The hours that it reads."""
        return range(self.first, self.first + len(self.rows[0]))

    @property
    def losses(self) -> tuple[Fraction, ...]:
        """ℓ(t) = D Σ_j |B_j(t)|/b_j with b_j = D‖B_j‖₁/ε_j."""
        return tuple(
            sum(
                (
                    e * abs(row[i]) / sum(map(abs, row))
                    for row, e in zip(self.rows, self.epsilons, strict=True)
                ),
                Fraction(0),
            )
            for i in range(len(self.span))
        )

    @property
    def epsilon(self) -> Fraction:
        """Of all hours together."""
        return sum(self.epsilons, Fraction(0))

    @property
    def rates(self) -> list[Fraction]:
        """1/b_j: what a step of coefficient j loses."""
        distance = 1 if self.distance is None else self.distance
        return [
            e / (distance * sum(map(abs, row)))
            for row, e in zip(self.rows, self.epsilons, strict=True)
        ]

    def shifts(self, choice, ones, others):
        """By how much each coefficient differs, (coefficients, pairs of series).

        Args:
            choice: For each hour, which pair of values each pair of series has.
            ones: The first values of these pairs.
            others: The second values.
        """
        chart = CHARTS[self.metric]
        change = chart[ones] - chart[others]
        if self.distance is None:
            change = np.stack([ones != others, np.zeros_like(ones)], axis=1).astype(int)
        found = np.zeros((len(self.rows), *choice[self.first].shape), dtype=np.int64)
        for j, row in enumerate(self.rows):
            moved = sum(b * change[choice[t]] for t, b in zip(self.span, row, strict=True))
            found[j] = np.abs(moved).sum(axis=-1)
        return found


def near(distances):
    """Return all pairs of values that are near in every metric given."""
    return np.array(
        [
            (i, j)
            for i, j in itertools.product(range(len(POINTS)), repeat=2)
            if all(
                d is None or np.abs(CHARTS[m][i] - CHARTS[m][j]).sum() <= d
                for m, d in distances.items()
            )
        ]
    )


def windows(hours):
    """Return every window of so many consecutive hours."""
    if hours is None:
        return [range(HOURS)]
    return [range(first, first + hours) for first in range(1 - hours, HOURS)]


def loss_within(releases, distances, window):
    """Return the true loss about two series that differ within a window alone, by enumeration."""
    if not releases:
        return Fraction(0)
    pairs = near(distances)
    same = next(k for k, (i, j) in enumerate(pairs) if i == j)
    inside = sorted({t for r in releases for t in r.span} & set(window))
    free = np.indices((len(pairs),) * len(inside)).reshape(len(inside), len(pairs) ** len(inside))
    choice = [np.full(free.shape[1], same)] * HOURS
    for t, which in zip(inside, free, strict=True):
        choice[t] = which
    common = math.lcm(*(rate.denominator for r in releases for rate in r.rates))
    total = np.zeros(free.shape[1], dtype=np.int64)
    for r in releases:
        rates = np.array([int(rate * common) for rate in r.rates])
        total += rates @ r.shifts(choice, *pairs.T)
    return Fraction(int(total.max()), common)


def true_loss(members, distances, hours):
    """Return the true loss of loads that all may change within the same window."""
    return max(
        sum((loss_within(releases, distances, window) for releases in members), Fraction(0))
        for window in windows(hours)
    )


def rule(releases, distance, hours):
    """Return what docs/ledger-rules.md says, window by window."""

    def loss_at(release, t):
        factor = max(Fraction(1), distance / release.distance) if release.distance else Fraction(1)
        return factor * (release.losses[t - release.first] if t in release.span else 0)

    undated = sum(loss_at(r, t) for r in releases if not r.is_dated for t in r.span)
    return undated + max(
        sum(loss_at(r, t) for r in releases if r.is_dated for t in window)
        for window in windows(hours)
    )


EPSILONS = st.sampled_from([Fraction(1, 4), Fraction(1, 3), Fraction(1), Fraction(2)])
DISTANCES = st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(4)])
WINDOWS = st.sampled_from([None, 1, 2, 3])
METRICS = st.sampled_from(list(CHARTS))
DATED = st.booleans()


@st.composite
def snapshots(draw_from, metrics=METRICS, dated=DATED):
    """A snapshot of one hour; where it has no date, the book does not know which."""
    return Small(
        draw_from(metrics),
        draw_from(st.one_of(st.none(), DISTANCES)),
        draw_from(st.integers(0, HOURS - 1)),
        ((1,),),
        (draw_from(EPSILONS),),
        draw_from(dated),
    )


@st.composite
def series(draw_from, metrics=METRICS):
    """A series: noise on a few coefficients of a few hours, or on each hour."""
    length = draw_from(st.integers(2, 3))
    row = st.tuples(*[st.integers(-2, 2)] * length).filter(any)
    each_hour = tuple(tuple(int(i == j) for j in range(length)) for i in range(length))
    rows = draw_from(st.one_of(st.lists(row, min_size=1, max_size=2), st.just(each_hour)))
    return Small(
        draw_from(metrics),
        draw_from(DISTANCES),
        draw_from(st.integers(0, HOURS - length)),
        tuple(rows),
        tuple(draw_from(EPSILONS) for _ in rows),
        True,
    )


RELEASES = st.one_of(snapshots(), series())
LOADS = st.sets(st.sampled_from(BUSES), min_size=1).map(sorted)
SEQUENCES = st.lists(RELEASES, min_size=1, max_size=3).flatmap(
    lambda some: st.lists(st.tuples(st.sampled_from(some), LOADS), min_size=1, max_size=6)
)
"""Releases, some of them repeated, and the loads that each of them is of."""


def asked(release, loads=BUSES):
    """Return what a release asks of the ledger."""
    hours = Hours(release.first, release.losses) if release.is_dated else None
    return Spending(
        owner(buses=list(loads), is_part=len(loads) < len(BUSES)),
        Charge(release.epsilon, release.distance, release.metric),
        "spec",
        hours,
    )


def spent_by(releases):
    """Return what releases spend, without a ledger."""
    undated = {}
    for r in releases:
        if not r.is_dated:
            undated[r.distance] = undated.get(r.distance, Fraction(0)) + r.epsilon
    return Spent(
        undated,
        [DatedLoss(Hours(r.first, r.losses), r.distance) for r in releases if r.is_dated],
    )


# The pure functions.


@given(st.lists(RELEASES, max_size=6), DISTANCES, WINDOWS)
def test_what_is_spent_is_the_rule(releases, distance, hours):
    assert spent_by(releases).at(distance, hours) == rule(releases, distance, hours)


@given(st.lists(st.lists(RELEASES, max_size=4), max_size=3), DISTANCES, WINDOWS)
def test_losses_of_a_group_add_up(members, distance, hours):
    group = together(map(spent_by, members)).at(distance, hours)
    assert group == rule([r for releases in members for r in releases], distance, hours)
    alone = [spent_by(releases).at(distance, hours) for releases in members]
    assert max(alone, default=0) <= group <= sum(alone)


@given(
    st.dictionaries(st.integers(-30, 30), st.fractions(0, 3, max_denominator=7)),
    st.one_of(st.none(), st.integers(1, 70)),
)
def test_the_worst_window_is_the_worst_of_all(losses, hours):
    starts = range(-31 - (hours or 0), 32)
    brute = max(
        sum(loss for t, loss in losses.items() if hours is None or first <= t < first + hours)
        for first in starts
    )
    assert worst_window(losses, hours) == brute


@given(st.lists(RELEASES, max_size=5), RELEASES, DISTANCES, DISTANCES, WINDOWS)
def test_spending_never_falls(releases, more, distance, further, hours):
    """A release, a longer window, a larger distance: none makes the book say less."""
    spent = spent_by(releases).at(distance, hours)
    assert spent <= spent_by([*releases, more]).at(distance, hours)
    assert spent <= spent_by(releases).at(max(distance, further), hours)
    assert spent <= spent_by(releases).at(distance, None)
    if hours is not None:
        assert spent <= spent_by(releases).at(distance, hours + 1)


# The book against the true loss.


@settings(max_examples=30)
@given(SEQUENCES, st.dictionaries(METRICS, DISTANCES), WINDOWS, LOADS)
def test_the_book_is_at_least_the_true_loss_and_exactly_the_rule(
    released, distances, hours, grouped
):
    """Random releases, read back from a ledger, against all pairs of series of every load."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.sqlite")
        name = ledger.open_register(owner(buses=list(BUSES)))
        ledger.set_group(name, "one owner", [f"bus {bus}" for bus in grouped])
        for metric in CHARTS:
            ledger.set_cap(MUCH, distance=distances.get(metric), hours=hours, metric=metric)
        for i, (release, loads) in enumerate(released):
            before = {a.key: a.spent for a in ledger.accounts() if a.metric is release.metric}
            cost = ledger.check(asked(release, loads))
            ledger.spend(f"r{i}", asked(release, loads), lambda of=loads: draw(of))
            after = {a.key: a.spent for a in ledger.accounts() if a.metric is release.metric}
            charged = {f"bus {bus}" for bus in loads}
            if before and _is_counted(released[:i], release.metric, distances):
                assert cost == max(after[key] - before.get(key, 0) for key in charged)
                assert all(after[k] == before[k] for k in before if k not in charged)
        accounts = {(a.key, a.metric): a for a in ledger.accounts()}
        groups = {a.metric: a for a in ledger.groups()}
        ledger.close()
    of_load = {key: [r for r, loads in released if int(key[4:]) in loads] for key in KEYS}
    members = [of_load[f"bus {bus}"] for bus in grouped]
    at = _reference(released, distances)
    for key, releases in of_load.items():
        shown = _compare(_of(accounts, key), [releases], at, hours)
        assert true_loss([releases], at, hours) <= shown
    shown = _compare(groups, members, at, hours)
    assert true_loss(members, at, hours) <= shown


def _of(accounts, key):
    """Return the accounts of one load by metric."""
    return {metric: a for (of, metric), a in accounts.items() if of == key}


def _compare(accounts, members, at, hours):
    """Compare each metric with the rule and the true loss; return the sum of all metrics."""
    shown = Fraction(0)
    for metric in CHARTS:
        own = [[r for r in releases if r.metric is metric] for releases in members]
        if not any(own):
            assert metric not in accounts or accounts[metric].spent == 0
            continue
        account = accounts[metric]
        assert (account.cap.distance, account.cap.hours) == (at[metric], hours)
        assert account.spent == rule([r for some in own for r in some], at[metric], hours)
        assert true_loss(own, {metric: at[metric]}, hours) <= account.spent
        shown += account.spent
    return shown


def _reference(released, distances):
    """Return at which distance each metric is counted: as was set, or that of its first release."""
    return {
        metric: distances.get(
            metric,
            next((r.distance for r, _ in released if r.metric is metric and r.distance), None),
        )
        for metric in CHARTS
    }


def _is_counted(earlier, metric, distances):
    """Whether the distance of a metric was known before, so that budgets can be compared."""
    return _reference(earlier, distances)[metric] is not None


@settings(max_examples=50)
@given(
    st.lists(
        snapshots(st.just(Metric.ABSOLUTE), st.just(True)).filter(lambda r: r.distance != 4),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([Fraction(2), Fraction(3), Fraction(4)]),
    WINDOWS,
)
def test_of_snapshots_the_rule_is_the_true_loss(releases, distance, hours):
    """Counted at a distance that two values have and no release falls short of, nothing is lost."""
    book = spent_by(releases).at(distance, hours)
    assert true_loss([releases], {Metric.ABSOLUTE: distance}, hours) == book


@settings(max_examples=60)
@given(st.lists(RELEASES, min_size=1, max_size=2), st.data())
def test_no_output_tells_more_than_the_shifts(releases, data):
    """Of two series, enumerate the joint outputs of all releases; SciPy has the chances."""
    values = st.lists(st.integers(0, len(POINTS) - 1), min_size=HOURS, max_size=HOURS)
    one, other = (np.array(data.draw(values)) for _ in range(2))
    ratios = [ratio for r in releases for ratio in _log_ratios(r, one, other)]
    assume(math.prod(map(len, ratios)) < 10**6)
    shifted = [(r.rates, r.shifts(np.arange(HOURS)[:, None], one, other)) for r in releases]
    exactly = sum(
        rate * int(shift[0])
        for rates, shifts in shifted
        for rate, shift in zip(rates, shifts, strict=True)
    )
    joint = reduce(np.add.outer, ratios)
    assert joint.max() == pytest.approx(float(exactly), abs=1e-9)
    assert joint.min() == pytest.approx(-float(exactly), abs=1e-9)


def _log_ratios(release, one, other):
    """Return ln P(o | one) − ln P(o | other) of every output that a release draws by itself."""
    if release.distance is None:  # randomised response: the true value is e^ε times as likely
        outputs = np.arange(len(POINTS))
        true, false = (outputs == values[release.first] for values in (one, other))
        return [float(release.epsilon) * (true.astype(float) - false.astype(float))]
    found = []
    chart = CHARTS[release.metric]
    for row, rate in zip(release.rows, map(float, release.rates), strict=True):
        first, second = (
            np.array(row) @ chart[values[list(release.span)]] for values in (one, other)
        )
        for k, far in zip(first, second, strict=True):
            outputs = np.arange(min(k, far) - 1, max(k, far) + 2)
            found.append(dlaplace.logpmf(outputs - k, rate) - dlaplace.logpmf(outputs - far, rate))
    return found


# What the rule does not say.


def test_the_book_of_one_metric_is_about_the_releases_in_it():
    """Two values near in one metric are told apart by releases in another as well."""
    near_by, in_per_cent = (
        Small(metric, Fraction(1), 0, ((1,),), (Fraction(1),), True) for metric in CHARTS
    )
    loss = true_loss([[near_by, in_per_cent]], {Metric.ABSOLUTE: Fraction(1)}, None)
    assert loss == 4 > spent_by([near_by]).at(Fraction(1), None)


def test_hours_apart_are_parallel_and_one_hour_is_sequential():
    def snapshot(hour):
        return Small(Metric.ABSOLUTE, Fraction(1), hour, ((1,),), (Fraction(1),), True)

    apart, together_ = [snapshot(0), snapshot(3)], [snapshot(0), snapshot(0)]
    assert [spent_by(apart).at(Fraction(1), w) for w in (1, 3, 4, None)] == [1, 1, 2, 2]
    assert spent_by(together_).at(Fraction(1), 1) == 2


def test_a_window_over_two_blocks_loses_no_more_than_one():
    """Two blocks of two hours, ε = 1 each: any two hours lose at most what one block does."""
    blocks = [
        Small(Metric.ABSOLUTE, Fraction(1), first, ((1, 1), (1, -1)), (Fraction(1, 2),) * 2, True)
        for first in (0, 2)
    ]
    assert spent_by(blocks).at(Fraction(1), 2) == 1
    assert spent_by(blocks).at(Fraction(1), None) == 2


# Slopes.

EDGES = st.sampled_from([-0.5, -0.5 + 1e-7, 0.0, 0.5 - 1e-7, 0.5])


@pytest.mark.parametrize("kind", [PolarLaplace, ProductLaplace])
@given(
    start=st.tuples(st.integers(-9000, 9000), EDGES, st.integers(-9000, 9000), EDGES),
    move=st.tuples(st.integers(-2000, 2000), EDGES, st.integers(-2000, 2000), EDGES),
)
def test_our_mechanisms_keep_the_slope_for_loads_that_are_rounded(kind, start, move):
    """Loads in p.u., at the edges where rounding costs most; α is 1000 steps."""
    mechanism = kind.of("0.7", "0.1")
    first = np.array([[start[0] + start[1], start[2] + start[3]]])
    second = first + np.array([[move[0] + move[1], move[2] + move[3]]])
    one, other = (loads * float(mechanism.step) for loads in (first, second))
    exact_one, exact_other = ([Fraction(float(v)) for v in loads[0]] for loads in (one, other))
    apart = sum(abs(a - b) for a, b in zip(exact_one, exact_other, strict=True))
    k, far = to_grid(one, mechanism.step), to_grid(other, mechanism.step)
    corners = np.array(list(itertools.product(*zip(k[0], far[0], strict=True))))
    outputs = np.vstack([corners, 2 * k - far, 2 * far - k])
    book = float(Fraction(7, 10) * slope(Fraction(1, 10), apart))
    assert np.abs(mechanism.loss(outputs, k, far)).max() <= book * (1 + 1e-12)


def test_the_slope_is_nearly_reached():
    mechanism = ProductLaplace.of(1, "0.1")
    zero, far = (np.array([[n, 0]]) for n in (0, 5000))
    book = float(slope(Fraction(1, 10), Fraction(1, 2)))
    assert 0.997 * book <= mechanism.loss(zero, zero, far)[0] <= book


@pytest.mark.parametrize("times", [1, 2, 3, 10, 250])
def test_opendp_has_the_slope_too(times):
    calibration = ProductLaplace.of("0.7", "0.1").calibration
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    noise = dp.m.make_laplace(*space, scale=calibration.scale)
    steps = int(times * calibration.alpha / calibration.step) + 2
    assert noise.map(steps) <= 0.7 * times * (1 + 1e-12)


@pytest.mark.parametrize(
    ("reach", "alpha", "too_few"),
    [
        pytest.param(Fraction(1, 2), Fraction(39, 4), 11, id="⌊α/γ⌋ + 2"),
        pytest.param(Fraction(5, 8), Fraction(10), 12, id="coordinates to within an eighth"),
    ],
)
def test_a_scale_for_the_steps_at_alpha_alone_may_not_keep_the_slope(reach, alpha, too_few):
    """N(d) ≤ d/γ + c keeps it with a scale for α/γ + c steps, here with γ = 1 and c = 4 reach.

    `reach` is how far a value may be from the whole number that stands for it. `too_few` steps are
    enough at α itself, and for smaller distances.
    """
    eighths = [Fraction(n, 8) for n in range(8)]
    moves = [Fraction(n, 8) for n in range(100)]
    along = {  # of P, and of Q: the most steps that a move may take
        d: max(math.floor(x + d + reach) - math.ceil(x - reach) for x in eighths) for d in moves
    }
    steps = {d: max(along[p] + along[d - p] for p in moves if p <= d) for d in moves}
    assert all(n <= d + 4 * reach for d, n in steps.items())
    assert all(n <= slope(alpha, d) * (alpha + 4 * reach) for d, n in steps.items())
    assert all(n <= too_few for d, n in steps.items() if d <= alpha)
    assert any(n > slope(alpha, d) * too_few for d, n in steps.items())


def test_a_mechanism_with_steps_in_its_loss_does_not_keep_the_slope():
    """A staircase: ε up to a distance, 2ε just beyond; only ε·⌈d/α⌉ holds for any mechanism."""
    alpha, epsilon, outputs = 5, 1.0, np.arange(-100, 101)

    def log_chance(k):
        return -epsilon * np.ceil(np.abs(outputs - k) / alpha)

    losses = {d: (log_chance(0) - log_chance(d)).max() for d in range(1, 30)}
    assert all(loss == epsilon * math.ceil(d / alpha) for d, loss in losses.items())
    assert losses[alpha] == epsilon
    assert losses[alpha + 1] > epsilon * float(slope(Fraction(alpha), Fraction(alpha + 1)))
    for k, (d, loss) in itertools.product((1, 2, 5), losses.items()):
        assert loss <= (k + 1) * epsilon * float(slope(Fraction(k * alpha), Fraction(d)))


def test_a_relative_distance_of_a_load_is_not_that_of_the_bus_it_is_summed_into():
    """100 MW beside −99 MW of generation: ten per cent of one are tenfold the other."""
    changed = math.sinh(math.asinh(100) + 0.1)
    assert math.asinh(changed - 99) - math.asinh(100 - 99) > 20 * 0.1


# Accounts that may be another's.


@settings(max_examples=8)
@given(st.lists(RELEASES, min_size=1, max_size=3), DISTANCES, WINDOWS)
def test_a_load_under_a_new_key_has_spent_what_any_lost_one_has(releases, distance, hours):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.sqlite")
        for metric in CHARTS:
            ledger.set_cap(MUCH, distance=distance, hours=hours, metric=metric)
        for i, release in enumerate(releases):
            ledger.spend(f"r{i}", asked(release), lambda: draw(BUSES))
        around = [*owner(buses=list(BUSES[:2])).surroundings, frozenset({"another branch"})]
        choice = RegisterChoice("a network", is_new=False)
        ledger.open_register(owner(buses=[*BUSES[:2], 99], branches=around, register=choice))
        accounts = {(a.key, a.metric): a.spent for a in ledger.accounts()}
        ledger.close()
    for (key, metric), spent in accounts.items():
        if key == "bus 8":
            assert accounts["bus 99", metric] >= spent
