"""Which solver solves the central programs: Ipopt, our interior-point method, or the faster one.

The choice holds for everything that is solved inside `with using(…)`. With `auto`, the
interior-point method solves programs from some size on, where benchmarks show that it is faster
(docs/solvers.md); where it does not get there, Ipopt solves them, and the solution says so.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from enum import StrEnum

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.opf import ipopt
from gridveil.opf.interior_point.method import Options
from gridveil.opf.interior_point.solve import INFEASIBLE, minimise_one
from gridveil.opf.nonlinear_program import Solution, Watch
from gridveil.opf.program import NetworkProgram


class Solver(StrEnum):
    """What solves central programs."""

    IPOPT = "ipopt"
    INTERIOR_POINT = "interior-point"
    AUTO = "auto"


_FASTER_FROM = 1000
"""Buses from which `auto` takes the interior-point method."""
_STOPPED = 5
_SHORT = Options(iterations=25)
"""For starts near a solution: what takes longer is better started afresh."""
_CHOSEN: ContextVar[Solver] = ContextVar("solver", default=Solver.AUTO)


def as_solver(solver: Solver | str) -> Solver:
    """Return a solver by its name.

    Raises:
        GridveilError: There is none of this name.

    Example:
        >>> as_solver("ipopt")
        <Solver.IPOPT: 'ipopt'>
    """
    try:
        return Solver(solver)
    except ValueError:
        raise GridveilError(
            f"solver: {solver!r} is none of {', '.join(kind.value for kind in Solver)}"
        ) from None


@contextmanager
def using(solver: Solver | str | None) -> Iterator[None]:
    """Choose the solver of everything that is solved inside; None leaves the choice as it is.

    Example:
        >>> from gridveil import solve_acopf, using
        >>> with using("interior-point"):
        ...     result = solve_acopf("case5_pjm")
        >>> result.solver.name
        'interior-point'
    """
    token = _CHOSEN.set(_CHOSEN.get() if solver is None else as_solver(solver))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def chosen() -> Solver:
    """Return the solver chosen by `using`, for work that goes to another process."""
    return _CHOSEN.get()


def chosen_for(buses: int) -> Solver:
    """Return the solver that programs of a network of this size get first: not `auto`."""
    chosen = _CHOSEN.get()
    if chosen is Solver.AUTO:
        return Solver.INTERIOR_POINT if buses >= _FASTER_FROM else Solver.IPOPT
    return chosen


def minimise(
    program: NetworkProgram,
    start: FloatArray,
    watch: Watch | None = None,
    near: Solution | None = None,
) -> Solution:
    """Solve a program with the solver chosen.

    Args:
        program: Functions, derivatives and bounds.
        start: The variables to start from.
        watch: Called after every iteration; returning False stops the solver.
        near: The solution of a program that differs in bounds and costs, and perhaps has other
            rows or variables at its end. Where it does not lead to one, the start does.
    """
    if chosen_for(program.physics.buses) is Solver.IPOPT:
        return ipopt.minimise(program, start, watch=watch)
    if near is not None and near.converged:
        x, multipliers = _extended(near.x, start), _extended(near.g_multipliers, program.g_min)
        solution = minimise_one(program, x, watch, _SHORT, multipliers=multipliers)
        if solution.code in (0, _STOPPED):
            return solution
    solution = minimise_one(program, start, watch)
    if solution.converged or solution.code in (INFEASIBLE, _STOPPED):
        return solution
    if _CHOSEN.get() is not Solver.AUTO:
        return solution
    by_ipopt = ipopt.minimise(program, start, watch=watch)
    return replace(by_ipopt, iterations=solution.iterations + by_ipopt.iterations, stepped_in=True)


def _extended(known: FloatArray, like: FloatArray) -> FloatArray:
    """Return what is known of a vector, and zeros for what has been added at its end."""
    result, common = np.zeros(len(like)), min(len(known), len(like))
    result[:common] = known[:common]
    return result
