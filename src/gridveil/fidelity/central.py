"""P_RBL solved centrally: the loads closest to the noisy ones that a dispatch in the bands serves.

    minimise Σ_i w_i |Ŝ_i − S̃_i|²
    subject to the network model, every generator's cost or output (or the sum of costs) in its
               band, if there is one, and public limits of loads, if there are any (load_limits.py)

The weights w_i are those of the metric of the promise (weights.py). Nothing here reads the
network's own loads: only the buses they stand at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.fidelity.bands import Band, cost_bands, dispatch_bands, limit_bands
from gridveil.fidelity.base import BandKind, FidelityMethod, FidelityProblem, Found
from gridveil.fidelity.load_limits import LoadLimits, nearest_loads_within
from gridveil.network.network import Network
from gridveil.opf.nonlinear_program import Solution, Watch
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, OperatingPoint, violations
from gridveil.opf.program import NetworkProgram, ProgramBuilder
from gridveil.opf.solvers import minimise
from gridveil.opf.start import starting_point
from gridveil.opf.status import Status, status_of

_CUT_PRICE = 1e3
"""Cost of missing a cut by 1 p.u. of the dearest load, relative to the median weight: more than any
displacement saves."""


@dataclass(frozen=True)
class Cut:
    """A half-space of loads: p·active + q·reactive ≥ least, or as near to it as can be."""

    active: FloatArray
    reactive: FloatArray
    least: float

    def excess(self, p: FloatArray, q: FloatArray) -> float:
        """Return how far loads are inside it; below 0 if outside."""
        return float(self.active @ p + self.reactive @ q) - self.least


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
        network, noisy = problem.network, problem.noisy
        bands, total = bands_of(network, problem.target, problem.beta, problem.band)
        attempt, solves, iterations = nearest_loads(
            network, noisy, bands, total, weights=problem.weights, limits=problem.limits
        )
        return Found(attempt.status, attempt.p, attempt.q, attempt.point, bands, solves, iterations)


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
) -> tuple[Attempt, int, int]:
    """Solve P_RBL; return the attempt, and how many solves and iterations it took.

    `weights` say how much the squared distance of each load counts; without them all count alike.
    `limits` are public ones of the loads, which then keep them exactly. `watch` sees every
    iteration and can end a solve.

    A band of two intervals is first relaxed to its hull. Outputs that end up between the intervals
    are then held to the nearest one.
    """
    outputs = np.array([band.hull for band in bands])
    weights = np.ones(len(noisy)) if weights is None else weights
    solves = iterations = 0
    while True:
        attempt = _solve(network, noisy, weights, outputs, total, cuts, start, limits, watch)
        solves, iterations = solves + 1, iterations + attempt.iterations
        between = [
            g
            for g, band in enumerate(bands)
            if len(band.intervals) > 1 and band.slack(float(attempt.point.p[g])) < 0
        ]
        if not between or not attempt.status.solved:
            return attempt, solves, iterations
        for g in between:
            outputs[g] = bands[g].nearest(float(attempt.point.p[g]))
        start = attempt


def _solve(
    network: Network,
    noisy: FloatArray,
    weights: FloatArray,
    outputs: FloatArray,
    total: tuple[float, float] | None,
    cuts: Sequence[Cut],
    start: Attempt | None,
    limits: LoadLimits | None,
    watch: Watch | None,
) -> Attempt:
    gens, none = network.generators, np.zeros(len(network.buses))
    builder = ProgramBuilder(network, none, none)
    builder.add_dispatch(outputs[:, 0], outputs[:, 1], gens.q_min, gens.q_max)
    p_min = _p_min(limits, len(noisy))
    free = np.full(len(noisy), -np.inf)
    p_load = _add_loads(builder, builder.active[network.loads.bus], noisy[:, 0], weights, p_min)
    q_load = _add_loads(builder, builder.reactive[network.loads.bus], noisy[:, 1], weights, free)
    if limits is not None and limits.power_factor is not None:
        _add_power_factors(builder, limits, p_load, q_load)
    if total is not None:
        row = builder.add_rows(np.array([total[0]]), np.array([total[1]]))
        builder.set_polynomial_terms(np.repeat(row, len(gens)), builder.p, gens.costs.coefficients)
    for cut in cuts:
        _add_cut(builder, cut, p_load, q_load, _CUT_PRICE * float(np.median(weights)))
    program = builder.build()
    x = _start(network, builder, program, outputs, start)
    x[p_load], x[q_load] = noisy.T if start is None else (start.p, start.q)
    near = None if start is None else start.solution
    solution = minimise(program, x, watch, near)
    loads = np.stack([solution.x[p_load], solution.x[q_load]], axis=1)
    (p, q), point = nearest_loads_within(limits, loads).T, builder.point(solution.x)
    largest = violations(network.with_loads(p, q), point).largest
    status = status_of(solution.code, largest, FEASIBILITY_TOLERANCE)
    return Attempt(status, p, q, point, solution.iterations, solution)


def _add_loads(
    builder: ProgramBuilder,
    rows: IntArray,
    noisy: FloatArray,
    weights: FloatArray,
    least: FloatArray,
) -> IntArray:
    """Add loads as variables to the balance of their buses, at a cost of w (x − x̃)² each."""
    square = np.stack([noisy**2, -2 * noisy, np.ones(len(noisy))], axis=1)
    loads = builder.add_variables(least, np.full(len(noisy), np.inf), weights[:, None] * square)
    builder.add_entries(rows, loads, 1.0)
    return loads


def _p_min(limits: LoadLimits | None, loads: int) -> FloatArray:
    """Return the least P of every load, where no power factor says as much."""
    if limits is None or limits.power_factor is not None:
        return np.full(loads, -np.inf)
    return limits.p_min


def _add_power_factors(
    builder: ProgramBuilder, limits: LoadLimits, p_load: IntArray, q_load: IntArray
) -> None:
    """Add slope·P − Q ≥ 0 and slope·P + Q ≥ 0 as rows for every consumer; P ≥ 0 follows."""
    p, q = p_load[limits.consumers], q_load[limits.consumers]
    for sign in (-1.0, 1.0):
        rows = builder.add_rows(np.zeros(len(p)), np.full(len(p), np.inf))
        builder.add_entries(rows, p, limits.slope)
        builder.add_entries(rows, q, sign)


def _add_cut(
    builder: ProgramBuilder, cut: Cut, p_load: IntArray, q_load: IntArray, price: float
) -> None:
    """Add a cut as a row that can be missed, at a price for each p.u. of the dearest load."""
    scale = max(np.abs(cut.active).max(initial=0.0), np.abs(cut.reactive).max(initial=0.0), 1e-12)
    row = builder.add_rows(np.array([cut.least / scale]), np.array([np.inf]))
    builder.add_entries(np.repeat(row, len(p_load)), p_load, cut.active / scale)
    builder.add_entries(np.repeat(row, len(q_load)), q_load, cut.reactive / scale)
    missed = builder.add_variables(np.zeros(1), np.full(1, np.inf), np.array([[0.0, price]]))
    builder.add_entries(row, missed, 1.0)


def _start(
    network: Network,
    builder: ProgramBuilder,
    program: NetworkProgram,
    outputs: FloatArray,
    start: Attempt | None,
) -> FloatArray:
    if start is not None:
        return builder.start(program, start.point)
    bounded = np.isfinite(outputs).all(axis=1)
    middle = np.clip(0.0, outputs[:, 0], outputs[:, 1])
    middle[bounded] = outputs[bounded].mean(axis=1)
    return builder.start(program, replace(starting_point(network), p=middle))
