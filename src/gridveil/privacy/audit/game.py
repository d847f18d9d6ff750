"""A guessing game, and the bound on ε that its right guesses prove.

One of two loads is picked by a fair coin and released; the player, who knows both, guesses which it
was, but only where the output makes it sure enough. Under ε-differential privacy a guess is right
with probability at most e^ε/(1 + e^ε), whatever the output. So if it is right more often, ε must be
larger: ε ≥ ln(h/(1 − h)), with h the Clopper-Pearson lower bound of the hit rate.

Proof. Let all outputs O and all coins but one be known. The odds of that coin are those of the two
probabilities of O, at most e^ε. Averaged over the later coins this still holds, so given O and the
earlier coins each guess is right with probability at most p = e^ε/(1 + e^ε). A player may therefore
look at all outputs, and at the coins of a pilot, to settle when and what to guess: the number of
hits among the other trials is dominated by a binomial one with probability p. It does not matter
whether the mechanism draws loads independently, or which pair of loads a trial was about.
"""

import os
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.privacy.mechanisms.base import Mechanism, checked_draw


@dataclass(frozen=True)
class Game:
    """Trials about one pair of loads, in grid steps."""

    one: IntArray
    other: IntArray
    coins: BoolArray
    """True where the load was `one`."""
    outputs: IntArray
    """One for each coin; the player's view of it, if not the output itself."""


@dataclass(frozen=True)
class Score:
    """Right guesses, all guesses, and the bound on ε."""

    hits: int
    guesses: int
    bound: float


def flip_coins(count: int) -> BoolArray:
    """Return fair coins from the operating system's entropy."""
    return np.frombuffer(os.urandom(count), np.uint8) < 128


def play_game(mechanism: Mechanism, one: IntArray, other: IntArray, trials: int) -> Game:
    """Release one of two loads in each trial, all in one call."""
    coins = flip_coins(trials)
    return Game(one, other, coins, checked_draw(mechanism, np.where(coins[:, None], one, other)))


def score(guesses: IntArray | FloatArray, coins: BoolArray, error: float) -> Score:
    """Count guesses: above 0 for `one`, below 0 for `other`, 0 for none."""
    guessed = guesses != 0
    hits = int((guessed & ((guesses > 0) == coins)).sum())
    return score_of(hits, int(guessed.sum()), error)


def score_of(hits: int, guesses: int, error: float) -> Score:
    """Return the score of so many right guesses."""
    bound = lower_bounds(np.array([float(hits)]), np.array([float(guesses)]), error)
    return Score(hits, guesses, float(bound[0]))


def lower_bounds(hits: FloatArray, guesses: FloatArray, error: float) -> FloatArray:
    """Return ln(h/(1 − h)) for the Clopper-Pearson lower bounds h, at least 0."""
    some = hits > 0
    rate = betaincinv(np.where(some, hits, 1), guesses - hits + 1, error)
    with np.errstate(divide="ignore"):
        bounds = np.log(rate) - np.log1p(-rate)
    return np.where(some, np.maximum(0.0, bounds), 0.0)
