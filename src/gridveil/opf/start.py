"""Where central problems start: voltages of 1, at angles with which phase shifts drive no power.

A transformer with a vector group of 150° holds its two sides 150° apart. A start without angles is
then far from every solution: across each such transformer it has more than the power the network
could ever carry.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.solvers import Solver, chosen_for


def flat_start(network: Network, outputs: FloatArray) -> OperatingPoint:
    """Return voltages of 1 at `shift_angles`, and outputs given in p.u.

    `ProgramBuilder.start` moves them within limits.
    """
    nothing = np.zeros(len(network.generators))
    return OperatingPoint(np.ones(len(network.buses)), shift_angles(network), outputs, nothing)


def starting_point(network: Network, programs: int = 1) -> OperatingPoint:
    """Return where the solver chosen for programs of a network starts, if nothing is known.

    Ipopt starts without output, the interior-point method in the middle of generators' limits.
    """
    gens = network.generators
    if chosen_for(len(network.buses), programs) is Solver.IPOPT:
        return flat_start(network, np.zeros(len(gens)))
    middle = flat_start(network, _middle(gens.p_min, gens.p_max))
    return replace(middle, q=_middle(gens.q_min, gens.q_max))


def _middle(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the middle of limits, and 0 where one is infinite."""
    bounded = np.isfinite(low) & np.isfinite(high)
    return np.asarray(np.where(bounded, low, 0.0) / 2 + np.where(bounded, high, 0.0) / 2)


def shift_angles(network: Network) -> FloatArray:
    """Return the angles closest to all phase shifts: the least Σ (θ_f − θ_t − φ)²/|z|.

    They are 0 in a network without phase shifts. Of the whole turns that φ may have more or less,
    each line has those that bring it nearest to the middle of its angle limits.
    """
    lines, buses = network.lines, network.buses
    if not lines.shift.any():
        return np.zeros(len(buses))
    middle = _middle(lines.angle_min, lines.angle_max)
    shift = middle + np.remainder(lines.shift - middle + np.pi, 2 * np.pi) - np.pi
    ends, stiffness = np.stack([lines.from_bus, lines.to_bus]), np.abs(lines.y)
    surplus = surplus_of_flows(ends, stiffness * shift, len(buses))
    return linear_angles(ends, stiffness, buses.reference, [surplus])[0]


def surplus_of_flows(ends: IntArray, flow: FloatArray, buses: int) -> FloatArray:
    """Return what flows leave at their from end less what arrives at their to end, by bus."""
    leaving, arriving = (np.bincount(end, flow, buses) for end in ends)
    return np.asarray(leaving - arriving, dtype=float)


def linear_angles(
    ends: IntArray, slope: FloatArray, reference: BoolArray, surplus: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return angles with which lines carry away the surplus of every bus, for each surplus.

    Args:
        ends: The bus at the from and at the to end of every line, of shape (2, lines).
        slope: The power that each line carries for every radian between its ends.
        reference: The buses whose angle is 0.
        surplus: Powers to carry away, one for each bus.

    Returns:
        Angles, 0 where the linear system has no solution.
    """
    buses, free, (start, end) = len(reference), ~reference, ends
    rows, columns = np.concatenate([start, end] * 2), np.concatenate([start, end, end, start])
    matrix = sparse.csc_matrix(
        (np.concatenate([slope, slope, -slope, -slope]), (rows, columns)),
        shape=(buses, buses),
    )
    try:
        factors = splu(matrix[free][:, free])
    except RuntimeError:  # singular: a bus connected by resistances alone, for example
        return [np.zeros(buses) for _ in surplus]
    found = []
    for power in surplus:  # one by one: a draw has the same bits alone and among others
        angles = np.zeros(buses)
        angles[free] = factors.solve(power[free])
        found.append(angles if np.isfinite(angles).all() else np.zeros(buses))
    return found
