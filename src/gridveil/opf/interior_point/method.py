"""The primal-dual interior-point method of Wächter and Biegler, for a batch of programs at once.

Every instance has its own barrier parameter μ, filter and end; those that have ended leave the
batch. The same code runs on a CPU and on a GPU: a backend brings the arrays and the loops.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.opf.interior_point.backend import Array, Backend, Operations
from gridveil.opf.interior_point.barrier import (
    Errors,
    Gaps,
    State,
    barrier_gradient,
    corrected,
    errors,
    gaps,
    longest_step,
    optimality_error,
)
from gridveil.opf.interior_point.filter import Filter
from gridveil.opf.interior_point.line_search import Search, evaluate
from gridveil.opf.interior_point.linear_system import Effort, LinearSystem
from gridveil.opf.interior_point.scaled_program import (
    FIRST_PUSH,
    BatchProgram,
    scaled_program,
)
from gridveil.opf.interior_point.structure import Structure
from gridveil.opf.nonlinear_program import Iteration, Watch

_KAPPA_EPSILON = 10.0
_KAPPA_MU, _THETA_MU = 0.2, 1.5
_TAU_MIN = 0.99
_EPSILON = 2.2e-16

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


_OF_INSTANCES = (
    "_mu", "_acceptable", "_code", "_rounding", "_least_theta", "_stalled", "_alpha", "_short",
)  # fmt: skip


class Method:
    """One run of a batch."""

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
        self._mu = xp.full(batch, options.first_mu if multipliers is None else options.warm_mu)
        self._state = State(
            primal,
            xp.zeros((batch, structure.rows)),
            p.has_lower.astype(float),
            p.has_upper.astype(float),
        )
        if multipliers is not None:
            self._state = self._warm(primal, multipliers * p.f_scale / p.g_scale)
        self._point = evaluate(p, primal, self._mu)
        self._filters = Filter(xp, self._point.theta)
        self._effort = Effort()
        self._system = LinearSystem(xp, structure, operations, batch, self._effort)
        self._acceptable = xp.zeros(batch, dtype=int)
        self._code = xp.full(batch, RUNNING)
        self._places = np.arange(batch)
        self._result = Result(
            np.full(batch, LIMIT), np.zeros((batch, structure.variables)), np.zeros(batch),
            np.zeros((batch, structure.rows)), np.zeros(batch, dtype=int), self._effort,
        )  # fmt: skip
        self._rounding = xp.zeros(batch)
        """By how much rounding of x alone changes the gradient of the Lagrangian."""
        self._least_theta, self._stalled = self._point.theta, xp.zeros(batch, dtype=int)
        self._alpha, self._short = xp.ones(batch), xp.zeros(batch)

    def _warm(self, primal: Array, y: Array) -> State:
        """Return the state that multipliers of the rows belong to."""
        xp, p, mu = self._xp, self._problem, self._mu[:, None]
        gradient, jacobian = p.first_derivatives(primal)
        pull = xp.concatenate([gradient + p.operations.transposed_times(jacobian, y), -y], axis=1)
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
        problem = self._problem
        gap = gaps(problem, self._state.primal)
        gradient, jacobian = problem.first_derivatives(self._state.primal)
        j_y = problem.operations.transposed_times(jacobian, self._state.y)
        parts = errors(problem, self._state, gradient, j_y, self._point.residual, gap)
        self._end(parts, number)
        active = self._code == RUNNING
        if not active.any():
            return False
        self._reduce_mu(parts, active)
        self._step(gradient, jacobian, j_y, gap, active)
        return True

    def _shrink(self) -> None:
        """Go on with the instances that still run, if they are few enough."""
        which = self._code == RUNNING
        left = int(which.sum())
        if left >= self._backend.shrinks_below * len(which):
            return
        self._problem, self._state = self._problem.instances(which), self._state.instances(which)
        self._point = self._point.instances(which)
        self._filters.keep(which)
        self._system.keep(which, left)
        for name in _OF_INSTANCES:
            setattr(self, name, getattr(self, name)[which])
        self._places = self._places[self._host(which)]

    def _end(self, parts: Errors, number: int) -> None:
        """End instances that are solved, or that cannot be."""
        xp, options = self._xp, self._options
        error = optimality_error(self._problem, parts, xp.zeros_like(self._mu))
        feasible = self._problem.violation(self._point.residual) <= options.violation
        reachable = xp.clip(
            self._rounding / parts.dual_scale, options.tolerance, options.acceptable
        )
        solved = (error <= reachable) & feasible
        near = (error <= options.acceptable) & feasible
        self._acceptable = xp.where(near, self._acceptable + 1, 0)
        acceptable = self._acceptable >= options.acceptable_iterations
        running = self._code == RUNNING
        code = xp.where(self._is_lost(), LOST, RUNNING)
        code = xp.where(solved, SOLVED, xp.where(acceptable, ACCEPTABLE, code))
        if number == options.iterations:
            code = xp.where(code == RUNNING, xp.where(near, ACCEPTABLE, LIMIT), code)
        if self._watch is not None and not self._watch(
            Iteration(
                number,
                float(self._point.f[0] / self._problem.f_scale[0, 0]),
                float(self._point.theta[0]),
                float(parts.dual[0]),
                float(self._mu[0]),
            )
        ):
            code = xp.where(code == RUNNING, STOPPED, code)
        ended = running & (code != RUNNING)
        self._code = xp.where(running, code, self._code)
        if ended.any():
            self._note(self._host(ended), number)

    def _is_lost(self) -> Array:
        """Return where the way to a feasible point is blocked, or numbers are no longer finite.

        Long steps are progress even where infeasibility rises: it does whenever μ has fallen. A
        longer step among short ones halves their count.
        """
        xp, theta = self._xp, self._point.theta
        falls = theta < _FALL * self._least_theta
        self._least_theta = xp.where(falls, theta, self._least_theta)
        small = self._problem.violation(self._point.residual) <= _SMALL_VIOLATION
        self._stalled = xp.where(falls | small, 0, self._stalled + 1)
        short = xp.where(self._alpha < _SHORT, self._short + 1, self._short / 2)
        self._short = xp.where(small, 0.0, short)
        finite = xp.isfinite(theta) & xp.isfinite(self._state.y).all(axis=1)
        return ~finite | (self._stalled >= _PATIENCE) | (self._short >= _MANY_SHORT)

    def _note(self, ended: Any, number: int) -> None:
        """Write down the results of instances."""
        problem, result, places = self._problem, self._result, self._places[ended]
        x = self._state.primal[:, : problem.variables]
        y = self._state.y * problem.g_scale / problem.f_scale
        result.x[places] = self._host(x)[ended]
        result.multipliers[places] = self._host(y)[ended]
        result.objective[places] = self._host(problem.program.objective(x))[ended]
        result.code[places] = self._host(self._code)[ended]
        result.iterations[places] = number

    def _reduce_mu(self, parts: Errors, active: Array) -> None:
        """Reduce μ where the barrier problem is solved well enough, and clear the filter there."""
        xp, least = self._xp, self._options.tolerance / (_KAPPA_EPSILON + 1)
        reduced = xp.zeros_like(active)
        while True:
            solved = optimality_error(self._problem, parts, self._mu) <= _KAPPA_EPSILON * self._mu
            now = active & solved & (self._mu > least)
            if not now.any():
                break
            lower = xp.maximum(least, xp.minimum(_KAPPA_MU * self._mu, self._mu**_THETA_MU))
            self._mu = xp.where(now, lower, self._mu)
            reduced = reduced | now
        if reduced.any():
            self._filters.clear(reduced)
            self._point = evaluate(self._problem, self._state.primal, self._mu)
            self._least_theta = xp.where(reduced, xp.inf, self._least_theta)

    def _step(self, gradient: Array, jacobian: Array, j_y: Array, gap: Gaps, active: Array) -> None:
        """Compute Newton steps and go along them."""
        xp, problem, state, mu = self._xp, self._problem, self._state, self._mu
        n = problem.variables
        hessian = problem.hessian(state.primal, state.y)
        bend = problem.operations.hessian_times(xp.abs(hessian), xp.abs(state.primal[:, :n]))
        self._rounding = _EPSILON * bend.max(axis=1)
        sigma = state.z_lower / gap.lower + state.z_upper / gap.upper
        factorised = self._system.factorise(hessian, jacobian, sigma, problem.moves, active)
        active = active & factorised
        pull = barrier_gradient(problem, gradient, gap, mu)
        lagrangian = pull + xp.where(problem.moves, xp.concatenate([j_y, -state.y], axis=1), 0.0)
        r1, g_s = -lagrangian[:, :n], lagrangian[:, n:]
        flexibility = self._system.flexibility

        def solve(residual: Array, which: Array) -> tuple[Array, Array]:
            dx, dy = self._system.solve(r1, -residual - flexibility * g_s, which)
            return xp.concatenate([dx, flexibility * (dy - g_s)], axis=1), dy

        d_primal, d_y = solve(self._point.residual, active)
        tau = xp.maximum(_TAU_MIN, 1 - mu)
        slope = (pull * d_primal).sum(axis=1)
        search = Search(problem, self._filters, self._point, gap, slope, mu, tau)
        found = search.run(d_primal, d_y, solve, active)
        self._system.adapt(active)
        step, self._alpha = found.step, found.step.alpha
        z_lower, z_upper = self._z_steps(gap, step.primal)
        z_alpha = xp.minimum(
            longest_step(xp, state.z_lower, z_lower, tau, problem.has_lower),
            longest_step(xp, state.z_upper, z_upper, tau, problem.has_upper),
        )[:, None]
        moved = State(
            found.point.primal,
            state.y + step.alpha[:, None] * step.y,
            state.z_lower + z_alpha * z_lower,
            state.z_upper + z_alpha * z_upper,
        )
        self._state, self._point = corrected(problem, moved, mu), found.point

    def _z_steps(self, gap: Gaps, step: Array) -> tuple[Array, Array]:
        """Return the steps of the bound multipliers that go with a step of the variables."""
        xp, problem, state, mu = self._xp, self._problem, self._state, self._mu[:, None]
        lower = mu / gap.lower - state.z_lower - state.z_lower / gap.lower * step
        upper = mu / gap.upper - state.z_upper + state.z_upper / gap.upper * step
        return xp.where(problem.has_lower, lower, 0.0), xp.where(problem.has_upper, upper, 0.0)
