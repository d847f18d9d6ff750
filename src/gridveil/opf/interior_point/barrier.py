"""The barrier problem of a batch: its derivatives and optimality error, steps within the bounds.

A state has primal variables (x, s), multipliers y of the rows, and multipliers of lower and upper
bounds, 0 where there is no bound. Every instance has its own barrier parameter μ. Arrays are where
the program is; numbers of instances (μ, errors, step lengths) come back as one small array.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.opf.interior_point.backend import Array
from gridveil.opf.interior_point.scaled_program import ScaledProgram
from gridveil.opf.placement import joined, stacked

_S_MAX = 100.0
_CORRECTION = 1e10
"""Bound multipliers stay within this factor of μ / distance."""
_EPSILON = 2.2e-16


_LEAST_GAP = 1e-15
"""Rounding can take a variable onto its bound; the gap is at least this, relatively."""


@dataclass(frozen=True)
class State:
    """Primal variables and multipliers of a batch."""

    primal: Array
    y: Array
    z_lower: Array
    z_upper: Array

    def instances(self, which: Array) -> "State":
        """Return some of the instances."""
        return State(*(getattr(self, spec.name)[which] for spec in fields(self)))


@dataclass(frozen=True)
class Gaps:
    """Distances to the bounds; 1 where there is none."""

    lower: Array
    upper: Array


@dataclass(frozen=True)
class Derivatives:
    """What a Newton step is made from, at a state."""

    gap: Gaps
    gradient: Array
    jacobian: Array
    hessian: Array
    sigma: Array
    """Σ of all primal variables."""
    j_y: Array
    """Jᵀ y."""


@dataclass(frozen=True)
class Errors:
    """How far each instance is from its optimum: the parts that do not depend on μ."""

    dual: FloatArray
    primal: FloatArray
    dual_scale: FloatArray
    complementarity_scale: FloatArray
    least_product: FloatArray
    """Of a gap and its multiplier."""
    largest_product: FloatArray
    violation: FloatArray
    """Of the rows, without scaling."""
    rounding: FloatArray
    """By how much rounding of x alone changes the gradient of the Lagrangian."""
    finite: FloatArray
    """Whether the multipliers are finite: 1 or 0."""


def gaps(problem: ScaledProgram, primal: Array) -> Gaps:
    """Return how far primal variables are from their bounds."""
    xp = problem.xp
    least = _LEAST_GAP * xp.maximum(1.0, xp.abs(primal))
    return Gaps(
        xp.where(problem.has_lower, xp.maximum(primal - problem.lower, least), 1.0),
        xp.where(problem.has_upper, xp.maximum(problem.upper - primal, least), 1.0),
    )


def sum_of_logarithms(gap: Gaps, xp: Any) -> Array:
    """Return Σ ln(gap): the barrier function is f − μ Σ ln(gap)."""
    return xp.log(gap.lower).sum(axis=1) + xp.log(gap.upper).sum(axis=1)


def barrier_gradient(problem: ScaledProgram, gradient: Array, gap: Gaps, mu: Array) -> Array:
    """Return the gradient of the barrier function by all primal variables."""
    xp, mu = problem.xp, mu[:, None]
    pull = mu * (problem.has_upper / gap.upper - problem.has_lower / gap.lower)
    slacks = xp.zeros((pull.shape[0], pull.shape[1] - gradient.shape[1]))
    return xp.where(problem.moves, joined([gradient, slacks]) + pull, 0.0)


def derivatives(problem: ScaledProgram, state: State, residual: Array) -> tuple[Derivatives, Array]:
    """Return the derivatives at a state, and its errors in the order of `Errors`."""
    xp, n = problem.xp, problem.variables
    gap = gaps(problem, state.primal)
    gradient, jacobian = problem.first_derivatives(state.primal)
    hessian = problem.hessian(state.primal, state.y)
    j_y = problem.operations.transposed_times(jacobian, state.y)
    sigma = state.z_lower / gap.lower + state.z_upper / gap.upper
    bend = problem.operations.hessian_times(xp.abs(hessian), xp.abs(state.primal[:, :n]))
    numbers = (
        *_errors(problem, state, gradient + j_y, residual, gap),
        problem.violation(residual),
        _EPSILON * bend.max(axis=1),
        xp.isfinite(state.y).all(axis=1).astype(float),
    )
    return Derivatives(gap, gradient, jacobian, hessian, sigma, j_y), stacked(numbers)


def _errors(
    problem: ScaledProgram, state: State, by_x: Array, residual: Array, gap: Gaps
) -> tuple[Array, ...]:
    xp = problem.xp
    lagrangian = joined([by_x, -state.y])
    dual = xp.where(problem.moves, lagrangian - state.z_lower + state.z_upper, 0.0)
    z_sum = (state.z_lower + state.z_upper).sum(axis=1)
    y_sum, count = xp.abs(state.y).sum(axis=1), problem.moves.shape[1]
    least, largest = [], []
    for has, distance, z in (
        (problem.has_lower, gap.lower, state.z_lower),
        (problem.has_upper, gap.upper, state.z_upper),
    ):
        product = distance * z
        least.append(xp.where(has, product, xp.inf).min(axis=1))
        largest.append(xp.where(has, product, -xp.inf).max(axis=1))
    return (
        xp.abs(dual).max(axis=1),
        xp.abs(residual).max(axis=1),
        xp.maximum(_S_MAX, (y_sum + z_sum) / (count + residual.shape[1])) / _S_MAX,
        xp.maximum(_S_MAX, z_sum / count) / _S_MAX,
        xp.minimum(*least),
        xp.maximum(*largest),
    )


def optimality_error(errors: Errors, mu: FloatArray) -> FloatArray:
    """Return Ipopt's scaled optimality error of the barrier problem with μ."""
    off = np.maximum(errors.largest_product - mu, mu - errors.least_product)
    error: FloatArray = np.maximum(
        np.maximum(errors.dual / errors.dual_scale, errors.primal),
        off / errors.complementarity_scale,
    )
    return error


