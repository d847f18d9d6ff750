"""The filter line search of a batch, with second-order corrections.

Every instance shortens its own step. Where no step is accepted, the longest one within the bounds
is taken and the filter is cleared: cheaper than a restoration, which comes only after many of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.opf.interior_point.backend import Array, Backend
from gridveil.opf.interior_point.barrier import (
    Gaps,
    gaps,
    longest_primal_step,
    sum_of_logarithms,
)
from gridveil.opf.interior_point.filter import Filter
from gridveil.opf.interior_point.scaled_program import ScaledProgram
from gridveil.opf.placement import joined, stacked

_CORRECTIONS = 4
_WORTHWHILE = 0.99
"""A correction must bring infeasibility below this share for another one to follow."""
_HALVINGS = 6
"""Then the longest step is taken: where steps must be much shorter, it mostly gets further."""


@dataclass(frozen=True)
class Point:
    """Primal variables, with numbers of each instance."""

    primal: Array
    residual: Array
    f: FloatArray
    theta: FloatArray
    """‖residual‖₁."""
    logarithms: FloatArray
    """Σ ln(gap)."""

    def phi(self, mu: FloatArray) -> FloatArray:
        """Return the barrier function."""
        value: FloatArray = self.f - mu * self.logarithms
        return value

    def instances(self, which: BoolArray, there: Array) -> "Point":
        """Return some of the instances; `there` is the mask where the arrays are."""
        numbers = (self.f[which], self.theta[which], self.logarithms[which])
        return Point(self.primal[there], self.residual[there], *numbers)


@dataclass(frozen=True)
class Newton:
    """A solution of the Newton system, as the linear system gives it, and where it begins."""

    dx: Array
    dy: Array
    flexibility: Array
    g_s: Array
    """The gradient of the Lagrangian by the slacks."""
    gap: Gaps
    primal: Array
    pull: Array
    """The gradient of the barrier function."""


@dataclass(frozen=True)
class Step:
    """A way from a point, and how far along it to go."""

    primal: Array
    y: Array
    alpha: FloatArray


def evaluate(problem: ScaledProgram, primal: Array) -> tuple[Array, Array]:
    """Return the residual at a point, and the numbers of `Point`."""
    f, residual = problem.values(primal)
    xp = problem.xp
    logarithms = sum_of_logarithms(gaps(problem, primal), xp)
    return residual, stacked([f, xp.abs(residual).sum(axis=1), logarithms])


def along(
    problem: ScaledProgram, primal: Array, step: Array, alpha: Array
) -> tuple[Array, Array, Array]:
    """Return the point that a step leads to: variables, residual and numbers."""
    there = primal + alpha[:, None] * step
    return there, *evaluate(problem, there)


def along_newton(problem: ScaledProgram, newton: Newton, tau: Array) -> tuple[Array, ...]:
    """Return the Newton step, that of y too, and the point that the longest part of it leads to.

    The numbers are those of `Point`, the length of the step, and its slope of φ.
    """
    slacks = newton.flexibility * (newton.dy - newton.g_s)
    step = joined([newton.dx, slacks])
    alpha = longest_primal_step(problem, newton.gap, step, tau)
    there, residual, numbers = along(problem, newton.primal, step, alpha)
    slope = (newton.pull * step).sum(axis=1)
    return step, newton.dy, there, residual, joined([numbers, stacked([alpha, slope])], axis=0)


class LineSearch:
    """Line searches of a batch of programs."""

    def __init__(self, problem: ScaledProgram, backend: Backend) -> None:
        """Prepare the functions that steps are judged by."""
        self.array, self._host = backend.placement.array, backend.placement.host
        self._xp = problem.xp
        self._evaluate = backend.recorded(evaluate, problem)
        self._along = backend.recorded(along, problem)
        self._along_newton = backend.recorded(along_newton, problem)

    def evaluate(self, primal: Array) -> Point:
        """Return a point with its numbers."""
        residual, numbers = self._evaluate(primal)
        return Point(primal, residual, *self._host(numbers))

    def newton(self, newton: Newton, tau: FloatArray) -> tuple[Step, Point, FloatArray]:
        """Return the longest Newton step, where it leads, and its slope."""
        step, y_step, there, residual, numbers = self._along_newton(newton, tau)
        *of_point, alpha, slope = self._host(numbers)
        return Step(step, y_step, alpha), Point(there, residual, *of_point), slope

    def shortened(self, start: Point, step: Step) -> Point:
        """Return where a step leads."""
        there, residual, numbers = self._along(start.primal, step.primal, step.alpha)
        return Point(there, residual, *self._host(numbers))

    def picked_step(self, which: BoolArray, new: Step, old: Step) -> Step:
        """Return the new steps where a mask says so."""
        primal, y = self._picked(which, (new.primal, new.y), (old.primal, old.y))
        return Step(primal, y, np.where(which, new.alpha, old.alpha))

    def picked_point(self, which: BoolArray, new: Point, old: Point) -> Point:
        """Return the new points where a mask says so."""
        arrays = self._picked(which, (new.primal, new.residual), (old.primal, old.residual))
        numbers = (
            np.where(which, getattr(new, name), getattr(old, name))
            for name in ("f", "theta", "logarithms")
        )
        return Point(*arrays, *numbers)

    def _picked(
        self, which: BoolArray, new: tuple[Array, ...], old: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        if which.all():
            return new
        if not which.any():
            return old
        mask = self.array(which)[:, None]
        return tuple(self._xp.where(mask, a, b) for a, b in zip(new, old, strict=True))


Corrector = Callable[[Array, BoolArray], Newton]
"""Solves the Newton system for another residual of the rows, where a mask says so."""


@dataclass(frozen=True)
class Search:
    """A batch of line searches: where they begin, and by which rules."""

    lines: LineSearch
    filters: Filter
    start: Point
    mu: FloatArray
    tau: FloatArray

    def run(self, newton: Newton, correct: Corrector, active: BoolArray) -> tuple[Step, Point]:
        """Return the first acceptable points along Newton steps, and augment the filters."""
        lines, start = self.lines, self.start
        longest, furthest, slope = lines.newton(newton, self.tau)
        step, best, tried = longest, start, furthest
        least = self.filters.least_step(slope, start.theta)
        searching, augment, done = active, np.zeros_like(active), np.zeros_like(active)
        for halving in range(_HALVINGS):
            if halving > 0:
                tried = lines.shortened(start, step)
            accepted, falls = self._judged(step.alpha, slope, tried)
            accepted = accepted & searching
            best, augment = lines.picked_point(accepted, tried, best), augment | (accepted & ~falls)
            done, searching = done | accepted, searching & ~accepted
            if halving == 0 and searching.any():
                worse = searching & (tried.theta >= start.theta)
                fixed, tried, accepted, falls = self._corrected(step, tried, slope, correct, worse)
                step = lines.picked_step(accepted, fixed, step)
                best = lines.picked_point(accepted, tried, best)
                augment = augment | (accepted & ~falls)
                done, searching = done | accepted, searching & ~accepted
            searching = searching & (step.alpha / 2 >= least)
            if not searching.any():
                break
            step = replace(step, alpha=np.where(searching, step.alpha / 2, step.alpha))
        failed = active & ~done
        if failed.any():
            step = lines.picked_step(failed, longest, step)
            best = lines.picked_point(failed, furthest, best)
            self.filters.clear(failed)
        self.filters.add(augment, start.theta, start.phi(self.mu))
        return step, best

    def _corrected(
        self, step: Step, tried: Point, slope: FloatArray, correct: Corrector, which: BoolArray
    ) -> tuple[Step, Point, BoolArray, BoolArray]:
        """Return corrected steps, where they lead, where they are accepted, and if φ falls."""
        lines, array = self.lines, self.lines.array
        accepted, falls = np.zeros_like(which), np.zeros_like(which)
        last, kept, kept_point = self.start.theta, step, tried
        if not which.any():
            return kept, kept_point, accepted, falls
        residual = array(step.alpha)[:, None] * self.start.residual + tried.residual
        for _ in range(_CORRECTIONS):
            fixed, tried, _ = lines.newton(correct(residual, which), self.tau)
            good, fall = self._judged(step.alpha, slope, tried)
            good = good & which
            kept = lines.picked_step(good, fixed, kept)
            kept_point = lines.picked_point(good, tried, kept_point)
            accepted, falls = accepted | good, np.where(good, fall, falls)
            which = which & ~good & (tried.theta < _WORTHWHILE * last)
            if not which.any():
                break
            last = tried.theta
            residual = array(fixed.alpha)[:, None] * residual + tried.residual
        return kept, kept_point, accepted, falls

    def _judged(
        self, alpha: FloatArray, slope: FloatArray, tried: Point
    ) -> tuple[BoolArray, BoolArray]:
        start, mu = self.start, self.mu
        return self.filters.accepts(
            alpha, slope, start.theta, start.phi(mu), tried.theta, tried.phi(mu)
        )
