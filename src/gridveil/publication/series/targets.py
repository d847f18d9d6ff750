"""What the hours of a series are held to: costs O*_t or dispatches p*_t, from private loads alone.

Each hour's target is that of an AC-OPF of its private (smoothed) loads, or of the nearest that have
one, as for a snapshot (publication/targets.py). A solver that makes batches takes all hours at
once, and those that it does not get one by one. Where generators have ramp limits, the hours of a
block are then dispatched together, and after the block before. Nothing here sees a raw load.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, BoolArray, FloatArray
from gridveil.errors import NotSolvedError
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.fidelity.series.hour import makes_batches
from gridveil.network.network import Network
from gridveil.opf.many_loads import solve_many_loads
from gridveil.opf.multi_hour import solve_multi_hour
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.point_series import PointSeries
from gridveil.publication.statements import cost_digits, dispatch_rounded, rounded
from gridveil.publication.targets import private_opf


@dataclass(frozen=True, eq=False, repr=False)
class HourTargets(ArrayRecord):
    """The targets of consecutive hours; an hour near which no network works has NaN."""

    values: FloatArray
    """(hours, generators): $/h, or outputs in p.u.; (hours, 0) where there is no band."""
    points: PointSeries
    """The dispatch that it comes from."""
    optimal: FloatArray
    """(hours,): the least cost of the loads it is of, in $/h, each hour for itself."""
    is_joint: bool
    """Whether ramp limits were kept in all hours."""


def hour_targets(
    network: Network,
    p: FloatArray,
    q: FloatArray,
    band: BandKind,
    beta: float,
    weights: FloatArray,
    limits: LoadLimits | None = None,
    ramps: FloatArray | None = None,
    before: FloatArray | None = None,
) -> HourTargets:
    """Return the targets of consecutive hours.

    Args:
        network: The blank network.
        p: Active private loads in p.u., of shape (hours, loads).
        q: Reactive ones.
        band: What is held to targets.
        beta: How far it may be off; no digits are kept that it cannot use.
        weights: How much the squared distance of each load counts.
        limits: Public limits of loads.
        ramps: Ramp limits of generators in p.u. an hour; None where there are none.
        before: The outputs of the hour before, where ramps count.
    """
    near = np.stack([p, q], axis=2)
    points, optimal = _together(network, p, q)
    found = None
    for hour in np.flatnonzero(np.isnan(optimal)).tolist():
        try:
            found = private_opf(network, near[hour], weights, limits, found)
        except NotSolvedError:
            continue
        points[hour], optimal[hour] = found.point, found.cost
        near[hour] = found.network.loads.values
    series = PointSeries.of(points, network)
    is_joint = False
    if ramps is not None and np.isfinite(optimal).all():
        joint = solve_multi_hour(network, near[..., 0], near[..., 1], ramps, before, series)
        if joint.status.solved:
            series, is_joint = joint.points, True
    return HourTargets(
        _values(network, series, band, beta, np.isfinite(optimal)), series, optimal, is_joint
    )


def _together(
    network: Network, p: FloatArray, q: FloatArray
) -> tuple[list[OperatingPoint | None], FloatArray]:
    """Return optimal points and costs of hours as far as one batch leads to them."""
    if not makes_batches(network, len(p)):
        return [None] * len(p), np.full(len(p), np.nan)
    found = solve_many_loads(network, p, q, threads=1)
    return list(found.points), found.costs


def _values(
    network: Network, points: PointSeries, band: BandKind, beta: float, found: BoolArray
) -> FloatArray:
    """Return what the band is around, to no more digits than β can use."""
    gens, base = network.generators, network.base_mva
    if band is BandKind.NONE:
        return np.zeros((len(points), 0))
    values = np.full((len(points), len(gens)), np.nan)
    for hour in np.flatnonzero(found):
        outputs = points.p[hour]
        if band.on_costs:
            values[hour] = rounded(gens.costs(outputs), cost_digits(beta))
        else:
            width = (gens.p_max - gens.p_min) * base
            values[hour] = dispatch_rounded(outputs * base, width, beta, base) / base
    return values
