"""Cost bands: the outputs at which a generator costs what it should.

A generator's band is O*_g − β|O*_g| ≤ c_g(p) ≤ O*_g + β|O*_g|, within its limits: one interval of
outputs, or several where the cost is not monotone. A generator whose O* is 0 has no band.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.costs import Costs
from gridveil.network.network import Network

_ROUNDING = 1e-9
"""How far, relative to |O*|, a cost may miss its band: O* itself comes from a solver."""


@dataclass(frozen=True)
class Band:
    """The outputs a generator may have, in p.u., as disjoint intervals in ascending order."""

    intervals: tuple[tuple[float, float], ...]

    @property
    def hull(self) -> tuple[float, float]:
        """The smallest interval around them."""
        return self.intervals[0][0], self.intervals[-1][1]

    def nearest(self, p: float) -> tuple[float, float]:
        """Return the interval nearest to an output."""
        return min(self.intervals, key=lambda interval: max(interval[0] - p, p - interval[1], 0.0))

    def slack(self, p: float) -> float:
        """Return how far inside its interval an output is; below 0 if outside."""
        low, high = self.nearest(p)
        return min(p - low, high - p)


def cost_bands(network: Network, costs: FloatArray, beta: float) -> tuple[Band, ...]:
    """Return the band of every generator, or refuse by name those that have none."""
    gens = network.generators
    bands, empty = [], []
    for g in range(len(gens)):
        low, high = float(gens.p_min[g]), float(gens.p_max[g])
        intervals: tuple[tuple[float, float], ...] = ((low, high),)
        if costs[g] != 0:
            width = (beta + _ROUNDING) * abs(costs[g])
            limits = (costs[g] - width, costs[g] + width)
            intervals = _intervals(gens.costs, g, limits, (low, high))
        if not intervals:
            empty.append(g)
        bands.append(Band(intervals or ((low, high),)))
    if empty:
        others = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise GridveilError(
            f"{network.generator_name(empty[0])}{others}: no output within its limits costs within "
            f"{beta:g} of its public cost of {costs[empty[0]]:g} $/h; check the costs or raise beta"
        )
    return tuple(bands)


def _intervals(
    costs: Costs, generator: int, limits: tuple[float, float], outputs: tuple[float, float]
) -> tuple[tuple[float, float], ...]:
    """Return where a cost lies within limits: cut at every crossing, keep the pieces inside."""
    low, high = outputs
    crossings = [
        p for limit in limits for p in _crossings(costs, generator, limit) if low < p < high
    ]
    cuts = np.array(sorted({low, high, *crossings}))

    def inside(p: float) -> bool:
        cost = _cost(costs, generator, p)
        return bool(limits[0] <= cost <= limits[1])

    pieces = [(float(a), float(b)) for a, b in pairwise(cuts) if inside((a + b) / 2)]
    points = [(float(p), float(p)) for p in cuts if inside(p)]
    merged: list[tuple[float, float]] = []
    for a, b in sorted(pieces + points):
        if merged and a <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
        else:
            merged.append((a, b))
    return tuple(merged)


def _crossings(costs: Costs, generator: int, value: float) -> list[float]:
    """Return the outputs at which a generator's cost equals a value."""
    own = costs.segment_generator == generator
    if own.any():
        slope, intercept = costs.segment_slope[own], costs.segment_intercept[own]
        steep = slope != 0
        return [float(p) for p in (value - intercept[steep]) / slope[steep]]
    polynomial = costs.coefficients[generator].copy()
    polynomial[0] -= value
    roots = np.roots(polynomial[::-1])
    return [float(root.real) for root in roots if abs(root.imag) <= 1e-9 * (1 + abs(root.real))]


def _cost(costs: Costs, generator: int, p: float) -> float:
    outputs = np.zeros(len(costs.coefficients))
    outputs[generator] = p
    return float(costs(outputs)[generator])
