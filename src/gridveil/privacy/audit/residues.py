"""The player that goes by residues: digits of a load that survive the noise.

Noise that is always a multiple of m leaves a load's residue modulo m as it was. Which residues of
which modulus speak for which load is learned on one half of the pilot, and the choice is made on
the other half; the trials that count come after both.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.privacy.audit.game import Game, Score, lower_bounds, score

NAME = "residues"
LARGEST_MODULUS = 1000
TESTED = f"whether digits survive: residues of P and of Q modulo 2 … {LARGEST_MODULUS}"
_PILOT_SHARE = 0.2
_LARGEST_PILOT = 4000
"""More of it would take longer than it would find."""
_LEAST_STRENGTHS = (0.0, 0.3, 0.6, 0.85)
"""How one-sided a residue must be before it is guessed at."""


@dataclass(frozen=True)
class _Rule:
    """Guess by the residues of one coordinate."""

    coordinate: int
    modulus: int
    least: float


def by_residues(game: Game, error: float) -> Score:
    """Guess by the modulus that does best on the pilot."""
    trials = len(game.coins)
    end = min(int(trials * _PILOT_SHARE), _LARGEST_PILOT)
    rule = _choose(game.outputs[:end], game.coins[:end], error)
    residues = game.outputs[:, rule.coordinate] % rule.modulus
    counts = _counts(residues[:end], game.coins[:end], rule.modulus)
    strength = _strengths(counts)
    strength[np.abs(strength) <= rule.least] = 0.0
    return score(strength[residues[end:]], game.coins[end:], error)


def _choose(outputs: IntArray, coins: BoolArray, error: float) -> _Rule:
    half = len(coins) // 2
    hits, guesses, rules = [], [], []
    for coordinate in (0, 1):
        values = outputs[:, coordinate]
        for modulus in range(2, LARGEST_MODULUS + 1):
            residues = values - modulus * (values // modulus)
            strength = _strengths(_counts(residues[:half], coins[:half], modulus))
            found = strength[residues[half:]]
            right = (found > 0) == coins[half:]
            for least in _LEAST_STRENGTHS:
                guessed = np.abs(found) > least
                hits.append(int(np.count_nonzero(guessed & right)))
                guesses.append(int(np.count_nonzero(guessed)))
                rules.append(_Rule(coordinate, modulus, least))
    # Among so many rules some do well by luck: only what is beyond it is a reason to choose one.
    bounds = lower_bounds(np.array(hits, float), np.array(guesses, float), error / len(rules))
    return rules[int(bounds.argmax())]


def _counts(residues: IntArray, coins: BoolArray, modulus: int) -> FloatArray:
    """Return how often each residue came from the other load, and from the one."""
    flat = np.bincount(residues + modulus * coins, minlength=2 * modulus)
    return flat.reshape(2, modulus).astype(float)


def _strengths(counts: FloatArray) -> FloatArray:
    """Return how one-sided each residue is, from −1 (other) to 1 (one); less so if seldom seen."""
    other, one = counts
    return np.asarray((one - other) / (one + other + 1))
