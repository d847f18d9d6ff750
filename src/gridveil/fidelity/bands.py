"""Bands: the outputs that a generator may have, by its cost or by what it should generate.

A generator's cost band is O*_g − β|O*_g| ≤ c_g(p) ≤ O*_g + β|O*_g|, within its limits: one interval
of outputs, or several where the cost is not monotone. A generator that costs nothing at any output
is free within its limits; one that was off, at a cost of 0, stays off.

Its dispatch band is |p − p*_g| ≤ β(p̄_g − p̲_g), within its limits: one interval. Without limits it
is free.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.components import Generators
from gridveil.network.costs import CostFunctions
from gridveil.network.network import Network
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE
from gridveil.polynomials import evaluate

_ROUNDING = 1e-9
"""How far a cost may miss its band, relative to |O*_g|: O* itself comes from a solver."""
_FLOOR = 1e-12
"""The same relative to Σ|O*|, for a generator whose own cost is 0 or next to it."""
_NOTHING = 1e-9
"""A cost, in $/h, that is as good as 0."""
_TINY = 1e-15
"""Share of a cost below which one of its terms is nothing but rounding."""


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


def limit_bands(generators: Generators) -> tuple[Band, ...]:
    """Return the limits of generators as bands: what they may do when costs do not matter."""
    limits = zip(generators.p_min.tolist(), generators.p_max.tolist(), strict=True)
    return tuple(Band((interval,)) for interval in limits)


def cost_bands(
    network: Network,
    costs: FloatArray,
    beta: float,
    raised: float = 0.0,
    scale: float | None = None,
) -> tuple[Band, ...]:
    """Return the band of every generator, or refuse by name those that have none.

    `raised` moves the lower ends of the bands up by so much, relative to |O*_g|. `scale` is Σ|O*|
    of the whole network, where this is a part of one.
    """
    gens = network.generators
    total = float(np.abs(costs).sum()) if scale is None else scale
    rounding = _ROUNDING * np.abs(costs) + _FLOOR * total + _NOTHING
    lowest = costs - (beta - raised) * np.abs(costs) - rounding
    highest = costs + beta * np.abs(costs) + rounding
    limits = np.stack([gens.p_min, gens.p_max], axis=1).tolist()
    plain = _plain_intervals(gens, lowest, highest)
    found = [
        plain.get(g) or _intervals(gens.costs, g, (float(lowest[g]), float(highest[g])), (a, b))
        for g, (a, b) in enumerate(limits)
    ]
    empty = [g for g, intervals in enumerate(found) if not intervals]
    if empty:
        others = f" (and {len(empty) - 1} more)" if len(empty) > 1 else ""
        raise GridveilError(
            f"{network.generator_name(empty[0])}{others}: no output within its limits costs within "
            f"{beta:g} of its public cost of {costs[empty[0]]:g} $/h; check the costs or raise beta"
        )
    return tuple(map(Band, found))


def dispatch_bands(network: Network, outputs: FloatArray, beta: float) -> tuple[Band, ...]:
    """Return the band of every generator around its output p*_g in p.u.

    Refuses outputs beyond limits by name; to the tolerance of limits, and by as much as the band is
    wide, they may be off.
    """
    gens = network.generators
    width = gens.p_max - gens.p_min
    room = np.where(np.isfinite(width), beta * np.nan_to_num(width), np.inf)
    low = np.maximum(gens.p_min, outputs - room)
    high = np.minimum(gens.p_max, outputs + room)
    beyond = np.flatnonzero(low > high + FEASIBILITY_TOLERANCE)
    if len(beyond):
        g, mw = int(beyond[0]), network.base_mva
        others = f" (and {len(beyond) - 1} more)" if len(beyond) > 1 else ""
        raise GridveilError(
            f"{network.generator_name(g)}{others}: an output of {outputs[g] * mw:g} MW is not "
            f"within {beta:g} of its range, {gens.p_min[g] * mw:g} to {gens.p_max[g] * mw:g} MW; "
            "check the dispatch or raise beta"
        )
    crossed = low > high
    low[crossed] = high[crossed] = np.clip(outputs, gens.p_min, gens.p_max)[crossed]
    return tuple(Band(((a, b),)) for a, b in zip(low.tolist(), high.tolist(), strict=True))


def largest_deviation(generators: Generators, outputs: FloatArray, dispatch: FloatArray) -> float:
    """Return the largest deviation of outputs from a dispatch p*, as a share of ranges.

    An output counts as what it should be to the tolerance of limits. What has no limits, or one
    output only, is not counted.
    """
    off = np.maximum(np.abs(outputs - dispatch) - FEASIBILITY_TOLERANCE, 0.0)
    return float(np.max(shares_of_range(generators, off, np.zeros_like(off)), initial=0.0))


def shares_of_range(
    generators: Generators, outputs: FloatArray, dispatch: FloatArray
) -> FloatArray:
    """Return how far each output is from p*, as a share of its range; 0 where there is no range."""
    width = generators.p_max - generators.p_min
    counted = (width > 0) & np.isfinite(width)
    return np.divide(outputs - dispatch, width, out=np.zeros_like(width), where=counted)


def _plain_intervals(
    generators: Generators, lowest: FloatArray, highest: FloatArray
) -> dict[int, tuple[tuple[float, float]]]:
    """Return the one interval of each generator whose cost rises in a line, or that is fixed.

    Those for which rounding could make a difference are left to `_intervals`.
    """
    low, high, costs = generators.p_min, generators.p_max, generators.costs
    coefficients = costs.coefficients
    if coefficients.shape[1] < 2:
        return {}
    size = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(all="ignore"):
        slope = coefficients[:, 1] * size
        crossings = [
            np.where(np.abs(level) < _TINY * slope, 0.0, level) / slope * size
            for level in (lowest - coefficients[:, 0], highest - coefficients[:, 0])
        ]
        inner = [(low < p) & (p < high) for p in crossings]
        first, last = np.where(inner[0], crossings[0], low), np.where(inner[1], crossings[1], high)
        at_low, at_high, between = costs(low), costs(high), costs((first + last) / 2)
        rises = (slope > 0) & ~coefficients[:, 2:].any(axis=1)
        rises &= slope > _TINY * np.maximum(np.abs(lowest), np.abs(highest))
        rises[costs.segment_generator] = False
        plain = rises & np.isfinite(size) & (first < last)
        plain &= (lowest <= between) & (between <= highest)
        plain &= (~inner[0] | (at_low < lowest)) & (~inner[1] | (at_high > highest))
        fixed = (low == high) & (lowest <= at_low) & (at_low <= highest)
    first, last = np.where(fixed, low, first), np.where(fixed, low, last)
    which = np.flatnonzero(plain | fixed).tolist()
    return {g: ((float(first[g]), float(last[g])),) for g in which}


def _intervals(
    costs: CostFunctions, generator: int, limits: tuple[float, float], outputs: tuple[float, float]
) -> tuple[tuple[float, float], ...]:
    """Return where a cost lies within limits: cut at every crossing, keep the pieces inside."""
    low, high = outputs
    size = max((abs(p) for p in outputs if np.isfinite(p) and p != 0), default=1.0)
    crossings = [
        p for limit in limits for p in _crossings(costs, generator, limit, size) if low < p < high
    ]
    cuts = np.array(sorted({low, high, *crossings}))

    def inside(p: float) -> bool:
        cost = _cost(costs, generator, p)
        return bool(limits[0] <= cost <= limits[1])

    pieces = [(float(a), float(b)) for a, b in pairwise(cuts) if inside(_between(a, b))]
    points = [(float(p), float(p)) for p in cuts if np.isfinite(p) and inside(p)]
    merged: list[tuple[float, float]] = []
    for a, b in sorted(pieces + points):
        if merged and a <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
        else:
            merged.append((a, b))
    return tuple(merged)


def _between(low: float, high: float) -> float:
    """Return an output between two, of which any may be infinite."""
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2
    if np.isfinite(high):
        return high - 1 - abs(high)
    return low + 1 + abs(low) if np.isfinite(low) else 0.0


def _crossings(costs: CostFunctions, generator: int, value: float, size: float) -> list[float]:
    """Return the outputs, of about a size, at which a generator's cost equals a value."""
    own = costs.segment_generator == generator
    if own.any():
        slope, intercept = costs.segment_slope[own], costs.segment_intercept[own]
        steep = slope != 0
        return [float(p) for p in (value - intercept[steep]) / slope[steep]]
    scaled = costs.coefficients[generator] * size ** np.arange(costs.coefficients.shape[1])
    scaled[0] -= value
    scaled[np.abs(scaled) < _TINY * np.abs(scaled).max()] = 0.0
    roots = np.roots(scaled[::-1])
    return [float(r.real) * size for r in roots if abs(r.imag) <= 1e-9 * (1 + abs(r.real))]


def _cost(costs: CostFunctions, generator: int, p: float) -> float:
    own = costs.segment_generator == generator
    if own.any():
        return float(np.max(costs.segment_slope[own] * p + costs.segment_intercept[own]))
    return float(evaluate(costs.coefficients[generator], np.array(p)))
