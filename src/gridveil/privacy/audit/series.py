"""The guessing game about load series: two neighbours of a promise, released by its exact sampler.

The neighbours of `day` differ in 24 consecutive hours, also in such that lie in two blocks. Which
of P and Q changes in an hour, and in which direction, is chosen so that the proof's loss is
largest: it is found by trying which coefficients go up and which down, for P and for Q. `energy`
differs in one hour, or a little in each.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.defaults import AUDIT_TRIALS, EPSILON
from gridveil.errors import GridveilError
from gridveil.privacy.audit import likelihood, players, repetition, residues
from gridveil.privacy.audit.game import Game, Score, flip_coins
from gridveil.privacy.audit.limits import not_seen
from gridveil.privacy.audit.result import AuditResult, Play, Repetition, weaker
from gridveil.privacy.audit.strength import CONFIDENCE, LEAST_TRIALS, MOST_TRIALS, REPLAYS
from gridveil.privacy.audit.thresholds import Statistic, by_statistics, quantiles
from gridveil.privacy.calibration import Number
from gridveil.privacy.hide import HiddenIn, Hide
from gridveil.privacy.series.basis import Basis
from gridveil.privacy.series.mechanism import SeriesMechanism, series_mechanism
from gridveil.privacy.series.promise import DAY, SeriesPromise, SeriesPromiseKind

TOWARDS = "towards"
TOWARDS_TESTED = "whether all coefficients together lie closer to their own series than allowed"
_ERRORS = {
    likelihood.NAME: 0.8,
    TOWARDS: 0.08,
    players.CLOSENESS: 0.02,
    players.SUPPORT: 0.02,
    players.COMBINATIONS: 0.02,
    residues.NAME: 0.02,
    repetition.NAME: 0.04,
}
"""Shares of the error probability; of all but the first, second and last the players look at P and
Q of the coefficient that differs most."""
_PLAYERS = (
    (players.CLOSENESS, players.CLOSENESS_TESTED, players.by_closeness),
    (players.SUPPORT, players.SUPPORT_TESTED, players.by_support),
    (players.COMBINATIONS, players.COMBINATIONS_TESTED, players.by_combinations),
    (residues.NAME, residues.TESTED, residues.by_residues),
)
_OFFSETS = (0, 6, 12, 18)
"""At which hour of a block windows of `day` begin."""
_MOST_SIGNS = 6
"""More coefficients have too many combinations of signs to try them all."""
_SERIES_HOURS = {
    SeriesPromiseKind.ENERGY: 2,
    SeriesPromiseKind.DAY: 48,
    SeriesPromiseKind.WINDOW: 4,
}
_BASE_MVA, _RATING_MVA = Fraction(100), Fraction(100)
_LEVEL = 0.3
"""What the audit's load draws in every hour, in p.u."""
_MOST_AT_ONCE = 20_000
"""Releases that are held in memory together."""


@dataclass(frozen=True)
class SeriesPair:
    """Two neighbours on the grid, of shape (1, 2, hours), and how they differ."""

    one: IntArray
    other: IntArray
    shown: str


def audited_series_mechanism(
    promise: str, epsilon: Number | None, hide: Hide | str | None, coefficients: int = 1
) -> SeriesMechanism:
    """Return the mechanism of a promise for one load of the audit's own: 100 MVA of rating.

    Args:
        promise: "energy", "day" or "window".
        epsilon: The ε that is claimed.
        hide: "5%rating" or "5MVA".
        coefficients: How many are released of each block, but for `energy`.
    """
    made = SeriesPromise.of(promise, EPSILON if epsilon is None else epsilon, hide or "5%rating")
    amount = made.hide.amount * (_RATING_MVA if made.hide.unit is HiddenIn.RATING else 1)
    hours = _SERIES_HOURS[made.kind]
    width = SeriesMechanism.block_hours(made.kind, hours)
    if not 1 <= coefficients <= min(width, _MOST_SIGNS) and width > 1:
        raise GridveilError(f"coefficients: from 1 to {min(width, _MOST_SIGNS)}")
    basis = Basis.even(width, tuple(range(1 if width == 1 else coefficients)))
    return series_mechanism(made, _BASE_MVA, (amount / _BASE_MVA,), 0, hours, basis)


