"""A linear (DC) power flow of the noisy loads, for large networks to set out from.

Agents pass angles on from line to line: across a large network it takes them thousands of
iterations to find what one sparse linear system tells. The noisy loads are private already, so this
is a function of private and public numbers alone.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from gridveil.admm.layout import VOLTAGES, Layout
from gridveil.arrays import FloatArray
from gridveil.network.flows import P_FROM, P_TO


def dc_flow(layout: Layout, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return outputs and bus angles for the loads and the flat lines of a shared vector.

    The generators cover what is drawn together, all at the same place of their bands. Angles are 0
    where the linear system has no solution.
    """
    buses, owner, lines = len(layout.shunt_g), layout.owners(), layout.lines(x)
    start, end = layout.line_ends()
    loads = slice(0, layout.loads)
    generators = slice(2 * layout.loads, 2 * layout.loads + layout.generators)
    out = layout.shunt_g.copy()
    for bus, drawn in (
        (owner[loads], x[loads]), (start, lines[P_FROM]), (end, lines[P_TO]),
    ):  # fmt: skip
        out += np.bincount(bus, drawn, buses)
    outputs = _outputs(layout, x[generators], float(out.sum()))
    missing = np.bincount(owner[generators], outputs, buses) - out
    slope = layout.sine[P_FROM] * np.sqrt(lines[VOLTAGES, :].prod(axis=0))
    rows, columns = np.concatenate([start, end] * 2), np.concatenate([start, end, end, start])
    matrix = sparse.csc_matrix(
        (np.concatenate([slope, slope, -slope, -slope]), (rows, columns)), shape=(buses, buses)
    )
    free = ~layout.reference
    angles = np.zeros(buses)
    try:
        angles[free] = splu(matrix[free][:, free]).solve(missing[free])
    except RuntimeError:  # a bus that only resistances hold, say
        return outputs, np.zeros(buses)
    return outputs, angles if np.isfinite(angles).all() else np.zeros(buses)


def _outputs(layout: Layout, flat: FloatArray, wanted: float) -> FloatArray:
    """Return outputs that add up to what is wanted, as far as bands allow."""
    low = layout.interval_low[layout.interval_start[:-1]]
    high = layout.interval_high[layout.interval_start[1:] - 1]
    bounded = np.isfinite(low) & np.isfinite(high)
    rest, room = wanted - flat[~bounded].sum() - low[bounded].sum(), (high - low)[bounded]
    share = np.clip(rest / room.sum(), 0.0, 1.0) if room.sum() > 0 else 0.0
    outputs = flat.copy()
    outputs[bounded] = low[bounded] + share * room
    return outputs