def longest_step(xp: Any, value: Array, step: Array, tau: Array, bounded: Array) -> Array:
    """Return the longest step ≤ 1 that keeps bounded values above (1 − τ) of themselves."""
    shrinking = bounded & (step < 0)
    ratio = xp.where(shrinking, -value / xp.where(shrinking, step, -1.0), xp.inf)
    return xp.minimum(1.0, tau * ratio.min(axis=1))


def longest_primal_step(problem: ScaledProgram, gap: Gaps, step: Array, tau: Array) -> Array:
    """Return the longest step of the primal variables within the bounds."""
    xp = problem.xp
    return xp.minimum(
        longest_step(xp, gap.lower, step, tau, problem.has_lower),
        longest_step(xp, gap.upper, -step, tau, problem.has_upper),
    )


def moved(
    problem: ScaledProgram,
    state: State,
    gap: Gaps,
    step: Array,
    y_step: Array,
    there: Array,
    alpha: Array,
    mu: Array,
    tau: Array,
) -> State:
    """Return the state after a step of the primal variables and of y, with bound multipliers.

    Args:
        problem: The batch.
        state: Where the step begins.
        gap: The gaps there.
        step: Of the primal variables, in full.
        y_step: Of y, in full.
        there: The primal variables where the step ends.
        alpha: How much of it is taken.
        mu: The barrier parameters.
        tau: The share of the way to a bound that a step may go.
    """
    xp = problem.xp
    z_lower, z_upper = _z_steps(problem, state, gap, step, mu[:, None])
    z_alpha = xp.minimum(
        longest_step(xp, state.z_lower, z_lower, tau, problem.has_lower),
        longest_step(xp, state.z_upper, z_upper, tau, problem.has_upper),
    )[:, None]
    end = State(
        there,
        state.y + alpha[:, None] * y_step,
        state.z_lower + z_alpha * z_lower,
        state.z_upper + z_alpha * z_upper,
    )
    return _corrected(problem, end, mu)


def _z_steps(
    problem: ScaledProgram, state: State, gap: Gaps, step: Array, mu: Array
) -> tuple[Array, Array]:
    """Return the steps of the bound multipliers that go with a step of the variables."""
    xp = problem.xp
    lower = mu / gap.lower - state.z_lower - state.z_lower / gap.lower * step
    upper = mu / gap.upper - state.z_upper + state.z_upper / gap.upper * step
    return xp.where(problem.has_lower, lower, 0.0), xp.where(problem.has_upper, upper, 0.0)


def _corrected(problem: ScaledProgram, state: State, mu: Array) -> State:
    """Return the state with bound multipliers near μ / gap."""
    xp, gap, mu = problem.xp, gaps(problem, state.primal), mu[:, None]
    z = [
        xp.where(has, xp.clip(z, mu / (_CORRECTION * d), _CORRECTION * mu / d), 0.0)
        for has, z, d in (
            (problem.has_lower, state.z_lower, gap.lower),
            (problem.has_upper, state.z_upper, gap.upper),
        )
    ]
    return State(state.primal, state.y, *z)
