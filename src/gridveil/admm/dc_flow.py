"""A linear (DC) power flow of the noisy loads, for large networks to set out from.

Agents pass angles on from line to line: across a large network it takes them thousands of
iterations to find what one sparse linear system tells. The noisy loads are private already, so this
is a function of private and public numbers alone.
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

    The generators cover what is drawn together, all at the same place of their bands. Angles are 0
    where the linear system has no solution.
    """
    owner, ends = layout.owners(), layout.line_ends()
    outputs, missing = zip(*(_missing(layout, owner, ends, x) for x in draws), strict=True)
    angles = _angles(layout, ends, layout.lines(draws[0]), missing)
    return list(zip(outputs, angles, strict=True))


def _missing(
    layout: Layout, owner: IntArray, ends: IntArray, x: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return outputs, and the power that each bus has then left over while there are no angles."""
    buses, lines, (start, end) = len(layout.shunt_g), layout.lines(x), ends
    loads = slice(0, layout.loads)
    generators = slice(2 * layout.loads, 2 * layout.loads + layout.generators)
    out = layout.shunt_g.copy()
    for bus, drawn in ((owner[loads], x[loads]), (start, lines[P_FROM]), (end, lines[P_TO])):
        out += np.bincount(bus, drawn, buses)
    outputs = _outputs(layout, x[generators], float(out.sum()))
    return outputs, np.bincount(owner[generators], outputs, buses) - out


def _outputs(layout: Layout, flat: FloatArray, wanted: float) -> FloatArray:
    """Return outputs that add up to what is wanted, as far as bands allow."""
    low, high = layout.band_ends()
    bounded = np.isfinite(low) & np.isfinite(high)
    rest, room = wanted - flat[~bounded].sum() - low[bounded].sum(), (high - low)[bounded]
    share = np.clip(rest / room.sum(), 0.0, 1.0) if room.sum() > 0 else 0.0
    outputs = flat.copy()
    outputs[bounded] = low[bounded] + share * room
    return outputs


def _angles(
    layout: Layout, ends: IntArray, lines: FloatArray, missing: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return angles with which lines carry away what buses have left over, for every draw.

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
    except RuntimeError:  # a bus that only resistances hold, say
        return [np.zeros(buses) for _ in missing]
    found = []
    for power in missing:  # one by one: a draw has the same bits alone and among others
        angles = np.zeros(buses)
        angles[free] = factors.solve(power[free])
        found.append(angles if np.isfinite(angles).all() else np.zeros(buses))
    return found
