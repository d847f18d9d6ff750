"""Simulated private loads: many at once for figures of the noise. Not private, spends nothing."""

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.privacy.mechanisms.base import Mechanism, checked_simulation
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.publication.steps import Steps

_MOST_DRAWS, _LEAST_DRAWS = 1000, 100
_MOST_LOADS = 1 << 20
"""Loads that are simulated for figures of the noise, all draws together."""


def draws_for(loads: int) -> int:
    """Return how many draws figures of the noise are made from."""
    return max(_LEAST_DRAWS, min(_MOST_DRAWS, _MOST_LOADS // max(loads, 1)))


def simulated_private(
    steps: Steps, loads: FloatArray, draws: int, random: np.random.Generator
) -> FloatArray:
    """Return simulated private loads in p.u., a bought total taken into account.

    Args:
        steps: What was decided about the release.
        loads: The loads, of shape (loads, 2).
        draws: How many times they are drawn.
        random: The source of the noise.

    Returns:
        The private loads of every draw, of shape (draws, loads, 2).
    """
    drawn = _simulated(steps.mechanism, loads, draws, random)
    bought = steps.total_mechanism
    if bought is None:
        return drawn
    totals = bought.simulate(np.tile(loads.sum(axis=0), (draws, 1)), random)
    return steps.fitted(drawn, totals, bought)


def _simulated(
    mechanism: Mechanism, loads: FloatArray, draws: int, random: np.random.Generator
) -> FloatArray:
    """Simulate all draws at once, or one by one where bounds belong to the rows of an array."""
    if isinstance(mechanism, Clamped):
        inner = _simulated(mechanism.mechanism, loads, draws, random)
        return np.clip(inner, mechanism.bounds.lower, mechanism.bounds.upper)
    if mechanism.needs_bounds:
        return np.stack([checked_simulation(mechanism, loads, random) for _ in range(draws)])
    tiled = checked_simulation(mechanism, np.tile(loads, (draws, 1)), random)
    return tiled.reshape(draws, *loads.shape)
