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

from gridveil.opf.interior_point.backend import Array, Operations
from gridveil.opf.interior_point.condensed_matrix import CondensedMatrix
from gridveil.opf.interior_point.structure import Structure

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


class LinearSystem:
    """The Newton systems of a batch: factorised once in an iteration, then solved."""

    def __init__(
        self, xp: Any, structure: Structure, operations: Operations, batch: int, effort: Effort
    ) -> None:
        self._xp, self._operations, self._effort = xp, operations, effort
        self._matrix = CondensedMatrix(xp, structure, operations, batch)
        self._variables = structure.variables
        self._gamma = xp.full((batch, 1), _GAMMA)
        self._last_delta = xp.zeros((batch, 1))

    def keep(self, which: Array, batch: int) -> None:
        """Go on with some of the instances."""
        self._matrix.keep(batch)
        self._gamma, self._last_delta = self._gamma[which], self._last_delta[which]

    def factorise(
        self, hessian: Array, jacobian: Array, sigma: Array, moves: Array, active: Array
    ) -> Array:
        """Factorise the matrices of active instances, with δ_w as large as it must be.

        Args:
            hessian: Entries of H.
            jacobian: Values of J.
            sigma: Σ of all primal variables.
            moves: Which primal variables are free to move.
            active: Which instances to factorise.

        Returns:
            Which of the active instances could be factorised.
        """
        xp, n = self._xp, self._variables
        self._hessian, self._jacobian = hessian, jacobian
        self._free, self._equality = moves[:, :n], ~moves[:, n:]
        self._sigma_x, self._sigma_s = sigma[:, :n], sigma[:, n:]
        self._size = xp.maximum(self._operations.largest_of_rows(jacobian), 1e-4) ** 2
        self._delta = xp.zeros_like(self._last_delta)
        tried = xp.zeros_like(active)
        todo = active
        while True:
            self._weigh()
            diagonal = xp.where(self._free, self._sigma_x + self._delta, 1.0)
            positive = self._matrix.factorise(hessian, diagonal, jacobian, self._weight, todo)
            self._effort.factorisations += int(todo.sum())
            todo = todo & ~positive & (self._delta[:, 0] < _DELTA_MOST)
            if not todo.any():
                break
            self._delta = xp.where(todo[:, None], self._next_delta(tried[:, None]), self._delta)
            tried = tried | todo
        self._last_delta = xp.where(self._delta > 0, self._delta, self._last_delta)
        self._precondition()
        self._steps_now, self._residual_now = 0, xp.zeros(len(active))
        return positive

    def _next_delta(self, tried: Array) -> Array:
        """Return the next δ_w, by Ipopt's rule."""
        xp, last = self._xp, self._last_delta
        first = xp.where(last == 0, _DELTA_FIRST, xp.maximum(_DELTA_LEAST, last / 3))
        return xp.where(tried, self._delta * xp.where(last == 0, 100.0, 8.0), first)

    def _weigh(self) -> None:
        """Set D, the weights, the rows left to the conjugate gradients, and D′."""
        xp, cap = self._xp, self._gamma / self._size
        stiffness = xp.maximum(self._sigma_s + self._delta, 1e-20)
        self._d = xp.where(self._equality, 0.0, 1 / stiffness)
        free = xp.where(stiffness <= cap, stiffness, cap / 2)
        weight = xp.where(self._equality, xp.minimum(_HEAVIEST, cap), free)
        self._left = self._equality | (stiffness > cap)
        self._weight = weight
        room = xp.where(self._left, 1 - weight * self._d, 1.0)
        self._d_left = xp.where(self._left, self._d / room, 0.0)

    def _precondition(self) -> None:
        """Set the inverse of the diagonal that approximates J K⁻¹ Jᵀ + D′."""
        xp = self._xp
        diagonal = 1 / self._weight + self._d_left
        self._preconditioner = xp.where(self._left, 1 / diagonal, 0.0)

    def solve(self, r1: Array, r2: Array, active: Array) -> tuple[Array, Array]:
        """Return Δx and Δy; refined where rounding has left too much of the whole system."""
        xp = self._xp
        goal = xp.maximum(_SHARE * _norm(xp, r2), _FLOOR)
        dx, dy = self._once(r1, r2, goal, active)
        e1, e2 = self._residuals(r1, r2, dx, dy)
        size = _norm(xp, r1, r2) + 1e-300
        coarse = active & ((_norm(xp, e1) > _PRECISION * size) | (_norm(xp, e2) > 10 * goal))
        if coarse.any():
            more_x, more_y = self._once(e1, e2, goal, coarse)
            better_x, better_y = dx + more_x, dy + more_y
            left = _norm(xp, *self._residuals(r1, r2, better_x, better_y))
            better = (coarse & (left < _norm(xp, e1, e2)))[:, None]
            dx, dy = xp.where(better, better_x, dx), xp.where(better, better_y, dy)
            e1, e2 = self._residuals(r1, r2, dx, dy)
        self._residual_now = xp.maximum(self._residual_now, _norm(xp, e1) / size)
        return dx, dy

    def adapt(self, active: Array) -> None:
        """Adapt Γ to how this iteration's solves went."""
        xp, delta = self._xp, self._delta[:, 0]
        rounding = (delta > 0) & (delta <= 10 * _EPSILON * self._gamma[:, 0])
        down = active & (rounding | (self._residual_now > _BAD))
        up = active & ~down & (self._steps_now > _MANY_STEPS) & (self._residual_now < _GOOD)
        factor = xp.where(down, 0.1, xp.where(up, 10.0, 1.0))[:, None]
        self._gamma = xp.clip(self._gamma * factor, _GAMMA_MIN, _GAMMA_MAX)

    def _once(self, r1: Array, r2: Array, goal: Array, active: Array) -> tuple[Array, Array]:
        weighted = self._transposed_times(self._weight * r2)
        dx, u = self._conjugate_gradients(r1 + weighted, r2, goal, active)
        return dx, u + self._weight * (self._times(dx) - r2)

    def _conjugate_gradients(
        self, first: Array, r2: Array, goal: Array, active: Array
    ) -> tuple[Array, Array]:
        """Return Δx and u, which is 0 where rows are condensed."""
        xp = self._xp
        dx = self._matrix.solve(first)
        r = self._times(dx) - r2
        r = xp.where(self._left & active[:, None], r, 0.0)
        u, z = xp.zeros_like(r), self._preconditioner * r
        p, rz = z, (r * z).sum(axis=1)
        steps = xp.zeros(len(r))
        enough, running = _FALL**2 * rz, active & (rz > 0)
        for _ in range(_STEPS):
            if not running.any():
                break
            back = self._matrix.solve(self._transposed_times(p))
            sp = xp.where(self._left, self._times(back), 0.0) + self._d_left * p
            curvature = (p * sp).sum(axis=1)
            running = running & (curvature > 0)
            alpha = xp.where(running, rz / xp.where(running, curvature, 1.0), 0.0)[:, None]
            u, r, dx = u + alpha * p, r - alpha * sp, dx - alpha * back
            z = self._preconditioner * r
            rz, before = (r * z).sum(axis=1), rz
            steps = steps + running
            loose = _norm(xp, z) > _FALL * _norm(xp, u)
            running = running & ((rz > enough) | (_norm(xp, r) > goal) | loose)
            p = z + xp.where(running, rz / xp.where(running, before, 1.0), 0.0)[:, None] * p
        self._effort.gradient_steps += int(steps.sum())
        self._steps_now = xp.maximum(self._steps_now, steps)
        return dx, u

    def _residuals(self, r1: Array, r2: Array, dx: Array, dy: Array) -> tuple[Array, Array]:
        """Return what Δx and Δy leave of the system before it was condensed."""
        xp = self._xp
        diagonal = self._sigma_x + self._delta
        k_dx = self._operations.hessian_times(self._hessian, dx) + diagonal * dx
        e1 = xp.where(self._free, r1 - k_dx - self._transposed_times(dy), 0.0)
        return e1, r2 - self._times(dx) + self._d * dy

    @property
    def flexibility(self) -> Array:
        """D of every row."""
        return self._d

    def _times(self, x: Array) -> Array:
        return self._operations.times(self._jacobian, x)

    def _transposed_times(self, y: Array) -> Array:
        return self._operations.transposed_times(self._jacobian, y)


def _norm(xp: Any, *parts: Array) -> Array:
    return xp.sqrt(sum((part**2).sum(axis=1) for part in parts))
