"""Players that do not rely on the mechanism's proof: by closeness, by P against Q, by support."""

from collections.abc import Iterator

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.privacy.audit.game import Game, Score
from gridveil.privacy.audit.thresholds import Statistic, by_statistics, quantiles

CLOSENESS = "closeness"
CLOSENESS_TESTED = "whether outputs lie closer to their own load, or further off, than allowed"
COMBINATIONS = "P against Q"
COMBINATIONS_TESTED = (
    "whether P, Q, or P and Q put together (sums and differences, one of them doubled or not) "
    "lie closer to their own load than allowed, as with the same or opposite noise on both"
)
SUPPORT = "support"
SUPPORT_TESTED = (
    "whether P, Q, P + Q or P − Q far out is possible for one load and not, or hardly, for the "
    "other, as with noise that is cut off"
)
_KEPT_SHARES = np.geomspace(0.003, 1.0, 40)
_TAIL_SHARES = np.geomspace(1e-4, 0.3, 16)
NOTHING_TO_LEARN = (0.0, 0.2)
"""Shares of the trials to learn from and to choose on, if thresholds need no coins."""
_EXTREMES = (0.3, 0.1)
"""The same to find where a load's outputs end: known the better, the more of them are seen."""
_COMBINATIONS = ((1, 0), (0, 1), (1, -1), (1, 1), (1, -2), (2, -1), (1, 2), (2, 1))
_MARGINS = (1.0, 1.02, 1.05)
"""How far beyond, relative to the median."""
_TAILS = ((1, 0), (0, 1), (1, 1), (1, -1))


def by_closeness(game: Game, error: float) -> Score:
    """Guess the closer load where an output is close to it."""
    return by_statistics([closeness(game)], game.coins, error, *NOTHING_TO_LEARN)


def by_combinations(game: Game, error: float) -> Score:
    """Guess the closer load by P, Q and combinations of both."""
    return by_statistics(combinations(game), game.coins, error, *NOTHING_TO_LEARN)


def by_support(game: Game, error: float) -> Score:
    """Guess far out, and beyond all outputs that were seen of a load: the better of both."""
    far = by_statistics(tails(game), game.coins, error / 2, *NOTHING_TO_LEARN)
    beyond = by_statistics(extremes(game, _EXTREMES[0]), game.coins, error / 2, *_EXTREMES)
    return max(far, beyond, key=lambda found: found.bound)


def closeness(game: Game) -> Statistic:
    """Return how close outputs are to the closer load, in the plane."""
    near, far = (
        np.hypot(*(game.outputs - load).T.astype(float)) for load in (game.one, game.other)
    )
    return _closer(near, far)


def combinations(game: Game) -> Iterator[Statistic]:
    """Return how close combinations of P and Q are to those of the closer load."""
    for weights in np.array(_COMBINATIONS):
        if (game.one - game.other) @ weights:
            outputs = game.outputs @ weights
            yield _closer(
                *(np.abs(outputs - load @ weights).astype(float) for load in (game.one, game.other))
            )


def tails(game: Game) -> Iterator[Statistic]:
    """Return how far out outputs are, in eight directions."""
    for values in _outward(game):
        yield Statistic(values, quantiles(values, _TAIL_SHARES))


def extremes(game: Game, learn: float) -> Iterator[Statistic]:
    """Return the same, to guess beyond all of one load's outputs among the first trials."""
    first = int(learn * len(game.coins))
    coins = game.coins[:first]
    for values in _outward(game):
        seen = [values[:first][side].max(initial=0.0) for side in (coins, ~coins)]
        yield Statistic(values, np.nextafter(np.outer(seen, _MARGINS).ravel(), np.inf))


def _outward(game: Game) -> Iterator[FloatArray]:
    for weights in np.array(_TAILS):
        for direction in (1, -1):
            outputs = game.outputs @ (direction * weights)
            yield np.maximum(outputs - int(np.median(outputs)), 0).astype(float)


def _closer(one: FloatArray, other: FloatArray) -> Statistic:
    """Return which of two distances is the smaller one, and how small it is."""
    values = np.sign(other - one) / (1 + np.minimum(one, other))
    return Statistic(values, quantiles(values, _KEPT_SHARES))
