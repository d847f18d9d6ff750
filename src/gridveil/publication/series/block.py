"""A block of hours from private loads to a network that works in each: targets, then restoration.

Nothing here sees a raw load. Blocks depend on nothing but their own hours and, where generators
have ramp limits, on the last dispatch of the block before.
"""

from dataclasses import dataclass, field

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, StrArray
from gridveil.device import Device, on_device
from gridveil.fidelity.base import BandKind, FidelityMethod
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.fidelity.result import gaps_of
from gridveil.fidelity.series.hour import makes_batches
from gridveil.fidelity.series.restore import HoursProblem, restore_block
from gridveil.fidelity.series.result import Ending, RestoredSeries
from gridveil.network.network import Network
from gridveil.opf.acopf import solve_acopf
from gridveil.opf.many_loads import solve_many_loads
from gridveil.opf.operating_point import violations
from gridveil.opf.record import recorded_solves
from gridveil.opf.solvers import Solver, using
from gridveil.publication.series.targets import HourTargets, hour_targets
from gridveil.publication.statements import keeps_beta

PARTS = ("target", "fidelity phase", "optimal cost")
"""What is solved, as a certificate says it."""


@dataclass(frozen=True, eq=False)
class BlockTask:
    """Private loads of a block of hours, and what was decided about the release."""

    network: Network
    """Blank."""
    p: FloatArray = field(repr=False)
    """(hours, loads): smoothed private loads in p.u."""
    q: FloatArray = field(repr=False)
    band: BandKind
    beta: float
    method: FidelityMethod
    weights: FloatArray
    limits: LoadLimits | None
    ramps: FloatArray | None
    before: FloatArray | None
    """The outputs of the hour before the block, where ramps count."""
    solver: Solver | None
    device: Device
    """Where central programs are solved, CPU or GPU."""


@dataclass(frozen=True, eq=False, repr=False)
class SolvedBlock(ArrayRecord):
    """What was found for a block of hours."""

    restored: RestoredSeries
    targets: FloatArray
    """What each hour was held to, as `HourTargets.values`."""
    optimal: FloatArray
    """The optimal cost of each released hour in $/h; NaN where there are no costs or no hour."""
    violations: FloatArray
    """(hours, kinds): the largest violation of each kind of constraint."""
    solves: StrArray
    """(n, 4): what was solved, by which solver, of which version, on which device."""


def solve_block(task: BlockTask) -> SolvedBlock:
    """Find the targets of a block's hours, restore them, and solve for their optimal costs."""
    with using(task.solver), on_device(task.device):  # as in any other process
        with recorded_solves() as of_targets:
            targets = None if task.band is BandKind.NONE else _targets(task)
        values = np.zeros((len(task.p), 0)) if targets is None else targets.values
        with recorded_solves() as of_restoring:
            restored = restore_block(_hours_problem(task, values, targets))
        with recorded_solves() as of_optima:
            optimal = _optimal(task, restored, targets)
        kept = _keeping_beta(task, restored, values, optimal)
    records = (of_targets, of_restoring, of_optima)
    solves = [
        (what, one.name, one.version, one.device.value)
        for what, record in zip(PARTS, records, strict=True)
        for one in record.solvers
    ]
    named = np.array(solves, dtype=np.str_).reshape(-1, 4)
    return SolvedBlock(kept, values, optimal, _violations(task.network, kept), named)


def _targets(task: BlockTask) -> HourTargets:
    return hour_targets(
        task.network,
        task.p,
        task.q,
        task.band,
        task.beta,
        task.weights,
        task.limits,
        task.ramps,
        task.before,
    )


def _hours_problem(
    task: BlockTask, values: FloatArray, targets: HourTargets | None
) -> HoursProblem:
    return HoursProblem(
        task.network,
        task.p,
        task.q,
        values,
        task.beta,
        task.band,
        task.method,
        task.weights,
        task.limits,
        None if targets is None else targets.points,
        task.solver,
        task.device,
    )


def _keeping_beta(
    task: BlockTask, restored: RestoredSeries, targets: FloatArray, optimal: FloatArray
) -> RestoredSeries:
    """Return the series without the hours that do not keep what the method promises."""
    network, broken = task.network, []
    for hour, ending in enumerate(restored.endings.tolist()):
        if ending == Ending.LEFT_OUT:
            continue
        gaps = gaps_of(
            network, task.band, targets[hour], restored.points.p[hour], float(optimal[hour])
        )
        gap = task.method.kept_gap(gaps, task.band)
        if not keeps_beta(gap, task.beta):
            broken.append(hour)
    return restored.without(broken)


def _optimal(task: BlockTask, restored: RestoredSeries, targets: HourTargets | None) -> FloatArray:
    """Return the optimal cost of each hour; that of loads which stayed as they are is known."""
    found = np.full(restored.hours, np.nan)
    if targets is None or not task.band.on_costs:
        return found
    is_kept = restored.endings == Ending.KEPT
    found[is_kept] = targets.optimal[is_kept]
    moved = np.flatnonzero(~is_kept & (restored.endings != Ending.LEFT_OUT))
    if makes_batches(task.network, len(moved)):
        together = solve_many_loads(task.network, restored.p[moved], restored.q[moved], threads=1)
        found[moved] = together.costs
    for hour in moved[np.isnan(found[moved])].tolist():
        network = task.network.with_loads(restored.p[hour], restored.q[hour])
        opf = solve_acopf(network, start=restored.points.at(hour))
        if opf.status.solved:
            found[hour] = opf.cost
    return found


def _violations(network: Network, restored: RestoredSeries) -> FloatArray:
    """Return the largest violation of each kind in each hour."""
    rows = []
    for hour, ending in enumerate(restored.endings.tolist()):
        if ending == Ending.LEFT_OUT:
            rows.append([np.nan] * 8)
            continue
        at = network.with_loads(restored.p[hour], restored.q[hour])
        rows.append(list(vars(violations(at, restored.points.at(hour))).values()))
    return np.array(rows, dtype=float)
