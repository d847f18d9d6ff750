"""Statistics of outputs with thresholds: which one speaks is learned on a pilot, then counted.

The pilot has two halves: one may suggest thresholds, the other chooses among them. The trials that
count come after both, so the choice costs no confidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.privacy.audit.game import Score, lower_bounds, score

_PILOT_SHARE = 0.2
_LEAST = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True)
class Statistic:
    """One number per trial: its sign is the guess, its size how sure it is."""

    values: FloatArray
    thresholds: FloatArray
    """How sure it must be: the choices."""


def pilot_size(trials: int) -> int:
    """Return how many trials, the first ones, are the pilot."""
    return int(trials * _PILOT_SHARE)


def quantiles(values: FloatArray, shares: FloatArray) -> FloatArray:
    """Return thresholds that keep shares of the surest trials, all equally sure ones included."""
    return np.asarray(np.quantile(np.abs(values), 1 - shares) * (1 - 1e-12))


def by_statistics(statistics: Sequence[Statistic], coins: BoolArray, error: float) -> Score:
    """Guess by the statistic, the threshold and the sign that do best on the pilot.

    A leak may also show as outputs that speak for the *other* load: both signs are tried.
    """
    end = pilot_size(len(coins))
    best, chosen = -1.0, np.zeros(len(coins) - end)
    for statistic in statistics:
        thresholds = np.maximum(statistic.thresholds, _LEAST)
        bounds = _bounds(statistic.values[end // 2 : end], coins[end // 2 : end], thresholds, error)
        if bounds.max() > best:
            best = float(bounds.max())
            row, column = np.unravel_index(int(bounds.argmax()), bounds.shape)
            counted = statistic.values[end:] * (1.0, -1.0)[row]
            chosen = np.where(np.abs(counted) >= thresholds[column], counted, 0.0)
    return score(chosen, coins[end:], error)


def _bounds(
    values: FloatArray, coins: BoolArray, thresholds: FloatArray, error: float
) -> FloatArray:
    """Return the bounds of every threshold: with the sign as it is, and turned round."""
    strength = np.abs(values)
    order = np.argsort(strength)
    right = ((values > 0) == coins)[order].astype(float)
    hits_above = np.append(np.cumsum(right[::-1])[::-1], 0.0)
    start = np.searchsorted(strength[order], thresholds)
    hits, guesses = hits_above[start], (len(values) - start).astype(float)
    return np.stack([lower_bounds(kind, guesses, error) for kind in (hits, guesses - hits)])
