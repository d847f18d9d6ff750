"""Plays about several loads in one call: load against load, and the order of loads.

What a mechanism draws for one load must not depend on another load, nor be drawn for it too. Some
loads of a call are picked by a coin; the player knows the others, and may subtract their noise.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from gridveil.arrays import BoolArray, IntArray
from gridveil.privacy.audit.game import Game, Score, flip_coins
from gridveil.privacy.audit.players import NOTHING_TO_LEARN, closeness, combinations, tails
from gridveil.privacy.audit.thresholds import by_statistics
from gridveil.privacy.mechanisms.base import Mechanism, checked_draw

AGAINST = "load against load"
AGAINST_TESTED = (
    "whether a load shows in its neighbour's output, or when the noise of its neighbour, of the "
    "first load or of a load that repeats it is subtracted"
)
ORDER = "order of loads"
ORDER_TESTED = (
    "whether the first, the last, a middle or the only load of a call is treated otherwise, in "
    "calls of 1, 2 and 5 loads"
)
_CALL_SIZES = (1, 2, 5)
_LAG_SHARE = 0.2
_HASH = np.int64(1_000_003)
"""Makes one number of two; equal noise has equal numbers, and hardly any other has."""


def against_loads(
    mechanism: Mechanism, one: IntArray, other: IntArray, trials: int, error: float
) -> Score:
    """Play about loads that stand among loads that the player knows."""
    hidden, coins = flip_coins(trials), flip_coins(trials)
    loads = np.where((coins & hidden)[:, None] | ~hidden[:, None], one, other)
    outputs = checked_draw(mechanism, loads)
    views = _views(one, other, hidden, coins, loads, outputs)
    return _best(list(views), error)


def in_order(
    mechanism: Mechanism, one: IntArray, other: IntArray, calls: int, error: float
) -> Score:
    """Play about each place in small calls, of every size as many."""
    places: dict[str, list[Game]] = {}
    for size in _CALL_SIZES:
        coins = flip_coins(calls * size).reshape(calls, size)
        loads = np.where(coins[:, :, None], one, other)
        outputs = np.stack([checked_draw(mechanism, call) for call in loads])
        for place in range(size):
            game = Game(one, other, coins[:, place], outputs[:, place])
            places.setdefault(_place(place, size), []).append(game)
    return _best([_joined(games) for games in places.values()], error)


def _views(
    one: IntArray,
    other: IntArray,
    hidden: BoolArray,
    coins: BoolArray,
    loads: IntArray,
    outputs: IntArray,
) -> Iterator[Game]:
    """Yield what a player looks at: outputs less another load's noise, and another's output."""

    def less_noise_of(references: IntArray, rows: IntArray) -> Game:
        noise = outputs[references] - one
        return Game(one, other, coins[rows], outputs[rows] - noise)

    rows = np.flatnonzero(hidden[1:] & ~hidden[:-1]) + 1
    yield less_noise_of(rows - 1, rows)
    known = np.flatnonzero(~hidden)
    rows = np.flatnonzero(hidden)
    yield less_noise_of(np.full(len(rows), known[0]), rows)
    pilot = int(_LAG_SHARE * len(loads))
    lag = _commonest_lag((outputs - loads)[:pilot])
    rows = np.flatnonzero(hidden[pilot:] & ~hidden[pilot - lag : len(hidden) - lag]) + pilot
    yield less_noise_of(rows - lag, rows)
    for step in (1, -1):
        shown = ~hidden & np.roll(hidden, step)
        yield Game(one, other, np.roll(coins, step)[shown], outputs[shown])


def _commonest_lag(noise: IntArray) -> int:
    """Return how many loads later noise most often comes again; 1 if it never does."""
    key = noise[:, 0] * _HASH + noise[:, 1]
    order = np.argsort(key, kind="stable")
    same = key[order][1:] == key[order][:-1]
    lags = np.diff(order)[same]
    return int(np.bincount(lags).argmax()) if len(lags) else 1


def _place(place: int, size: int) -> str:
    if size == 1:
        return "only"
    return {0: "first", size - 1: "last"}.get(place, "middle")


def _joined(games: Sequence[Game]) -> Game:
    first = games[0]
    coins = np.concatenate([game.coins for game in games])
    return Game(first.one, first.other, coins, np.concatenate([game.outputs for game in games]))


def _best(games: Sequence[Game], error: float) -> Score:
    """Return the best score of several games, which share the error probability."""
    return max(
        (_play(game, error / len(games)) for game in games),
        key=lambda found: (found.bound, found.guesses),
    )


def _play(game: Game, error: float) -> Score:
    statistics = chain([closeness(game)], combinations(game), tails(game))
    return by_statistics(statistics, game.coins, error, *NOTHING_TO_LEARN)
