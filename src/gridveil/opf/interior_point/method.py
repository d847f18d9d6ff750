"""The primal-dual interior-point method of Wächter and Biegler, for a batch of programs at once.

Every instance has its own barrier parameter μ, filter and end; those that have ended leave the
batch. The same code runs on a CPU and on a GPU: a backend brings the arrays and the loops.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.opf.interior_point.backend import Array, Backend, Operations, Reuse
from gridveil.opf.interior_point.barrier import (
    Derivatives,
    Errors,
    Gaps,
    State,
    barrier_gradient,
    derivatives,
    gaps,
    moved,
    optimality_error,
)
from gridveil.opf.interior_point.filter import Filter
from gridveil.opf.interior_point.line_search import LineSearch, Newton, Search
from gridveil.opf.interior_point.linear_system import Effort, LinearSystem, Matrices
from gridveil.opf.interior_point.scaled_program import (
    FIRST_PUSH,
    BatchProgram,
    ScaledProgram,
    scaled_program,
)
from gridveil.opf.interior_point.structure import Structure
from gridveil.opf.nonlinear_program import Iteration, Watch
from gridveil.opf.placement import joined

_KAPPA_EPSILON = 10.0
_KAPPA_MU, _THETA_MU = 0.2, 1.5
_TAU_MIN = 0.99

_WARM_PUSH = 1e-4
"""How far a warm start is kept from bounds."""
_FALL, _PATIENCE = 0.9, 100
"""An instance is lost when infeasibility has not fallen by this factor for so many iterations."""
_SHORT, _MANY_SHORT = 0.01, 8
"""An instance is lost, too, after so many steps, nearly in a row, that are shorter than this."""
_SMALL_VIOLATION = 1e-4
"""A violation, without scaling, that is no reason to give up."""

RUNNING, SOLVED, ACCEPTABLE, LOST, STOPPED, LIMIT = -100, 0, 1, -2, 5, -1
"""How instances end, mostly as in Ipopt's `ApplicationReturnStatus`."""


@dataclass(frozen=True)
class Options:
    """What the method goes by."""

    tolerance: float = 1e-8
    violation: float = 1e-7
    """Largest violation without scaling."""
    acceptable: float = 1e-6
    acceptable_iterations: int = 15
    iterations: int = 500
    first_mu: float = 0.1
    warm_mu: float = 1e-6
    """With multipliers to start from."""


@dataclass
class Result:
    """How each instance ended; arrays in memory, the first axis counts instances."""

    code: IntArray
    """As Ipopt's `ApplicationReturnStatus`."""
    x: FloatArray
    objective: FloatArray
    multipliers: FloatArray
    """Of the rows, with Ipopt's signs."""
    iterations: IntArray
    effort: Effort

    def part(self, which: IntArray) -> "Result":
        """Return some of the instances."""
        return replace(self, **{name: array[which] for name, array in self._arrays.items()})

    def with_part(self, which: IntArray, part: "Result") -> "Result":
        """Return the result with some instances replaced, and the effort of both."""
        arrays = {name: array.copy() for name, array in self._arrays.items()}
        for name, new in part._arrays.items():
            arrays[name][which] = new
        return replace(self, **arrays, effort=self.effort + part.effort)

    @property
    def _arrays(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "effort"}


_OF_INSTANCES = ("_mu", "_acceptable", "_code", "_least_theta", "_stalled", "_alpha", "_short")


