"""P_RBL solved centrally: the loads closest to the noisy ones that a dispatch in the bands serves.

    minimise Σ_i w_i |Ŝ_i − S̃_i|²
    subject to the network model, every generator's cost or output (or the sum of costs) in its
               band, if there is one, and public limits of loads, if there are any (load_limits.py)

The weights w_i are those of the metric of the promise (weights.py). Nothing here reads the
network's own loads: only the buses they stand at.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.bands import Band, cost_bands, dispatch_bands, limit_bands
from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem, Found
from gridveil.fidelity.load_limits import LoadLimits, nearest_loads_within
from gridveil.fidelity.restoring_program import Cut, RestoringProgram, Sought
from gridveil.network.network import Network
from gridveil.opf.batches import minimise_many
from gridveil.opf.nonlinear_program import Solution, Watch
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, OperatingPoint, violations
from gridveil.opf.solvers import minimise
from gridveil.opf.status import Status, status_of


@dataclass(frozen=True)
class Attempt:
    """One solve of P_RBL."""

    status: Status
    p: FloatArray
    q: FloatArray
    point: OperatingPoint
    iterations: int
    solution: Solution | None = None
    """All variables and multipliers, if a central solver found it."""

    @property
    def loads(self) -> FloatArray:
        """P and Q of every load, of shape (loads, 2)."""
        return np.stack([self.p, self.q], axis=1)


def bands_of(
    network: Network, target: FloatArray, beta: float, band: BandKind, raised: float = 0.0
) -> tuple[tuple[Band, ...], tuple[float, float] | None]:
    """Return the band of every generator and, if the sum is what counts, that of the total cost.

    `raised` moves the lower ends of bands on costs up by so much, relatively.
    """
    gens = network.generators
    if band is BandKind.NONE:
        return limit_bands(gens), None
    if band is BandKind.DISPATCH:
        return dispatch_bands(network, target, beta), None
    if band is BandKind.COST:
        return cost_bands(network, target, beta, raised), None
    if len(gens.costs.segment_generator):
        raise GridveilError(
            "a band on the total cost is not supported with piecewise-linear costs; use the bands "
            "per generator"
        )
    total = float(target.sum())
    return limit_bands(gens), (total - (beta - raised) * abs(total), total + beta * abs(total))


class Central(FidelityMethod):
    """P_RBL by a central solver: some dispatch within the bands serves the restored loads."""

    name = "central"

    def check(self, band: BandKind) -> None:
        """Accept every band."""

    def solve(self, problem: FidelityProblem) -> Found:
        """Return the closest loads."""
        bands, total = bands_of(problem.network, problem.target, problem.beta, problem.band)
        attempt, solves, iterations = nearest_loads(
            problem.network,
            problem.noisy,
            bands,
            total,
            weights=problem.weights,
            limits=problem.limits,
            near=None if problem.near is None else problem.near.point,
        )
        return Found(attempt.status, attempt.p, attempt.q, attempt.point, bands, solves, iterations)

    def solve_many(
        self,
        problems: Sequence[FidelityProblem],
        threads: int | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[Found]:
        """Solve problems that differ in noise, bands and weights; the solver may take them at once.

        All have the network and the limits of the first.
        """
        if len(problems) < 2:
            return super().solve_many(problems, threads, progress)
        network, limits = problems[0].network, problems[0].limits
        bands = [bands_of(network, of.target, of.beta, of.band) for of in problems]
        sought = [
            Sought(of.noisy, of.weights, *band) for of, band in zip(problems, bands, strict=True)
        ]
        found = _nearest(network, sought, limits, _together(threads, progress))
        return [
            Found(best.status, best.p, best.q, best.point, own, solves, iterations)
            for (best, solves, iterations), (own, _) in zip(found, bands, strict=True)
        ]


def nearest_loads(
    network: Network,
    noisy: FloatArray,
    bands: Sequence[Band],
    total: tuple[float, float] | None,
    cuts: Sequence[Cut] = (),
    start: Attempt | None = None,
    weights: FloatArray | None = None,
    limits: LoadLimits | None = None,
    watch: Watch | None = None,
    near: OperatingPoint | None = None,
) -> tuple[Attempt, int, int]:
    """Solve P_RBL; return the attempt, and how many solves and iterations it took.

    `weights` say how much the squared distance of each load counts; without them all count alike.
    `limits` are public ones of the loads, which then keep them exactly. `watch` sees every
    iteration and can end a solve. `near` is an operating point of loads near the noisy ones; where
    the solver gets nowhere from it, it starts as if nothing were known.

    A band of two intervals is first relaxed to its hull. Outputs that end up between the intervals
    are then held to the nearest one.
    """
    weights = np.ones(len(noisy)) if weights is None else weights
    sought = Sought(noisy, weights, bands, total)
    solves = iterations = 0
    if start is None and near is not None:
        first = Attempt(Status.OPTIMAL, noisy[:, 0], noisy[:, 1], near, 0)
        ((attempt, solves, iterations),) = _nearest(
            network, [sought], limits, _alone(cuts, first, watch)
        )
        if attempt.status.solved or attempt.status is Status.STOPPED:
            return attempt, solves, iterations
    ((attempt, *more),) = _nearest(network, [sought], limits, _alone(cuts, start, watch))
    return attempt, solves + more[0], iterations + more[1]


_Solve = Callable[
    [Network, Sequence[Sought], FloatArray, LoadLimits | None, Sequence[Attempt]], list[Attempt]
]
"""Solves problems with outputs held to intervals, of shape (problems, generators, 2), from the
attempts before if there are any."""


def _nearest(
    network: Network,
    sought: Sequence[Sought],
    limits: LoadLimits | None,
    solve: _Solve,
) -> list[tuple[Attempt, int, int]]:
    """Solve problems until outputs are within bands; return attempts, solves and iterations."""
    outputs = np.array([of.hulls for of in sought])
    found: dict[int, tuple[Attempt, int, int]] = {}
    todo = list(range(len(sought)))
    while todo:
        starts = [found[k][0] for k in todo if k in found]
        attempts = solve(network, [sought[k] for k in todo], outputs[todo], limits, starts)
        for k, attempt in zip(todo, attempts, strict=True):
            _, solves, iterations = found.get(k, (attempt, 0, 0))
            found[k] = attempt, solves + 1, iterations + attempt.iterations
        todo = [k for k in todo if _held_to_nearest(found[k][0], sought[k].bands, outputs[k])]
    return [found[k] for k in range(len(sought))]


def _alone(
    cuts: Sequence[Cut] = (), first: Attempt | None = None, watch: Watch | None = None
) -> _Solve:
    """Return what solves a single problem, with cuts and from a start."""

    def solve(
        network: Network,
        sought: Sequence[Sought],
        outputs: FloatArray,
        limits: LoadLimits | None,
        before: Sequence[Attempt],
    ) -> list[Attempt]:
        built = RestoringProgram.of(network, sought[0], outputs[0], cuts, limits)
        start = before[0] if before else first
        if start is None:
            x = built.starts(network, sought, outputs)[0]
        else:
            x = built.start(start.loads, start.point)
        near = None if start is None else start.solution
        return [_attempt(network, limits, built, minimise(built.program, x, watch, near))]

    return solve


def _together(threads: int | None, progress: Callable[[int], None] | None) -> _Solve:
    """Return what solves many problems at once."""

    def solve(
        network: Network,
        sought: Sequence[Sought],
        outputs: FloatArray,
        limits: LoadLimits | None,
        before: Sequence[Attempt],
    ) -> list[Attempt]:
        built = RestoringProgram.of(network, sought[0], outputs[0], (), limits)
        programs = built.batch(sought, outputs)
        x = built.starts(network, sought, outputs)
        if before:
            x = np.stack([built.start(one.loads, one.point) for one in before])
            p = [one.point.p for one in before]
            x[:, built.builder.p] = np.clip(p, outputs[..., 0], outputs[..., 1])
        near = [attempt.solution for attempt in before if attempt.solution is not None]
        known = near if len(near) == len(sought) else None
        told = None if before else progress
        solutions = minimise_many(programs, x, known, threads, told)
        return [_attempt(network, limits, built, solution) for solution in solutions]

    return solve


def _held_to_nearest(attempt: Attempt, bands: Sequence[Band], outputs: FloatArray) -> bool:
    """Hold outputs between the intervals of their band to the nearest one; return if any were."""
    if not attempt.status.solved:
        return False
    p = attempt.point.p
    between = [
        g for g, band in enumerate(bands) if len(band.intervals) > 1 and band.slack(float(p[g])) < 0
    ]
    for g in between:
        outputs[g] = bands[g].nearest(float(p[g]))
    return bool(between)


def _attempt(
    network: Network, limits: LoadLimits | None, built: RestoringProgram, solution: Solution
) -> Attempt:
    """Return what a solver ended with as loads and an operating point."""
    loads = np.stack([solution.x[built.p_load], solution.x[built.q_load]], axis=1)
    (p, q), point = nearest_loads_within(limits, loads).T, built.builder.point(solution.x)
    largest = violations(network.with_loads(p, q), point).largest
    status = status_of(solution.code, largest, FEASIBILITY_TOLERANCE)
    return Attempt(status, p, q, point, solution.iterations, solution)
