"""A draw of the noise: the private loads that agents restore, and how much each of them counts."""

from typing import NamedTuple

import numpy as np

from gridveil.arrays import FloatArray


class Draw(NamedTuple):
    """The private loads and the weights of their squared distances: p of all loads, then q."""

    noisy: FloatArray
    """S̃, in p.u."""
    weights: FloatArray
    """The weight of each of these numbers in the objective Σ w (x − x̃)²."""

    @property
    def distinguishing(self) -> tuple[FloatArray, ...]:
        """The arrays that distinguish it; where all loads count as 1, those of older versions."""
        return tuple(self) if (self.weights != 1.0).any() else (self.noisy,)


def make_draw(noisy: FloatArray, weights: FloatArray | None = None) -> Draw:
    """Return a draw.

    Args:
        noisy: p of all loads and then q, in p.u.
        weights: The weight of each load; without them all count alike.
    """
    return Draw(noisy, np.ones(len(noisy)) if weights is None else np.tile(weights, 2))
