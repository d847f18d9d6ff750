"""Where a solve of a network starts when nothing is known of the solution."""

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import splu

from gridveil.arrays import FloatArray
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.solvers import Solver, chosen_for


def starting_point(network: Network) -> OperatingPoint:
    """Return where the solver chosen starts best, before values are moved within their limits.

    Ipopt starts flat: voltages of 1∠0 and no output. The interior-point method starts with the
    angles that phase shifters ask for, and generators in the middle of their limits.
    """
    buses, gens = len(network.buses), network.generators
    ones, none = np.ones(buses), np.zeros(len(gens))
    if chosen_for(buses) is Solver.IPOPT:
        return OperatingPoint(ones, np.zeros(buses), none, none)
    p, q = _middle(gens.p_min, gens.p_max), _middle(gens.q_min, gens.q_max)
    return OperatingPoint(ones, shifted_angles(network), p, q)


def shifted_angles(network: Network) -> FloatArray:
    """Return the angles that minimise Σ (θ_from − θ_to − shift)²/|z| over all lines.

    With equal angles, a phase shifter of little impedance would carry many times its rating.
    """
    lines, n = network.lines, len(network.buses)
    theta, free = np.zeros(n), np.flatnonzero(~network.buses.reference)
    if not np.any(lines.shift) or not len(free):
        return theta
    line = np.arange(len(lines))
    cells = (np.tile(line, 2), np.concatenate([lines.from_bus, lines.to_bus]))
    difference = csr_array((np.repeat([1.0, -1.0], len(lines)), cells), shape=(len(lines), n))
    weighted = difference[:, free].T @ diags_array(np.abs(lines.y))
    theta[free] = splu((weighted @ difference[:, free]).tocsc()).solve(weighted @ lines.shift)
    return theta


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the middle of limits, and 0 where one is infinite."""
    bounded = np.isfinite(low) & np.isfinite(high)
    return np.where(bounded, (np.where(bounded, low, 0.0) + np.where(bounded, high, 0.0)) / 2, 0.0)
