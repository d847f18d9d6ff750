"""The Newton system of an iteration, condensed to one positive definite matrix, as in HyKKT.

With D = 1/(Σ_s + δ_w) of each inequality and D = 0 of each equality, the system is

    K Δx + Jᵀ Δy = r₁,    J Δx − D Δy = r₂,    K = H + Σ_x + δ_w I.

Each row has a weight w with w D ≤ 1. With Δy = u + w (J Δx − r₂) it becomes

    K_w = K + Jᵀ w J                                           one factorisation, no pivoting
    (J K_w⁻¹ Jᵀ + D′) u = J K_w⁻¹ (r₁ + Jᵀ w r₂) − r₂,    D′ = D/(1 − w D), by conjugate gradients
    Δx = K_w⁻¹ (r₁ + Jᵀ (w r₂ − u)), which they carry along.

Where w = 1/D, u is 0: such rows are condensed. Weights are capped by what rounding allows
(Γ/‖J_i‖²): equalities and inequalities with a larger 1/D are left to the conjugate gradients. That
all pivots of K_w are positive is the test of inertia; δ_w rises until they are.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.opf.interior_point.backend import Array, Backend, Operations, Reuse
from gridveil.opf.interior_point.condensed_matrix import CondensedMatrix
from gridveil.opf.interior_point.structure import Structure
from gridveil.opf.placement import stacked

_HEAVIEST = 1e8
"""The largest weight of an equality."""
_GAMMA, _GAMMA_MIN, _GAMMA_MAX = 1e10, 1e6, 1e12
_STEPS = 60
"""Conjugate-gradient steps of a solve."""
_MANY_STEPS = 10
_FALL, _SHARE, _FLOOR = 1e-2, 1e-4, 1e-10
"""Conjugate gradients end when their residual has fallen by the first factor in the norm of the
weights, is below the second times ‖r₂‖ or below the third, and changes u by the first at most."""
_PRECISION = 1e-6
"""Relative residual of the first equation that a refinement follows; only rounding makes it."""
_GOOD, _BAD = 1e-8, 1e-6
"""Relative residuals with which Γ may rise and must fall."""
_EPSILON = 2.2e-16
_DELTA_FIRST, _DELTA_LEAST, _DELTA_MOST = 1e-4, 1e-20, 1e40


@dataclass
class Effort:
    """What the linear systems of a solve have cost, over all instances."""

    factorisations: int = 0
    gradient_steps: int = 0

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(
            self.factorisations + other.factorisations, self.gradient_steps + other.gradient_steps
        )


@dataclass(frozen=True)
class Matrices:
    """What the Newton systems of an iteration are made from."""

    hessian: Array
    jacobian: Array
    sigma: Array
    """Σ of all primal variables."""
    moves: Array
    """Which primal variables are free to move."""


@dataclass(frozen=True)
class Weights:
    """How the rows are shared between the factorisation and the conjugate gradients."""

    d: Array
    weight: Array
    left: Array
    """Rows that are left to the conjugate gradients."""
    d_left: Array
    """D′."""
    preconditioner: Array
    """The inverse of the diagonal that approximates J K⁻¹ Jᵀ + D′."""
    shift: Array
    """Σ_x + δ_w."""
    diagonal: Array
    """What is added to the diagonal of H; 1 for fixed variables."""


@dataclass(frozen=True)
class Gradients:
    """The state of the conjugate gradients."""

    u: Array
    x: Array
    """K⁻¹ (r₁ + Jᵀ w r₂ − Jᵀ u)."""
    r: Array
    p: Array
    back: Array
    """Jᵀ p."""
    rz: Array
    enough: Array
    """What rz must fall below."""
    goal: Array
    """What ‖r‖ must fall below."""
    progress: Array
    """Whether each instance still runs (1 or 0), and its steps so far."""


class LinearSystem:
    """The Newton systems of a batch: factorised once in an iteration, then solved."""

    def __init__(
        self,
        backend: Backend,
        structure: Structure,
        operations: Operations,
        batch: int,
        effort: Effort,
    ) -> None:
        self._effort, self._host = effort, backend.placement.host
        self._checked = backend.steps_between_checks(structure.variables)
        self._matrix = CondensedMatrix(backend, structure, operations, batch)
        self._gamma, self._last_delta = np.full(batch, _GAMMA), np.zeros(batch)
        xp = backend.placement.xp
        equations = _Equations(xp, operations, structure.variables)
        once = Reuse.OVERWRITTEN
        self._weigh = backend.recorded(equations.weights, reuse=once)
        self._goal = backend.recorded(equations.goal, reuse=once)
        self._right_side = backend.recorded(equations.right_side, reuse=once)
        self._start = backend.recorded(equations.start, reuse=once)
        self._advance = backend.recorded(equations.advance, reuse=Reuse.CARRIED)
        self._finish = backend.recorded(equations.finish, reuse=once)
        self._improve = backend.recorded(equations.improved, reuse=once)

    def keep(self, which: BoolArray) -> None:
        """Go on with some of the instances."""
        self._matrix.keep(int(which.sum()))
        self._gamma, self._last_delta = self._gamma[which], self._last_delta[which]

    def factorise(self, matrices: Matrices, active: BoolArray) -> BoolArray:
        """Factorise the matrices of active instances, with δ_w as large as it must be.

        Returns:
            Which instances could be factorised.
        """
        self._matrices = matrices
        self._delta = np.zeros_like(self._last_delta)
        tried = np.zeros_like(active)
        todo = active
        while True:
            self._weights = w = self._weigh(matrices, self._delta, self._gamma)
            positive = self._matrix.factorise(
                matrices.hessian, w.diagonal, matrices.jacobian, w.weight, todo
            )
            self._effort.factorisations += int(todo.sum())
            todo = todo & ~positive & (self._delta < _DELTA_MOST)
            if not todo.any():
                break
            self._delta = np.where(todo, self._next_delta(tried), self._delta)
            tried = tried | todo
        self._last_delta = np.where(self._delta > 0, self._delta, self._last_delta)
        self._steps_now = np.zeros(len(active), int)
        self._residual_now = np.zeros(len(active))
        return positive

    def _next_delta(self, tried: BoolArray) -> FloatArray:
        """Return the next δ_w, by Ipopt's rule."""
        last = self._last_delta
        first = np.where(last == 0, _DELTA_FIRST, np.maximum(_DELTA_LEAST, last / 3))
        delta: FloatArray = np.where(tried, self._delta * np.where(last == 0, 100.0, 8.0), first)
        return delta

    def solve(self, r1: Array, r2: Array, active: BoolArray) -> tuple[Array, Array]:
        """Return Δx and Δy; refined where rounding has left too much of the whole system.

        The next solution may stand in the place of this one.
        """
        goal = self._goal(r2)
        once = self._once(r1, r2, goal, active)
        dx, dy, e1, e2, norms = self._finish(*once, r1, r2, goal, self._matrices, self._weights)
        size, error, e2_norm, e2_goal = self._host(norms)
        coarse = active & ((error > _PRECISION * size) | (e2_norm > 10 * e2_goal))
        if coarse.any():
            more = self._once(e1, e2, goal, coarse)
            dx, dy, norms = self._improve(
                *more, e1, e2, dx, dy, r1, r2, self._matrices, self._weights, coarse
            )
            size, error = self._host(norms)
        self._residual_now = np.maximum(self._residual_now, error / size)
        return dx, dy

    def adapt(self, active: BoolArray) -> None:
        """Adapt Γ to how this iteration's solves went."""
        delta = self._delta
        rounding = (delta > 0) & (delta <= 10 * _EPSILON * self._gamma)
        down = active & (rounding | (self._residual_now > _BAD))
        up = active & ~down & (self._steps_now > _MANY_STEPS) & (self._residual_now < _GOOD)
        factor = np.where(down, 0.1, np.where(up, 10.0, 1.0))
        self._gamma = np.clip(self._gamma * factor, _GAMMA_MIN, _GAMMA_MAX)

    def _once(self, r1: Array, r2: Array, goal: Array, active: BoolArray) -> tuple[Array, Array]:
        """Return Δx, and u by conjugate gradients; u is 0 where rows are condensed."""
        jacobian, weights = self._matrices.jacobian, self._weights
        first = self._matrix.solve(self._right_side(r1, r2, jacobian, weights))
        state = self._start(first, r2, goal, jacobian, weights, active)
        for step in range(_STEPS):
            if step % self._checked == 0 and not self._host(state.progress)[0].any():
                break
            state = self._advance(state, self._matrix.solve(state.back), jacobian, weights)
        steps: IntArray = self._host(state.progress)[1].astype(int)
        self._effort.gradient_steps += int(steps.sum())
        self._steps_now = np.maximum(self._steps_now, steps)
        return state.x, state.u

    @property
    def flexibility(self) -> Array:
        """D of every row."""
        return self._weights.d


