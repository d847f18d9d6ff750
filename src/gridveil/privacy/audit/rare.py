"""The player for rare events: outputs that are a load, or all but, if only once in thousands.

One pair alone has too few of them. They are pooled over all pairs: given all outputs and earlier
coins each guess is right with probability at most e^ε/(1 + e^ε), whichever pair it is about, so the
hits of all pairs together are dominated by a binomial number too. What is guessed at is settled
beforehand, so that no trial is spent on learning.
"""

import numpy as np

from gridveil.arrays import IntArray
from gridveil.privacy.audit.game import Game, Score, score_of

NAME = "rare events"
TESTED = (
    "whether now and then an output is its load, or within 2 or 10 grid steps of it, in P, in Q or "
    "in both; the guesses about all pairs together"
)
_RADII = (0, 2, 10)
_COORDINATES = ((0, 1), (0,), (1,))
PARTS = len(_RADII) * len(_COORDINATES)
"""Kinds of events, which share the error probability."""


def count_events(game: Game) -> IntArray:
    """Return hits and guesses for each kind of event, the closer load being guessed."""
    counts = []
    for coordinates in _COORDINATES:
        distance, closer = _nearest(game, coordinates)
        for radius in _RADII:
            guessed = (distance <= radius) & (closer != 0)
            counts.append((guessed & ((closer > 0) == game.coins)).sum())
            counts.append(guessed.sum())
    return np.array(counts, dtype=np.int64).reshape(PARTS, 2)


def by_rare_events(counts: IntArray, error: float) -> Score:
    """Return the best score of all kinds of events, counted over all pairs."""
    scores = [score_of(int(hits), int(guesses), error / PARTS) for hits, guesses in counts]
    return max(scores, key=lambda found: (found.bound, found.guesses))


def _nearest(game: Game, coordinates: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return the distance to the closer load (larger of P and Q), and which that is."""
    of = list(coordinates)
    one, other = (
        np.abs(game.outputs[:, of] - load[of]).max(axis=1) for load in (game.one, game.other)
    )
    return np.minimum(one, other), np.sign(other - one)
