"""`restore_series`: the loads of many hours moved just far enough that the network works in each.

Hours are cut into blocks of a day, on a GPU of six weeks, from the first hour on. Blocks know
nothing of each other. So the result is the same for any number of cores, and for a run that was
killed and went on with the blocks it had.

An hour is tried in this order: as it is, where a point is given at which its loads work; in one
batch with the others of its block, where method and solver make batches; from the hour before;
cold; from the nearest loads that work in tighter limits. An hour for which none of these leads to a
network that works is left out, and the rest is whole.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from gridveil.arrays import FloatArray
from gridveil.defaults import BAND, BETA
from gridveil.device import Device, on_device
from gridveil.errors import GridveilError, NotSolvedError
from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem
from gridveil.fidelity.central import Attempt, bands_of
from gridveil.fidelity.load_limits import LoadLimits, nearest_loads_within
from gridveil.fidelity.phase import check_choices, check_target
from gridveil.fidelity.projection import projected_loads
from gridveil.fidelity.registry import band_kind, make_method
from gridveil.fidelity.series.hour import HourFound, HourMethod, hour_method, kept, restored_from
from gridveil.fidelity.series.result import Ending, RestoredSeries, joined
from gridveil.network.network import Network
from gridveil.opf.devices import device_for
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, violations
from gridveil.opf.point_series import PointSeries
from gridveil.opf.solvers import Solver, chosen, using
from gridveil.parallel import in_parallel

BLOCK_HOURS = 24
"""Hours of a block: the unit of parallel work, and of what a killed run has to do again."""
_DAYS_ON_GPU = 42
"""Such blocks that a GPU takes as one: it needs many hours at once to be busy."""
_MARGINS = (0.02, 0.002, 0.0)
"""By which limits are tightened before loads are projected; the first that works counts."""
_WORKS = FEASIBILITY_TOLERANCE / 10
"""The largest violation at which loads count as working as they are."""


@dataclass(frozen=True, eq=False)
class HoursProblem:
    """The hours of a block: private loads, and what the band of each hour is around."""

    network: Network
    """The values of its loads play no part."""
    p: FloatArray = field(repr=False)
    """(hours, loads), in p.u."""
    q: FloatArray = field(repr=False)
    targets: FloatArray
    """(hours, generators); of no generator where there is no band."""
    beta: float
    band: BandKind
    method: FidelityMethod
    weights: FloatArray
    limits: LoadLimits | None = None
    starts: PointSeries | None = None
    """For each hour a point at which its loads may work as they are."""
    solver: Solver | None = None
    device: Device = Device.CPU
    """Where central programs are solved: not `auto`, or blocks could differ."""

    def at(self, hour: int) -> FidelityProblem:
        """Return the problem of one hour."""
        loads = np.stack([self.p[hour], self.q[hour]], axis=1)
        return FidelityProblem(
            self.network,
            nearest_loads_within(self.limits, loads),
            self.targets[hour],
            self.beta,
            self.band,
            self.weights,
            self.limits,
        )

    def block(self, block: range) -> "HoursProblem":
        """Return the problem of some consecutive hours."""
        part = slice(block.start, block.stop)
        starts = None if self.starts is None else self.starts.part(part)
        return replace(
            self, p=self.p[part], q=self.q[part], targets=self.targets[part], starts=starts
        )


def blocks_of(hours: int, device: Device = Device.CPU) -> list[range]:
    """Return the blocks of a number of hours: whole days from the first hour on.

    Example:
        >>> blocks_of(30)
        [range(0, 24), range(24, 30)]
    """
    width = BLOCK_HOURS * (_DAYS_ON_GPU if device is Device.GPU else 1)
    return [range(first, min(first + width, hours)) for first in range(0, hours, width)]


def device_of(network: Network, hours: int) -> Device:
    """Return where the hours of a series are solved, by what is chosen and public numbers alone."""
    if chosen() is Solver.IPOPT:
        return Device.CPU
    return device_for(len(network.buses), min(hours, BLOCK_HOURS * _DAYS_ON_GPU))


def workers_on(device: Device, workers: int) -> int:
    """Return how many processes work on blocks: one feeds a GPU."""
    return 1 if device is Device.GPU else workers


def restore_series(
    network: Network,
    p: FloatArray,
    q: FloatArray,
    targets: ArrayLike | None = None,
    beta: float = float(BETA),
    method: FidelityMethod | str | None = "central",
    band: BandKind | str = BAND,
    *,
    weights: FloatArray | None = None,
    limits: LoadLimits | None = None,
    starts: PointSeries | None = None,
    workers: int = -1,
    done: Mapping[int, RestoredSeries] | None = None,
    on_block: Callable[[int, RestoredSeries], None] = lambda _number, _block: None,
) -> RestoredSeries:
    """Return the loads of every hour closest to the private ones with which the network works.

    Args:
        network: The network; the values of its loads are not used, only where they are.
        p: Active private loads in p.u., of shape (hours, loads).
        q: Reactive ones.
        targets: What the band of each hour is around: costs O*_g in $/h or outputs p*_g in p.u., of
            shape (hours, generators); not needed without a band. An hour of NaN is left out.
        beta: How far costs may be off them, relatively, or outputs, as a share of ranges.
        method: "central", "admm", or another method of the fidelity phase.
        band: What stays within beta: the "cost" of every generator, their "total", the "dispatch",
            or "none".
        weights: How much the squared distance of each load counts; None for all alike.
        limits: Public limits that the restored loads keep.
        starts: A point for each hour at which its loads may work as they are, or NaN.
        workers: Processes; −1 is one per core, and on a GPU there is one. The result does not
            depend on it.
        done: Blocks that are known already, by their number from 0.
        on_block: Called with the number and the result of each further block, in any order.

    Example:
        >>> import numpy as np
        >>> from gridveil import load_case, solve_acopf
        >>> network = load_case("case5_pjm")
        >>> p = np.array([0.98, 1.0])[:, None] * network.loads.p
        >>> costs = np.tile(solve_acopf(network).generator_costs, (2, 1))
        >>> found = restore_series(network, p, np.tile(network.loads.q, (2, 1)), costs, 0.05)
        >>> bool((found.violations < 1e-6).all())
        True
    """
    chosen_method = make_method(method, None, band_kind(band)).for_release()
    problem = hours_problem(
        network, p, q, targets, beta, chosen_method, band, weights, limits, starts
    )
    blocks, known = blocks_of(len(problem.p), problem.device), dict(done or {})
    tasks = [
        (number, restore_block, (problem.block(block),))
        for number, block in enumerate(blocks)
        if number not in known
    ]
    for number, restored in in_parallel(tasks, workers_on(problem.device, workers)):
        known[number] = restored
        on_block(number, restored)
    return joined([known[number] for number in range(len(blocks))])


def hours_problem(
    network: Network,
    p: FloatArray,
    q: FloatArray,
    targets: ArrayLike | None,
    beta: float,
    method: FidelityMethod,
    band: BandKind | str,
    weights: FloatArray | None = None,
    limits: LoadLimits | None = None,
    starts: PointSeries | None = None,
) -> HoursProblem:
    """Return the problem of hours, or refuse what cannot be solved; arguments as above."""
    kind = check_choices(method, beta, band)
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    loads = len(network.loads)
    if p.ndim != 2 or p.shape != q.shape or p.shape[1] != loads or not len(p):
        raise GridveilError(f"p, q: arrays of shape (hours, {loads}) expected, one hour at least")
    if not (np.isfinite(p).all() and np.isfinite(q).all()):
        raise GridveilError("p, q: every load must be a finite number")
    known = np.zeros((len(p), 0)) if targets is None else np.asarray(targets, dtype=float)
    if known.ndim != 2 or len(known) != len(p):
        raise GridveilError(f"targets: a row for each of the {len(p)} hours expected")
    values = np.array(
        [row if np.isnan(row).any() else check_target(network, row, beta, kind) for row in known]
    )
    return HoursProblem(
        network,
        p,
        q,
        values.reshape(len(p), -1),
        float(beta),
        kind,
        method,
        np.ones(loads) if weights is None else weights,
        limits,
        starts,
        chosen(),
        device_of(network, len(p)),
    )


def restore_block(problem: HoursProblem) -> RestoredSeries:
    """Restore the hours of a block: as they are, together, or one after the other."""
    method = hour_method(problem.method)
    with using(problem.solver), on_device(problem.device):  # as in any other process
        problem.method.prepare(problem.at(0))
        known = _kept_and_together(method, problem)
        hours, before = [], None
        for hour in range(len(problem.p)):
            ending, found = known.get(hour) or _restored(method, problem, hour, before)
            hours.append((ending, found))
            before = None if ending is Ending.LEFT_OUT else found
    return _series(problem, hours)


def _kept_and_together(
    method: HourMethod, problem: HoursProblem
) -> dict[int, tuple[Ending, HourFound | None]]:
    """Restore the hours that work as they are, and those that one batch leads to."""
    found: dict[int, tuple[Ending, HourFound | None]] = {}
    others: dict[int, FidelityProblem] = {}
    for hour in np.flatnonzero(~np.isnan(problem.targets).any(axis=1)).tolist():
        others[hour] = one = problem.at(hour)
        if problem.starts is not None and np.isfinite(problem.starts.v[hour]).all():
            as_it_is = kept(one, problem.starts.at(hour))
            if _works_as_it_is(one, as_it_is.attempt):
                found[hour] = Ending.KEPT, as_it_is
                del others[hour]
    if others:
        together = method.solve_together(list(others.values()))
        for (hour, one), reached in zip(others.items(), together, strict=bool(together)):
            if _works(one, reached.attempt):
                found[hour] = Ending.TOGETHER, reached
    return found


def _restored(
    method: HourMethod, problem: HoursProblem, hour: int, before: HourFound | None
) -> tuple[Ending, HourFound | None]:
    """Restore one hour, in the first way that leads to a network that works."""
    if np.isnan(problem.targets[hour]).any():
        return Ending.LEFT_OUT, None
    try:
        one = problem.at(hour)
        for ending, attempt in _attempts(method, one, before):
            found = attempt()
            if found is not None and _works(one, found.attempt):
                return ending, found
    except NotSolvedError:
        pass
    return Ending.LEFT_OUT, None


def _attempts(
    method: HourMethod, one: FidelityProblem, before: HourFound | None
) -> Iterator[tuple[Ending, Callable[[], HourFound | None]]]:
    """Give the ways to restore an hour by itself, in the order to try."""
    if method.can_carry and before is not None:
        yield Ending.WARM, lambda: method.solve(one, before)
    yield Ending.COLD, lambda: method.solve(one, None)
    for margin in _MARGINS:
        yield Ending.PROJECTED, partial(_from_projection, one, margin)


def _from_projection(one: FidelityProblem, margin: float) -> HourFound | None:
    """Restore the loads nearest to the private ones that work in tighter limits."""
    near = projected_loads(one.network, one.noisy, margin, one.weights, one.limits)
    if not near.status.solved:
        return None
    moved = FidelityProblem(
        one.network, near.loads, one.target, one.beta, one.band, one.weights, one.limits
    )
    found = restored_from(moved, near)
    return HourFound(found.attempt, near.iterations + found.iterations)


def _works_as_it_is(one: FidelityProblem, attempt: Attempt) -> bool:
    """Whether loads work at a point that is within the bands, with room to spare."""
    network = one.network.with_loads(attempt.p, attempt.q)
    bands, total = bands_of(one.network, one.target, one.beta, one.band)
    outputs = attempt.point.p.tolist()
    inside = all(band.slack(p) >= -_WORKS for band, p in zip(bands, outputs, strict=True))
    if total is not None:
        cost = float(network.generators.costs(attempt.point.p).sum())
        inside &= total[0] <= cost <= total[1]
    return inside and violations(network, attempt.point).largest <= _WORKS


def _works(one: FidelityProblem, attempt: Attempt) -> bool:
    """Whether what was found is a network that works."""
    if not attempt.status.solved or not np.isfinite(attempt.loads).all():
        return False
    network = one.network.with_loads(attempt.p, attempt.q)
    if one.limits is not None and one.limits.excess(attempt.loads) > FEASIBILITY_TOLERANCE:
        return False
    return violations(network, attempt.point).largest <= FEASIBILITY_TOLERANCE


def _series(problem: HoursProblem, hours: list[tuple[Ending, HourFound | None]]) -> RestoredSeries:
    """Return hours as arrays, with violations and distances computed anew."""
    network, count = problem.network, problem.p.shape[1]
    p, q = np.full((2, len(hours), count), np.nan)
    largest, displacement = np.full((2, len(hours)), np.nan)
    for hour, (_, found) in enumerate(hours):
        if found is None:
            continue
        attempt = found.attempt
        p[hour], q[hour] = attempt.p, attempt.q
        largest[hour] = violations(network.with_loads(attempt.p, attempt.q), attempt.point).largest
        displacement[hour] = math.hypot(
            *(attempt.p - problem.p[hour]), *(attempt.q - problem.q[hour])
        )
    points = [None if found is None else found.attempt.point for _, found in hours]
    return RestoredSeries(
        p=p,
        q=q,
        points=PointSeries.of(points, network),
        endings=np.array([int(ending) for ending, _ in hours], dtype=np.int64),
        violations=largest,
        displacement=displacement,
        iterations=np.array(
            [0 if found is None else found.iterations for _, found in hours], dtype=np.int64
        ),
    )
