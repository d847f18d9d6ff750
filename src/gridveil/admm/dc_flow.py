"""A linear (DC) power flow of the noisy loads, the starting point of large networks.

Agents pass angles on from line to line: across a large network that takes thousands of iterations,
and one sparse linear system gives nearly the same angles at once. Noise has been added to the loads
before, so this is post-processing of noisy and public numbers.
"""

from collections.abc import Sequence

import numpy as np

from gridveil.admm.layout import ANGLES, VOLTAGES, Layout
from gridveil.arrays import FloatArray, IntArray
from gridveil.network.flows import P_FROM, P_TO
from gridveil.opf.start import linear_angles, surplus_of_flows


def shift_angles(layout: Layout) -> FloatArray:
    """Return the angles closest to the middle of all angle limits: those of the phase shifts.

    Agents know a phase shift by their limits, which count from it. Limits further apart than half
    a turn say nothing.
    """
    low, high = layout.box[4:]
    middle = np.where(high - low <= np.pi, (low + high) / 2, 0.0)
    if not middle.any():
        return np.zeros(len(layout.shunt_g))
    ends, stiffness = layout.line_ends(), np.hypot(layout.cosine[0], layout.sine[0])
    surplus = surplus_of_flows(ends, stiffness * middle, len(layout.shunt_g))
    return linear_angles(ends, stiffness, layout.reference, [surplus])[0]


def dc_flows(layout: Layout, draws: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
    """Return outputs, and what to add to the bus angles, for the shared vectors of some draws.

    The lines of all vectors are at the same voltages. The generators cover the demand together, all
    at the same place of their bands. Nothing is added where the linear system has no solution.
    """
    owner, ends = layout.owners(), layout.line_ends()
    outputs, surplus = zip(*(_surplus(layout, owner, ends, x) for x in draws), strict=True)
    slope = _slope(layout, layout.lines(draws[0]))
    angles = linear_angles(ends, slope, layout.reference, surplus)
    return list(zip(outputs, angles, strict=True))


def _slope(layout: Layout, lines: FloatArray) -> FloatArray:
    """Return the active power that each line carries more for each radian more between its ends."""
    delta = np.clip(lines[ANGLES[0]] - lines[ANGLES[1]], *layout.box[4:])
    wave = layout.sine[P_FROM] * np.cos(delta) - layout.cosine[P_FROM] * np.sin(delta)
    return np.asarray(wave * np.sqrt(lines[VOLTAGES, :].prod(axis=0)))


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
