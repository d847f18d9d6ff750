"""Which solver solves the central programs: Ipopt, our interior-point method, or the faster one.

The choice holds for everything that is solved inside `with using(…)`. With `auto`, the
interior-point method solves programs from some size on, where benchmarks show that it is faster
(docs/solvers.md); where it does not get there, Ipopt solves them, and the solution says so.

The interior-point method also runs on a GPU, if the device chosen is one; Ipopt does not. So with a
GPU chosen by name, `auto` is the interior-point method. Series of programs: batches.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from enum import StrEnum

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.device import Device, current_device, on_device
from gridveil.errors import GridveilError
from gridveil.opf import ipopt
from gridveil.opf.devices import check_device, solved_on_device
from gridveil.opf.interior_point.backend import Backend
from gridveil.opf.interior_point.method import Options
from gridveil.opf.interior_point.solve import INFEASIBLE, minimise_one
from gridveil.opf.nonlinear_program import Solution, Watch
from gridveil.opf.program import NetworkProgram
from gridveil.opf.record import noted


class Solver(StrEnum):
    """What solves central programs."""

    IPOPT = "ipopt"
    INTERIOR_POINT = "interior-point"
    AUTO = "auto"


_FASTER_FROM, _FASTER_TOGETHER = 1000, 8
"""Buses, or programs that are solved together, from which `auto` takes the interior-point method.
"""
STOPPED = 5
"""Ipopt's code of a solve that its watch has ended."""
SHORT = Options(iterations=25)
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
def using(solver: Solver | str | None = None, device: Device | str | None = None) -> Iterator[None]:
    """Choose solver and device of everything that is solved inside; None leaves a choice as it is.

    Example:
        >>> from gridveil import solve_acopf, using
        >>> with using("interior-point"):
        ...     result = solve_acopf("case5_pjm")
        >>> result.solver.name
        'interior-point'
    """
    token = _CHOSEN.set(_CHOSEN.get() if solver is None else as_solver(solver))
    try:
        with on_device(device):
            if device is not None and _CHOSEN.get() is not Solver.IPOPT:
                check_device()
            yield
    finally:
        _CHOSEN.reset(token)


def chosen() -> Solver:
    """Return the solver chosen by `using`, for work that goes to another process."""
    return _CHOSEN.get()


def chosen_for(buses: int, programs: int = 1) -> Solver:
    """Return the solver that programs of a network of this size get first: not `auto`."""
    chosen = _CHOSEN.get()
    if chosen is not Solver.AUTO:
        return chosen
    is_faster = buses >= _FASTER_FROM or programs >= _FASTER_TOGETHER
    on_gpu = current_device() is Device.GPU
    return Solver.INTERIOR_POINT if is_faster or on_gpu else Solver.IPOPT


def may_step_in() -> bool:
    """Whether Ipopt solves what the interior-point method does not."""
    return _CHOSEN.get() is Solver.AUTO


def minimise(
    program: NetworkProgram,
    start: FloatArray,
    watch: Watch | None = None,
    near: Solution | None = None,
) -> Solution:
    """Solve a program with the solver and on the device chosen.

    Args:
        program: Functions, derivatives and bounds.
        start: The variables to start from.
        watch: Called after every iteration; returning False stops the solver.
        near: The solution of a program that differs in bounds and costs, and perhaps has other
            rows or variables at its end. Where it does not lead to one, the start does.
    """
    return noted(_minimise(program, start, watch, near))


def _minimise(
    program: NetworkProgram, start: FloatArray, watch: Watch | None, near: Solution | None
) -> Solution:
    if chosen_for(program.physics.buses) is Solver.IPOPT:
        return ipopt.minimise(program, start, watch=watch)

    def solve(backend: Backend) -> Solution:
        tried = 0
        if near is not None and near.converged:
            x, multipliers = extended(near.x, start), extended(near.g_multipliers, program.g_min)
            warm = minimise_one(program, x, watch, SHORT, backend, multipliers)
            if warm.code in (0, STOPPED):
                return warm
            tried = warm.iterations
        cold = minimise_one(program, start, watch, backend=backend)
        return replace(cold, iterations=tried + cold.iterations)

    solution = solved_on_device(solve, program.physics.buses)
    if solution.converged or solution.code in (INFEASIBLE, STOPPED) or not may_step_in():
        return solution
    return stepped_in(solution, ipopt.minimise(program, start, watch=watch))


def stepped_in(before: Solution, by_ipopt: Solution) -> Solution:
    """Return Ipopt's solution where another solver had not got there before."""
    return replace(by_ipopt, iterations=before.iterations + by_ipopt.iterations, stepped_in=True)


def extended(known: FloatArray, like: FloatArray) -> FloatArray:
    """Return what is known of a vector, and zeros for what has been added at its end."""
    result, common = np.zeros(len(like)), min(len(known), len(like))
    result[:common] = known[:common]
    return result
