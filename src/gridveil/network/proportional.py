"""Proportional dispatch: how a network without costs is run, by public numbers alone.

    minimise Σ_g (p_g − p̲_g)² / (p̄_g − p̲_g)

subject to the network model. Without losses and limits of lines, every unit is loaded in the same
share of its range; where limits stand in the way, shares differ as little as the sum of squares
allows. It is strictly convex in the outputs, so that none of two dispatches is chosen by chance.

A unit that may as well have no limits (10⁹ MW, as some programs write it) has no range to take a
share of. It counts p²/R: as far from 0 as R, what the ranges of all others add up to.
"""

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.network.network import Network

UNLIMITED_MW = 1e9
"""A limit of this size is none."""


def is_limited(network: Network) -> BoolArray:
    """Return which generators have limits of active power, at both ends."""
    gens, most = network.generators, UNLIMITED_MW / network.base_mva
    return np.asarray((gens.p_min > -most) & (gens.p_max < most))


def proportional_coefficients(network: Network) -> FloatArray:
    """Return the polynomials, in ascending powers of p, whose sum the dispatch minimises.

    Of shape (generators, 3); 0 for a unit whose output its limits fix.
    """
    gens, limited = network.generators, is_limited(network)
    low, width = np.zeros(len(gens)), np.zeros(len(gens))
    low[limited] = gens.p_min[limited]
    width[limited] = gens.p_max[limited] - gens.p_min[limited]
    width[~limited] = width.sum() or 1.0
    per_width = np.divide(1.0, width, out=np.zeros_like(width), where=width > 0)
    return np.stack([low**2 * per_width, -2 * low * per_width, per_width], axis=1)
