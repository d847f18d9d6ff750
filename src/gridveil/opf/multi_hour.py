"""The AC-OPF of several hours at once: islands of one network, coupled by ramp limits.

    minimise    Σ_t Σ_g c_g(p_gt)
    subject to  Model 1 in every hour t, and |p_g,t+1 − p_gt| ≤ r_g

Without ramp limits the hours have nothing in common, and are solved one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.network.components import Buses, Generators, Lines, Loads
from gridveil.network.network import Network
from gridveil.opf.acopf import acopf_program
from gridveil.opf.nonlinear_program import Watch
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, OperatingPoint, violations
from gridveil.opf.point_series import PointSeries
from gridveil.opf.ramps import ramp_excess
from gridveil.opf.solvers import minimise
from gridveil.opf.start import starting_point
from gridveil.opf.status import Status, status_of

Kind = TypeVar("Kind", Buses, Generators, Lines, Loads)


@dataclass(frozen=True, eq=False, repr=False)
class MultiHourOPF(ArrayRecord):
    """The cheapest dispatch of consecutive hours, or where the solver got to."""

    status: Status
    points: PointSeries
    generator_costs: FloatArray
    """(hours, generators), in $/h."""
    violation: float
    """The largest of any hour, ramps included, in p.u. or radians."""
    iterations: int


def solve_multi_hour(
    network: Network,
    p: FloatArray,
    q: FloatArray,
    ramps: FloatArray,
    before: FloatArray | None = None,
    starts: PointSeries | None = None,
    watch: Watch | None = None,
) -> MultiHourOPF:
    """Find the cheapest dispatch of consecutive hours that keeps ramp limits.

    Args:
        network: The network; the values of its own loads are not used.
        p: Active loads in p.u., of shape (hours, loads).
        q: Reactive ones.
        ramps: By how much each output may change in an hour, in p.u.; infinite where it is free.
        before: The outputs of the hour before the first, if they are known.
        starts: Where the solver starts in each hour.
        watch: Called after every iteration; returning False stops the solver.

    Example:
        >>> import numpy as np
        >>> from gridveil import load_case
        >>> network = load_case("case5_pjm")
        >>> p = np.array([0.7, 1.0])[:, None] * network.loads.p
        >>> q = np.array([0.7, 1.0])[:, None] * network.loads.q
        >>> found = solve_multi_hour(network, p, q, np.full(5, 1.0))
        >>> found.status.solved, float(np.abs(np.diff(found.points.p, axis=0)).max()) < 1 + 1e-6
        (True, True)
    """
    hours, count = len(p), len(network.generators)
    islands = _islands(network, p, q, ramps, before)
    builder = acopf_program(islands)
    limited = np.flatnonzero(np.isfinite(ramps))
    outputs = builder.p.reshape(hours, count)[:, limited]
    if hours > 1 and len(limited):
        room = np.tile(ramps[limited], hours - 1)
        rows = builder.add_rows(-room, room)
        builder.add_entries(rows, outputs[1:].ravel(), 1.0)
        builder.add_entries(rows, outputs[:-1].ravel(), -1.0)
    program = builder.build()
    first = starting_point(islands) if starts is None else _together(starts)
    solution = minimise(program, builder.start(program, first), watch)
    point = builder.point(solution.x)
    points = _apart(point, hours)
    known = points.p if before is None else np.concatenate([before[None], points.p])
    largest = max(violations(islands, point).largest, ramp_excess(known, ramps))
    return MultiHourOPF(
        status_of(solution.code, largest, FEASIBILITY_TOLERANCE),
        points,
        network.generators.costs(points.p),
        largest,
        solution.iterations,
    )


def _islands(
    network: Network, p: FloatArray, q: FloatArray, ramps: FloatArray, before: FloatArray | None
) -> Network:
    """Return a network with an island of its own for every hour."""
    hours, count = len(p), len(network.buses)
    buses, gens, costs = network.buses, network.generators, network.generators.costs
    offset = count * np.arange(hours)
    segments = len(gens) * np.arange(hours)
    all_costs = replace(
        costs,
        coefficients=np.tile(costs.coefficients, (hours, 1)),
        segment_generator=_shifted(costs.segment_generator, segments),
        segment_slope=np.tile(costs.segment_slope, hours),
        segment_intercept=np.tile(costs.segment_intercept, hours),
    )
    p_min, p_max = np.tile(gens.p_min, (hours, 1)), np.tile(gens.p_max, (hours, 1))
    if before is not None:
        p_min[0] = np.maximum(p_min[0], np.minimum(before - ramps, gens.p_max))
        p_max[0] = np.minimum(p_max[0], np.maximum(before + ramps, gens.p_min))
    islands = 1 + int(buses.island.max(initial=0))
    return replace(
        network,
        buses=replace(
            _tiled(buses, hours), island=_shifted(buses.island, islands * np.arange(hours))
        ),
        loads=replace(
            _tiled(network.loads, hours),
            bus=_shifted(network.loads.bus, offset),
            p=p.ravel(),
            q=q.ravel(),
        ),
        generators=replace(
            _tiled(gens, hours),
            bus=_shifted(gens.bus, offset),
            p_min=p_min.ravel(),
            p_max=p_max.ravel(),
            costs=all_costs,
        ),
        lines=replace(
            _tiled(network.lines, hours),
            from_bus=_shifted(network.lines.from_bus, offset),
            to_bus=_shifted(network.lines.to_bus, offset),
        ),
    )


def _tiled(components: Kind, hours: int) -> Kind:
    """Return components as often as there are hours, as far as they are plain arrays."""
    arrays: dict[str, Any] = {
        spec.name: np.tile(getattr(components, spec.name), hours)
        for spec in fields(components)
        if isinstance(getattr(components, spec.name), np.ndarray)
    }
    return replace(components, **arrays)


def _shifted(indices: IntArray, offsets: IntArray) -> IntArray:
    """Return indices once for each offset."""
    return np.asarray((offsets[:, None] + indices).ravel())


def _together(points: PointSeries) -> OperatingPoint:
    return OperatingPoint(*(getattr(points, name).ravel() for name in ("v", "theta", "p", "q")))


def _apart(point: OperatingPoint, hours: int) -> PointSeries:
    names: Sequence[str] = ("v", "theta", "p", "q")
    return PointSeries(*(getattr(point, name).reshape(hours, -1) for name in names))