@dataclass(frozen=True)
class _Equations:
    """The formulas on top of this file, over arrays."""

    xp: Any
    operations: Operations
    variables: int

    def weights(self, matrices: Matrices, delta: Array, gamma: Array) -> Weights:
        """Return D, the weights, and the rows left to the conjugate gradients."""
        xp, n = self.xp, self.variables
        delta, equality, free = delta[:, None], ~matrices.moves[:, n:], matrices.moves[:, :n]
        size = xp.maximum(self.operations.largest_of_rows(matrices.jacobian), 1e-4) ** 2
        cap = gamma[:, None] / size
        stiffness = xp.maximum(matrices.sigma[:, n:] + delta, 1e-20)
        d = xp.where(equality, 0.0, 1 / stiffness)
        light = xp.where(stiffness <= cap, stiffness, cap / 2)
        weight = xp.where(equality, xp.minimum(_HEAVIEST, cap), light)
        left = equality | (stiffness > cap)
        room = xp.where(left, 1 - weight * d, 1.0)
        d_left = xp.where(left, d / room, 0.0)
        shift = matrices.sigma[:, :n] + delta
        return Weights(
            d, weight, left, d_left, xp.where(left, 1 / (1 / weight + d_left), 0.0), shift,
            xp.where(free, shift, 1.0),
        )  # fmt: skip

    def goal(self, r2: Array) -> Array:
        """Return how small the residual of the conjugate gradients must be."""
        return self.xp.maximum(_SHARE * self._norm(r2), _FLOOR)

    def right_side(self, r1: Array, r2: Array, jacobian: Array, w: Weights) -> Array:
        """Return r₁ + Jᵀ w r₂."""
        return r1 + self.operations.transposed_times(jacobian, w.weight * r2)

    def start(
        self, x: Array, r2: Array, goal: Array, jacobian: Array, w: Weights, active: Array
    ) -> Gradients:
        """Return the first state of the conjugate gradients, at u = 0."""
        xp = self.xp
        r = self.operations.times(jacobian, x) - r2
        r = xp.where(w.left & active[:, None], r, 0.0)
        z = w.preconditioner * r
        rz = (r * z).sum(axis=1)
        running = (active & (rz > 0)).astype(float)
        return Gradients(
            u=xp.zeros_like(r), x=x.copy(), r=r, p=z,
            back=self.operations.transposed_times(jacobian, z),
            rz=rz, enough=_FALL**2 * rz, goal=goal, progress=stacked([running, xp.zeros_like(rz)]),
        )  # fmt: skip

    def advance(self, s: Gradients, back: Array, jacobian: Array, w: Weights) -> Gradients:
        """Return the state after a step; `back` is K⁻¹ Jᵀ p."""
        xp, operations = self.xp, self.operations
        sp = xp.where(w.left, operations.times(jacobian, back), 0.0) + w.d_left * s.p
        curvature = (s.p * sp).sum(axis=1)
        running = (s.progress[0] > 0) & (curvature > 0)
        alpha = xp.where(running, s.rz / xp.where(running, curvature, 1.0), 0.0)[:, None]
        r = s.r - alpha * sp
        z = w.preconditioner * r
        rz = (r * z).sum(axis=1)
        steps = s.progress[1] + running
        u = s.u + alpha * s.p
        settled = self._norm(z) <= _FALL * self._norm(u)
        goes_on = running & ((rz > s.enough) | (self._norm(r) > s.goal) | ~settled)
        p = z + xp.where(goes_on, rz / xp.where(goes_on, s.rz, 1.0), 0.0)[:, None] * s.p
        return Gradients(
            u=u, x=s.x - alpha * back, r=r, p=p,
            back=operations.transposed_times(jacobian, p), rz=rz, enough=s.enough, goal=s.goal,
            progress=stacked([goes_on.astype(float), steps]),
        )  # fmt: skip

    def finish(
        self,
        dx: Array,
        u: Array,
        r1: Array,
        r2: Array,
        goal: Array,
        matrices: Matrices,
        w: Weights,
    ) -> tuple[Array, ...]:
        """Return Δx, Δy, what they leave of both sides, and norms: of the sides, of what is left.

        The last of the norms is the goal of that of the second side.
        """
        dy = self._dy(dx, u, r2, matrices, w)
        e1, e2 = self._residuals(r1, r2, dx, dy, matrices, w)
        norms = (self._norm(r1, r2) + 1e-300, self._norm(e1), self._norm(e2), goal)
        return dx, dy, e1, e2, stacked(norms)

    def _dy(self, dx: Array, u: Array, r2: Array, matrices: Matrices, w: Weights) -> Array:
        return u + w.weight * (self.operations.times(matrices.jacobian, dx) - r2)

    def improved(
        self,
        more_x: Array,
        u: Array,
        e1: Array,
        e2: Array,
        dx: Array,
        dy: Array,
        r1: Array,
        r2: Array,
        matrices: Matrices,
        w: Weights,
        which: Array,
    ) -> tuple[Array, Array, Array]:
        """Return Δx and Δy with a correction where it helps, and two norms after it.

        They are those of both right-hand sides, and of what is left of the first.
        """
        xp = self.xp
        more_y = self._dy(more_x, u, e2, matrices, w)
        left = self._residuals(r1, r2, dx + more_x, dy + more_y, matrices, w)
        before, after = self._norm(e1, e2), self._norm(*left)
        better = which & (after < before)
        dx = xp.where(better[:, None], dx + more_x, dx)
        dy = xp.where(better[:, None], dy + more_y, dy)
        error = xp.where(better, self._norm(left[0]), self._norm(e1))
        return dx, dy, stacked([self._norm(r1, r2) + 1e-300, error])

    def _residuals(
        self, r1: Array, r2: Array, dx: Array, dy: Array, matrices: Matrices, w: Weights
    ) -> tuple[Array, Array]:
        """Return what Δx and Δy leave of the system before it was condensed."""
        operations, free = self.operations, matrices.moves[:, : self.variables]
        k_dx = operations.hessian_times(matrices.hessian, dx) + w.shift * dx
        j_dy = operations.transposed_times(matrices.jacobian, dy)
        e1 = self.xp.where(free, r1 - k_dx - j_dy, 0.0)
        return e1, r2 - operations.times(matrices.jacobian, dx) + w.d * dy

    def _norm(self, *parts: Array) -> Array:
        return self.xp.sqrt(sum((part**2).sum(axis=1) for part in parts))
