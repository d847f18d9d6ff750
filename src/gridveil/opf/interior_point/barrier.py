"""The barrier problem of a batch: its function, its optimality error, steps within the bounds.

A state has primal variables (x, s), multipliers y of the rows, and multipliers of lower and upper
bounds, 0 where there is no bound. Every instance has its own barrier parameter μ.
"""

from dataclasses import dataclass, fields
from typing import Any

from gridveil.opf.interior_point.backend import Array
from gridveil.opf.interior_point.scaled_program import ScaledProgram

_S_MAX = 100.0
_CORRECTION = 1e10
"""Bound multipliers stay within this factor of μ / distance."""


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


def gaps(problem: ScaledProgram, primal: Array) -> Gaps:
    """Return how far primal variables are from their bounds."""
    xp = problem.xp
    least = _LEAST_GAP * xp.maximum(1.0, xp.abs(primal))
    return Gaps(
        xp.where(problem.has_lower, xp.maximum(primal - problem.lower, least), 1.0),
        xp.where(problem.has_upper, xp.maximum(problem.upper - primal, least), 1.0),
    )


def barrier_function(f: Array, gap: Gaps, mu: Array, xp: Any) -> Array:
    """Return φ = f − μ Σ ln(gap)."""
    return f - mu * (xp.log(gap.lower).sum(axis=1) + xp.log(gap.upper).sum(axis=1))


def barrier_gradient(problem: ScaledProgram, gradient: Array, gap: Gaps, mu: Array) -> Array:
    """Return the gradient of φ by all primal variables."""
    xp, mu = problem.xp, mu[:, None]
    pull = mu * (problem.has_upper / gap.upper - problem.has_lower / gap.lower)
    slacks = xp.zeros((len(pull), pull.shape[1] - gradient.shape[1]))
    return xp.where(problem.moves, xp.concatenate([gradient, slacks], axis=1) + pull, 0.0)


@dataclass(frozen=True)
class Errors:
    """The parts of the optimality error that do not depend on μ."""

    dual: Array
    primal: Array
    dual_scale: Array
    complementarity_scale: Array
    products_lower: Array
    products_upper: Array


def errors(
    problem: ScaledProgram, state: State, gradient: Array, j_y: Array, residual: Array, gap: Gaps
) -> Errors:
    """Return the parts of the optimality error; `j_y` is Jᵀ y."""
    xp = problem.xp
    lagrangian = xp.concatenate([gradient + j_y, -state.y], axis=1)
    dual = xp.where(problem.moves, lagrangian - state.z_lower + state.z_upper, 0.0)
    z_sum = (state.z_lower + state.z_upper).sum(axis=1)
    y_sum, count = xp.abs(state.y).sum(axis=1), problem.moves.shape[1]
    rows = residual.shape[1]
    return Errors(
        dual=xp.abs(dual).max(axis=1),
        primal=xp.abs(residual).max(axis=1),
        dual_scale=xp.maximum(_S_MAX, (y_sum + z_sum) / (count + rows)) / _S_MAX,
        complementarity_scale=xp.maximum(_S_MAX, z_sum / count) / _S_MAX,
        products_lower=gap.lower * state.z_lower,
        products_upper=gap.upper * state.z_upper,
    )


def optimality_error(problem: ScaledProgram, parts: Errors, mu: Array) -> Array:
    """Return Ipopt's scaled optimality error of the barrier problem with μ."""
    xp = problem.xp
    off = [
        xp.where(has, xp.abs(products - mu[:, None]), 0.0).max(axis=1)
        for has, products in (
            (problem.has_lower, parts.products_lower),
            (problem.has_upper, parts.products_upper),
        )
    ]
    complementarity = xp.maximum(*off) / parts.complementarity_scale
    return xp.maximum(xp.maximum(parts.dual / parts.dual_scale, parts.primal), complementarity)


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


def corrected(problem: ScaledProgram, state: State, mu: Array) -> State:
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
