"""A draw of the noise: the private loads that agents restore, their weights and their limits."""

from typing import NamedTuple

import numpy as np

from gridveil.arrays import FloatArray


class Draw(NamedTuple):
    """The private loads and the weights of their squared distances: p of all loads, then q.

    A load with limits has p ≥ 0 and |q| ≤ slope·p; one without has infinite ones.
    """

    noisy: FloatArray
    """S̃, in p.u."""
    weights: FloatArray
    """The weight of each of these numbers in the objective Σ w (x − x̃)²."""
    p_min: FloatArray
    """The least p of each load: 0, or −∞ for a load without limits."""
    slopes: FloatArray
    """The largest |q|/p of each load."""

    @property
    def distinguishing(self) -> tuple[FloatArray, ...]:
        """The arrays that distinguish it; where all loads count as 1, those of older versions."""
        weights = (self.weights,) if (self.weights != 1.0).any() else ()
        limits = (self.p_min, self.slopes) if (self.p_min > -np.inf).any() else ()
        return (self.noisy, *weights, *limits)


def make_draw(
    noisy: FloatArray,
    weights: FloatArray | None = None,
    p_min: FloatArray | None = None,
    slopes: FloatArray | None = None,
) -> Draw:
    """Return a draw.

    Args:
        noisy: p of all loads and then q, in p.u.
        weights: The weight of each load; without them all count alike.
        p_min: The least p of each load, 0 or −∞; without it no load has limits.
        slopes: The largest |q|/p of each load; infinite without.
    """
    loads = len(noisy) // 2
    return Draw(
        noisy,
        np.ones(len(noisy)) if weights is None else np.tile(weights, 2),
        np.full(loads, -np.inf) if p_min is None else p_min,
        np.full(loads, np.inf) if slopes is None else slopes,
    )
