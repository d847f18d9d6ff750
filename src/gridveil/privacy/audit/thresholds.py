"""Statistics of outputs with thresholds: which one speaks is learned on a pilot, then counted.

The pilot has two parts: the first may suggest thresholds, the second chooses among them. The trials
that count come after both, so the choice costs no confidence.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.privacy.audit.game import Score, lower_bounds, score

_WRONG_ADDED = 2
_LEAST = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True)
class Statistic:
    """One number per trial: its sign is the guess, its size how sure it is."""

    values: FloatArray
    thresholds: FloatArray
    """How sure it must be: the choices."""


def quantiles(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Return thresholds that keep shares of the surest trials, all equally sure ones included."""
    return np.asarray(np.quantile(np.abs(values), 1 - shares) * (1 - 1e-12))


def by_statistics(
    statistics: Iterable[Statistic],
    coins: BoolArray,
    error: float,
    learn: float,
    choose: float,
) -> Score:
    """Guess by the statistic, the threshold and the sign that do best on the pilot.

    A leak may also show as outputs that speak for the *other* load: both signs are tried.

    Args:
        statistics: To choose from, with their thresholds.
        coins: Of the trials.
        error: The error probability.
        learn: Share of the trials whose coins the thresholds know; they are left out.
        choose: Share of the trials that follow, to choose on.
    """
    start, end = int(learn * len(coins)), int((learn + choose) * len(coins))
    ahead = (len(coins) - end) / max(1, end - start)
    best, chosen = -1.0, np.zeros(len(coins) - end)
    for statistic in statistics:
        thresholds = np.maximum(statistic.thresholds, _LEAST)
        bounds = _bounds(statistic.values[start:end], coins[start:end], thresholds, ahead, error)
        if bounds.max() > best:
            best = float(bounds.max())
            row, column = np.unravel_index(int(bounds.argmax()), bounds.shape)
            counted = statistic.values[end:] * (1.0, -1.0)[row]
            chosen = np.where(np.abs(counted) >= thresholds[column], counted, 0.0)
    return score(chosen, coins[end:], error)


def _bounds(
    values: FloatArray, coins: BoolArray, thresholds: FloatArray, ahead: float, error: float
) -> FloatArray:
    """Return the bound that each threshold may be expected to give: as it is, and turned round.

    `ahead` is how many times as many trials lie ahead. A few wrong guesses are added, so that what
    was seen too seldom to trust is not chosen.
    """
    strength = np.abs(values)
    order = np.argsort(strength)
    right = ((values > 0) == coins)[order].astype(float)
    hits_above = np.append(np.cumsum(right[::-1])[::-1], 0.0)
    start = np.searchsorted(strength[order], thresholds)
    hits, guesses = hits_above[start], (len(values) - start).astype(float)
    expected = (guesses + _WRONG_ADDED) * ahead
    return np.stack(
        [lower_bounds(kind * ahead, expected, error) for kind in (hits, guesses - hits)]
    )
