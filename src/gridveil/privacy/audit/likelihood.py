"""The player that goes by the likelihood, as the mechanism's proof has it: best if that is right.

How likely an output must be to be guessed at is settled by the claim, without seeing any coin.
"""

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.privacy.audit.game import Score, lower_bounds, score

NAME = "likelihood"
TESTED = "whether outputs are as unlike as the mechanism's own proof allows, and no more"
_KEPT_SHARES = np.geomspace(0.003, 1.0, 40)


def by_likelihood(loss: FloatArray, coins: BoolArray, claimed: float, error: float) -> Score:
    """Guess where the loss is largest: how large is settled by the claim."""
    strength = np.abs(loss)
    best, chosen = -np.inf, 0.0
    for share in _KEPT_SHARES:
        threshold = float(np.quantile(strength, 1 - share)) * (1 - 1e-12)  # all equal ones too
        sure = np.minimum(strength[strength >= threshold], claimed)
        expected = float((1 / (1 + np.exp(-sure))).sum())
        (bound,) = lower_bounds(np.array([expected]), np.array([float(len(sure))]), error)
        if bound > best:
            best, chosen = float(bound), threshold
    return score(np.where(strength >= chosen, loss, 0.0), coins, error)