class Method:
    """One run of a batch. What is one number for each instance is kept in memory."""

    def __init__(
        self,
        program: BatchProgram,
        structure: Structure,
        operations: Operations,
        backend: Backend,
        start: Array,
        options: Options,
        watch: Watch | None,
        multipliers: Array | None = None,
    ) -> None:
        """Begin at a start; with its multipliers, near the solution."""
        self._xp = xp = backend.placement.xp
        self._backend, self._host = backend, backend.placement.host
        self._options, self._watch = options, watch
        self._problem, primal = scaled_program(
            program,
            structure,
            operations,
            backend.placement,
            start,
            FIRST_PUSH if multipliers is None else _WARM_PUSH,
        )
        batch = len(primal)
        p = self._problem
        self._mu = np.full(batch, options.first_mu if multipliers is None else options.warm_mu)
        self._state = State(
            primal,
            xp.zeros((batch, structure.rows)),
            p.has_lower.astype(float),
            p.has_upper.astype(float),
        )
        if multipliers is not None:
            self._state = self._warm(primal, multipliers * p.f_scale / p.g_scale)
        self._record()
        self._point = self._lines.evaluate(primal)
        self._filters = Filter(self._point.theta)
        self._effort = Effort()
        self._system = LinearSystem(backend, structure, operations, batch, self._effort)
        self._acceptable = np.zeros(batch, dtype=int)
        self._code = np.full(batch, RUNNING)
        self._places = np.arange(batch)
        self._result = Result(
            np.full(batch, LIMIT), np.zeros((batch, structure.variables)), np.zeros(batch),
            np.zeros((batch, structure.rows)), np.zeros(batch, dtype=int), self._effort,
        )  # fmt: skip
        self._least_theta, self._stalled = self._point.theta, np.zeros(batch, dtype=int)
        self._alpha, self._short = np.ones(batch), np.zeros(batch)

    def _record(self) -> None:
        """Prepare the functions of the batch as it is now."""
        backend, problem = self._backend, self._problem
        self._lines = LineSearch(problem, backend)
        once = Reuse.OVERWRITTEN
        self._derivatives = backend.recorded(derivatives, problem, reuse=once)
        self._sides = backend.recorded(_sides, problem, reuse=once)
        self._other_side = backend.recorded(_other_side, reuse=once)
        self._moved = backend.recorded(moved, problem)

    def _warm(self, primal: Array, y: Array) -> State:
        """Return the state that multipliers of the rows belong to."""
        xp, p, mu = self._xp, self._problem, float(self._mu[0])
        gradient, jacobian = p.first_derivatives(primal)
        pull = joined([gradient + p.operations.transposed_times(jacobian, y), -y])
        gap = gaps(p, primal)
        lower = xp.where(p.has_lower, xp.maximum(pull, 0.0) + mu / gap.lower, 0.0)
        upper = xp.where(p.has_upper, xp.maximum(-pull, 0.0) + mu / gap.upper, 0.0)
        return State(primal, y, lower, upper)

    def run(self) -> Result:
        """Iterate until every instance has ended."""
        for number in range(self._options.iterations + 1):
            if not self._iterate(number):
                break
        return self._result

    def _iterate(self, number: int) -> bool:
        """Do one iteration; return whether any instance goes on."""
        self._shrink()
        here, numbers = self._derivatives(self._state, self._point.residual)
        errors = Errors(*self._host(numbers))
        self._end(errors, number)
        active = self._code == RUNNING
        if not active.any():
            return False
        self._reduce_mu(errors, active)
        self._step(here, active)
        return True

    def _shrink(self) -> None:
        """Go on with the instances that still run, if they are few enough."""
        which = self._code == RUNNING
        if int(which.sum()) >= self._backend.shrinks_below * len(which):
            return
        there = self._backend.placement.array(which)
        self._problem, self._state = self._problem.instances(there), self._state.instances(there)
        self._point = self._point.instances(which, there)
        self._filters.keep(which)
        self._system.keep(which)
        for name in _OF_INSTANCES:
            setattr(self, name, getattr(self, name)[which])
        self._places = self._places[which]
        self._record()

    def _end(self, errors: Errors, number: int) -> None:
        """End instances that are solved, or that cannot be."""
        options = self._options
        error = optimality_error(errors, np.zeros_like(self._mu))
        feasible = errors.violation <= options.violation
        reachable = np.clip(
            errors.rounding / errors.dual_scale, options.tolerance, options.acceptable
        )
        solved = (error <= reachable) & feasible
        near = (error <= options.acceptable) & feasible
        self._acceptable = np.where(near, self._acceptable + 1, 0)
        acceptable = self._acceptable >= options.acceptable_iterations
        running = self._code == RUNNING
        code = np.where(self._is_lost(errors), LOST, RUNNING)
        code = np.where(solved, SOLVED, np.where(acceptable, ACCEPTABLE, code))
        if number == options.iterations:
            code = np.where(code == RUNNING, np.where(near, ACCEPTABLE, LIMIT), code)
        if self._watch is not None and not self._watch(
            Iteration(
                number,
                float(self._point.f[0] / self._problem.f_scale[0, 0]),
                float(self._point.theta[0]),
                float(errors.dual[0]),
                float(self._mu[0]),
            )
        ):
            code = np.where(code == RUNNING, STOPPED, code)
        ended = running & (code != RUNNING)
        self._code = np.where(running, code, self._code)
        if ended.any():
            self._note(ended, number)

    def _is_lost(self, errors: Errors) -> BoolArray:
        """Return where the way to a feasible point is blocked, or numbers are no longer finite.

        Long steps are progress even where infeasibility rises: it does whenever μ has fallen. A
        longer step among short ones halves their count.
        """
        theta = self._point.theta
        falls = theta < _FALL * self._least_theta
        self._least_theta = np.where(falls, theta, self._least_theta)
        small = errors.violation <= _SMALL_VIOLATION
        self._stalled = np.where(falls | small, 0, self._stalled + 1)
        short = np.where(self._alpha < _SHORT, self._short + 1, self._short / 2)
        self._short = np.where(small, 0.0, short)
        finite = np.isfinite(theta) & (errors.finite > 0)
        lost: BoolArray = ~finite | (self._stalled >= _PATIENCE) | (self._short >= _MANY_SHORT)
        return lost

    def _note(self, ended: BoolArray, number: int) -> None:
        """Write down the results of instances."""
        problem, result, places = self._problem, self._result, self._places[ended]
        x = self._state.primal[:, : problem.variables]
        y = self._state.y * problem.g_scale / problem.f_scale
        result.x[places] = self._host(x)[ended]
        result.multipliers[places] = self._host(y)[ended]
        result.objective[places] = self._host(problem.program.objective(x))[ended]
        result.code[places] = self._code[ended]
        result.iterations[places] = number

    def _reduce_mu(self, errors: Errors, active: BoolArray) -> None:
        """Reduce μ where the barrier problem is solved well enough, and clear the filter there."""
        least = self._options.tolerance / (_KAPPA_EPSILON + 1)
        reduced = np.zeros_like(active)
        while True:
            solved = optimality_error(errors, self._mu) <= _KAPPA_EPSILON * self._mu
            now = active & solved & (self._mu > least)
            if not now.any():
                break
            lower = np.maximum(least, np.minimum(_KAPPA_MU * self._mu, self._mu**_THETA_MU))
            self._mu = np.where(now, lower, self._mu)
            reduced = reduced | now
        if reduced.any():
            self._filters.clear(reduced)
            self._least_theta = np.where(reduced, np.inf, self._least_theta)

    def _step(self, here: Derivatives, active: BoolArray) -> None:
        """Compute Newton steps and go along them."""
        system, state, mu = self._system, self._state, self._mu
        matrices = Matrices(here.hessian, here.jacobian, here.sigma, self._problem.moves)
        active = active & system.factorise(matrices, active)
        r1, r2, g_s, pull = self._sides(
            here.gradient, here.gap, here.j_y, state.y, mu, self._point.residual,
            system.flexibility,
        )  # fmt: skip

        def newton(r2: Array, which: BoolArray) -> Newton:
            dx, dy = system.solve(r1, r2, which)
            return Newton(dx, dy, system.flexibility, g_s, here.gap, state.primal, pull)

        def corrected(residual: Array, which: BoolArray) -> Newton:
            return newton(self._other_side(residual, system.flexibility, g_s), which)

        tau = np.maximum(_TAU_MIN, 1 - mu)
        search = Search(self._lines, self._filters, self._point, mu, tau)
        step, point = search.run(newton(r2, active), corrected, active)
        system.adapt(active)
        self._alpha = step.alpha
        self._state = self._moved(
            state, here.gap, step.primal, step.y, point.primal, step.alpha, mu, tau
        )
        self._point = point


def _sides(
    problem: ScaledProgram,
    gradient: Array,
    gap: Gaps,
    j_y: Array,
    y: Array,
    mu: Array,
    residual: Array,
    flexibility: Array,
) -> tuple[Array, Array, Array, Array]:
    """Return both sides of the Newton system, ∂L/∂s, and the gradient of the barrier function."""
    xp, n = problem.xp, problem.variables
    pull = barrier_gradient(problem, gradient, gap, mu)
    lagrangian = pull + xp.where(problem.moves, joined([j_y, -y]), 0.0)
    g_s = lagrangian[:, n:]
    return -lagrangian[:, :n], _other_side(residual, flexibility, g_s), g_s, pull


def _other_side(residual: Array, flexibility: Array, g_s: Array) -> Array:
    """Return the right-hand side of the rows."""
    return -residual - flexibility * g_s
