"""The filter line search of a batch, with second-order corrections.

Every instance shortens its own step. Where no step is accepted, the longest one within the bounds
is taken and the filter is cleared: cheaper than a restoration, which comes only after many of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from gridveil.opf.interior_point.backend import Array
from gridveil.opf.interior_point.barrier import (
    Gaps,
    barrier_function,
    gaps,
    longest_primal_step,
)
from gridveil.opf.interior_point.filter import Filter
from gridveil.opf.interior_point.scaled_program import ScaledProgram

_CORRECTIONS = 4
_WORTHWHILE = 0.99
"""A correction must bring infeasibility below this share for another one to follow."""
_HALVINGS = 6
"""Then the longest step is taken: where steps must be much shorter, it mostly gets further."""

Corrector = Callable[[Array, Array], tuple[Array, Array]]
"""Solves the Newton system for another residual of the rows, where a mask says so; returns steps of
the primal variables and of y."""


@dataclass(frozen=True)
class Point:
    """Primal variables with their values."""

    primal: Array
    f: Array
    residual: Array
    theta: Array
    """‖residual‖₁."""
    phi: Array

    def instances(self, which: Array) -> "Point":
        """Return some of the instances."""
        return Point(*(getattr(self, spec.name)[which] for spec in fields(self)))


@dataclass(frozen=True)
class Step:
    """A way from a point, and how far along it to go."""

    primal: Array
    y: Array
    alpha: Array


@dataclass(frozen=True)
class Search:
    """A batch of line searches: where they begin, and by which rules."""

    problem: ScaledProgram
    filters: Filter
    start: Point
    gap: Gaps
    slope: Array
    """Of φ along the Newton step."""
    mu: Array
    tau: Array

    def run(self, primal: Array, y: Array, correct: Corrector, active: Array) -> "Found":
        """Return the first acceptable points along Newton steps, and augment the filters."""
        xp = self.problem.xp
        step, best = Step(primal, y, self._longest(primal)), self.start
        least = self.filters.least_step(self.slope, self.start.theta)
        searching, augment = active, xp.zeros_like(active)
        done = xp.zeros_like(active)
        for halving in range(_HALVINGS):
            tried = self._at(step)
            accepted, falls = self._judged(step.alpha, tried)
            accepted = accepted & searching
            best, augment = _picked(xp, accepted, tried, best), augment | (accepted & ~falls)
            done, searching = done | accepted, searching & ~accepted
            if halving == 0 and searching.any():
                worse = searching & (tried.theta >= self.start.theta)
                fixed, tried, accepted, falls = self._corrected(step, tried, correct, worse)
                step = _picked(xp, accepted, fixed, step)
                best, augment = _picked(xp, accepted, tried, best), augment | (accepted & ~falls)
                done, searching = done | accepted, searching & ~accepted
            searching = searching & (step.alpha / 2 >= least)
            if not searching.any():
                break
            step = Step(step.primal, step.y, xp.where(searching, step.alpha / 2, step.alpha))
        failed = active & ~done
        if failed.any():
            forced = Step(primal, y, self._longest(primal))
            step = _picked(xp, failed, forced, step)
            best = _picked(xp, failed, self._at(forced), best)
            self.filters.clear(failed)
        self.filters.add(augment, self.start.theta, self.start.phi)
        return Found(best, step, failed)

    def _corrected(
        self, step: Step, tried: Point, correct: Corrector, which: Array
    ) -> tuple[Step, Point, Array, Array]:
        """Return corrected steps, where they lead, where they are accepted, and if φ falls."""
        xp = self.problem.xp
        residual = step.alpha[:, None] * self.start.residual + tried.residual
        accepted, falls = xp.zeros_like(which), xp.zeros_like(which)
        last, kept, kept_point = self.start.theta, step, tried
        for _ in range(_CORRECTIONS):
            if not which.any():
                break
            primal, y = correct(residual, which)
            fixed = Step(primal, y, self._longest(primal))
            tried = self._at(fixed)
            good, fall = self._judged(step.alpha, tried)
            good = good & which
            kept, kept_point = _picked(xp, good, fixed, kept), _picked(xp, good, tried, kept_point)
            accepted, falls = accepted | good, xp.where(good, fall, falls)
            which = which & ~good & (tried.theta < _WORTHWHILE * last)
            last = tried.theta
            residual = fixed.alpha[:, None] * residual + tried.residual
        return kept, kept_point, accepted, falls

    def _longest(self, primal: Array) -> Array:
        return longest_primal_step(self.problem, self.gap, primal, self.tau)

    def _at(self, step: Step) -> Point:
        return evaluate(
            self.problem, self.start.primal + step.alpha[:, None] * step.primal, self.mu
        )

    def _judged(self, alpha: Array, tried: Point) -> tuple[Array, Array]:
        start = self.start
        return self.filters.accepts(
            alpha, self.slope, start.theta, start.phi, tried.theta, tried.phi
        )


@dataclass(frozen=True)
class Found:
    """What line searches ended with."""

    point: Point
    step: Step
    failed: Array
    """Where no step was accepted, and the longest one was taken."""


def evaluate(problem: ScaledProgram, primal: Array, mu: Array) -> Point:
    """Return primal variables with their values."""
    f, residual = problem.values(primal)
    phi = barrier_function(f, gaps(problem, primal), mu, problem.xp)
    return Point(primal, f, residual, problem.xp.abs(residual).sum(axis=1), phi)


def _picked(xp: Any, which: Array, new: Any, old: Any) -> Any:
    """Return a record with instances of the new one where the mask says so."""
    return type(old)(
        *(
            xp.where(which if a.ndim == 1 else which[:, None], a, b)
            for a, b in ((getattr(new, spec.name), getattr(old, spec.name)) for spec in fields(old))
        )
    )