def series_pairs(mechanism: SeriesMechanism) -> tuple[SeriesPair, ...]:
    """Return neighbours of a mechanism's promise for one load, at the distance α exactly."""
    shape, steps = (1, 2, mechanism.hours), mechanism.alpha_steps
    level = round(_LEVEL / float(mechanism.steps[0]))
    one = np.full(shape, level, dtype=np.int64)
    return tuple(
        SeriesPair(one, one + change.reshape(shape), shown)
        for change, shown in _changes(mechanism, steps)
    )


def _changes(mechanism: SeriesMechanism, steps: int) -> Iterator[tuple[IntArray, str]]:
    hours = mechanism.hours
    if mechanism.promise.kind is SeriesPromiseKind.ENERGY:
        for row, name in enumerate("PQ"):
            change = np.zeros((2, hours), dtype=np.int64)
            change[row, -1] = steps
            yield change, f"{name} of one hour"
        spread = np.zeros((2, hours), dtype=np.int64)
        spread[0], spread[1] = steps // (2 * hours), -(steps // (2 * hours))
        yield spread, "P and Q of every hour"
        return
    is_day = mechanism.promise.kind is SeriesPromiseKind.DAY
    for offset in _OFFSETS if is_day else (0,):
        window = range(offset, offset + (DAY if is_day else hours))
        yield worst_change(mechanism, window) * steps, f"hours {offset} to {window.stop}"


