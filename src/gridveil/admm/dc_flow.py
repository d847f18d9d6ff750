"""A linear (DC) power flow of the noisy loads, the starting point of large networks.

Agents pass angles on from line to line: across a large network that takes thousands of iterations,
and one sparse linear system gives nearly the same angles at once. Noise has been added to the loads
before, so this is post-processing of noisy and public numbers.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from gridveil.admm.layout import VOLTAGES, Layout
from gridveil.arrays import FloatArray, IntArray
from gridveil.network.flows import P_FROM, P_TO


def dc_flows(layout: Layout, draws: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
    """Return outputs and bus angles for the loads and flat lines of some shared vectors.

    The generators cover the demand together, all at the same place of their bands. Angles are 0
    where the linear system has no solution.
    """
    owner, ends = layout.owners(), layout.line_ends()
    outputs, surplus = zip(*(_surplus(layout, owner, ends, x) for x in draws), strict=True)
    angles = _angles(layout, ends, layout.lines(draws[0]), surplus)
    return list(zip(outputs, angles, strict=True))


def _surplus(
    layout: Layout, owner: IntArray, ends: IntArray, x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return outputs, and the surplus of power at each bus while there are no angles."""
    buses, lines, (start, end) = len(layout.shunt_g), layout.lines(x), ends
    loads = slice(0, layout.loads)
    generators = slice(layout.first_generator, layout.first_generator + layout.generators)
    demand = layout.shunt_g.copy()
    for bus, drawn in ((owner[loads], x[loads]), (start, lines[P_FROM]), (end, lines[P_TO])):
        demand += np.bincount(bus, drawn, buses)
    outputs = _outputs(layout, x[generators], float(demand.sum()))
    return outputs, np.bincount(owner[generators], outputs, buses) - demand


def _outputs(layout: Layout, flat: FloatArray, demand: float) -> FloatArray:
    """Return outputs that add up to the demand, as far as bands allow."""
    low, high = layout.band_ends()
    bounded = np.isfinite(low) & np.isfinite(high)
    rest, range_ = demand - flat[~bounded].sum() - low[bounded].sum(), (high - low)[bounded]
    share = np.clip(rest / range_.sum(), 0.0, 1.0) if range_.sum() > 0 else 0.0
    outputs = flat.copy()
    outputs[bounded] = low[bounded] + share * range_
    return outputs


def _angles(
    layout: Layout, ends: IntArray, lines: FloatArray, surplus: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return angles with which lines carry away the surplus of every bus, for every draw.

    Every line carries sine · v_f · v_t for each radian between its ends.
    """
    buses, free, (start, end) = len(layout.shunt_g), ~layout.reference, ends
    slope = layout.sine[P_FROM] * np.sqrt(lines[VOLTAGES, :].prod(axis=0))
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