def worst_change(mechanism: SeriesMechanism, window: Sequence[int]) -> IntArray:
    """Return the change of P and Q, of size 1 in every hour of a window, that loses most.

    It is exact: for given signs of the changes of all coefficients of P and of Q, every hour moves
    P or Q, whichever loses more.
    """
    rows, width = mechanism.basis.rows, mechanism.basis.length
    signs = np.array(list(itertools.product((1, -1), repeat=len(rows))))
    along = signs @ (rows / np.array(mechanism.scales)[:, None])
    change = np.zeros((2, mechanism.hours), dtype=np.int64)
    for block in sorted({t // width for t in window}):
        hours = np.array([t for t in window if t // width == block])
        places = hours % width
        best = max(
            itertools.product(range(len(signs)), repeat=2),
            key=lambda two: np.maximum(*np.abs(along[list(two)][:, places])).sum(),
        )
        pair = along[list(best)][:, places]
        which = np.abs(pair).argmax(axis=0)
        change[which, hours] = np.sign(pair[which, np.arange(len(hours))]).astype(np.int64)
    return change


def audit_series(
    promise: str = SeriesPromiseKind.DAY.value,
    *,
    epsilon: Number | None = None,
    hide: Hide | str | None = None,
    coefficients: int = 1,
    trials: int = AUDIT_TRIALS,
    confidence: float = CONFIDENCE,
) -> AuditResult:
    """Bound the true ε of a promise about series from below by playing against its sampler.

    Args:
        promise: "energy", "day" or "window".
        epsilon: The ε that is claimed.
        hide: "5%rating" of a load of 100 MVA, or "5MVA".
        coefficients: How many are released of each block: the fewer, the nearer games get.
        trials: Releases per pair of series.
        confidence: Of all bounds together.

    Raises:
        GridveilError: There is no such promise.

    Example:
        >>> from gridveil.privacy.audit.series import audit_series
        >>> audit_series("window", trials=5000).shown_by
        ()
    """
    mechanism = audited_series_mechanism(promise, epsilon, hide, coefficients)
    return audit_series_mechanism(mechanism, trials=trials, confidence=confidence)


def audit_series_mechanism(
    mechanism: SeriesMechanism, *, trials: int = AUDIT_TRIALS, confidence: float = CONFIDENCE
) -> AuditResult:
    """Play against a mechanism for the series of one load; otherwise as `audit_series`."""
    if not LEAST_TRIALS <= trials <= MOST_TRIALS:
        raise GridveilError(f"trials: from {LEAST_TRIALS} to {MOST_TRIALS}")
    pairs, claimed = series_pairs(mechanism), float(mechanism.promise.epsilon)
    plays: list[Play] = []
    for pair in pairs:
        error = (1 - confidence) / len(pairs)
        found = _plays(mechanism, pair, trials, claimed, error)
        for _ in range(REPLAYS):
            if any(play.breaks(claimed) for play in found):
                again = _plays(mechanism, pair, trials, claimed, error)
                found = [weaker(*two) for two in zip(found, again, strict=True)]
        plays += found
    error = (1 - confidence) * _ERRORS[repetition.NAME]
    repeated = _repeated(mechanism, pairs[0], error)
    best = [
        max((p for p in plays if p.name == name), key=lambda p: p.epsilon_lower_bound)
        for name in _ERRORS
        if name != repetition.NAME
    ]
    return AuditResult(
        f"{mechanism.specification()['mechanism']} ({mechanism.promise.kind.value})",
        claimed,
        max(play.epsilon_lower_bound for play in best),
        confidence,
        trials,
        (),
        (*best, repeated),
        not_seen(
            claimed,
            trials * len(pairs),
            error,
            "draws of fresh processes and forks",
        ),
    )


def _plays(
    mechanism: SeriesMechanism, pair: SeriesPair, trials: int, claimed: float, error: float
) -> list[Play]:
    coins = flip_coins(trials)
    loss, along = np.empty(trials), np.empty(trials)
    most = _most_different(mechanism, pair)
    one, other = (found[most] for found in _two(mechanism, pair))
    game = Game(one, other, coins, np.empty((trials, 2), np.int64))
    for start in range(0, trials, _MOST_AT_ONCE):
        part = slice(start, min(start + _MOST_AT_ONCE, trials))
        outputs = _releases(mechanism, pair, coins[part])
        loss[part] = mechanism.loss(outputs, pair.one, pair.other)
        along[part] = _along(mechanism, pair, outputs)
        game.outputs[part] = outputs[(slice(None), *most)]
    by_loss = likelihood.by_likelihood(loss, coins, claimed, error * _ERRORS[likelihood.NAME])
    shares = np.geomspace(0.003, 1.0, 40)
    by_side = by_statistics(
        [Statistic(along, quantiles(along, shares))],
        coins,
        error * _ERRORS[TOWARDS],
        *players.NOTHING_TO_LEARN,
    )
    return [
        _play(likelihood.NAME, likelihood.TESTED, by_loss, pair),
        _play(TOWARDS, TOWARDS_TESTED, by_side, pair),
        *(
            _play(name, tested, player(game, error * _ERRORS[name]), pair)
            for name, tested, player in _PLAYERS
        ),
    ]


def _two(mechanism: SeriesMechanism, pair: SeriesPair) -> tuple[IntArray, IntArray]:
    return mechanism.coefficients(pair.one), mechanism.coefficients(pair.other)


def _most_different(mechanism: SeriesMechanism, pair: SeriesPair) -> tuple[int, slice, int, int]:
    """Return where P and Q of the coefficient stand that differs most, against its noise."""
    one, other = _two(mechanism, pair)
    apart = (np.abs(one - other) / np.array(mechanism.scales))[0].sum(axis=0)
    block, coefficient = np.unravel_index(int(apart.argmax()), apart.shape)
    return 0, slice(None), int(block), int(coefficient)


def _releases(mechanism: SeriesMechanism, pair: SeriesPair, coins: BoolArray) -> IntArray:
    """Release one of two series in each trial, all in one call: as so many loads of one release."""
    series = np.where(coins[:, None, None], pair.one, pair.other)
    return np.asarray(mechanism.release(series)[:, None])


def _along(mechanism: SeriesMechanism, pair: SeriesPair, outputs: IntArray) -> FloatArray:
    """Return how far outputs lie from the middle of two series towards the one."""
    one, other = _two(mechanism, pair)
    weights = (one - other) / np.array(mechanism.scales) ** 2
    return np.asarray(((outputs - (one + other) / 2) * weights).sum(axis=(-4, -3, -2, -1)))


def _repeated(mechanism: SeriesMechanism, pair: SeriesPair, error: float) -> Repetition:
    same = np.repeat(pair.one, repetition.ROWS, axis=0)
    first, second = (mechanism.release(same).reshape(len(same), -1) for _ in range(2))
    chance = repetition.chance_of_equal_rows(first, second)
    equal = int((first == second).all(axis=1).sum())
    tested = repetition.TESTED["two calls"]
    return Repetition("two calls", tested, equal, len(first), chance, chance <= error)


def _play(name: str, tested: str, score: Score, pair: SeriesPair) -> Play:
    return Play(name, f"{tested} ({pair.shown})", score.hits, score.guesses, score.bound)
