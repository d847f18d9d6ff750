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
from gridveil.device import Device, as_device
from gridveil.errors import GridveilError
from gridveil.opf import ipopt
from gridveil.opf.interior_point.backend import Backend
from gridveil.opf.interior_point.cpu.backend import CPU
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
"""Buses, of all programs that are solved together, from which `auto` takes the interior-point
method."""
_GPU_FROM, _GPU_FROM_TOGETHER = 5_000, 50_000
"""Buses from which the device `auto` is a GPU: of one program, and of all that are solved together.
"""
STOPPED = 5
"""Ipopt's code of a solve that its watch has ended."""
SHORT = Options(iterations=25)
"""For starts near a solution: what takes longer is better started afresh."""
_CHOSEN: ContextVar[Solver] = ContextVar("solver", default=Solver.AUTO)
_DEVICE: ContextVar[Device] = ContextVar("device", default=Device.CPU)


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
    solvers = _CHOSEN.set(_CHOSEN.get() if solver is None else as_solver(solver))
    devices = _DEVICE.set(_DEVICE.get() if device is None else as_device(device))
    try:
        yield
    finally:
        _DEVICE.reset(devices)
        _CHOSEN.reset(solvers)


def chosen_for(buses: int, programs: int = 1) -> Solver:
    """Return the solver that programs of a network of this size get first: not `auto`."""
    chosen = _CHOSEN.get()
    if chosen is Solver.AUTO:
        many = buses * programs >= _FASTER_FROM or _DEVICE.get() is Device.GPU
        return Solver.INTERIOR_POINT if many else Solver.IPOPT
    return chosen


def may_step_in() -> bool:
    """Whether Ipopt solves what the interior-point method does not."""
    return _CHOSEN.get() is Solver.AUTO


def chosen_backend(buses: int, programs: int = 1) -> Backend:
    """Return where the interior-point method solves programs of a network of this size."""
    device = _DEVICE.get()
    least = _GPU_FROM if programs == 1 else _GPU_FROM_TOGETHER
    if device is Device.CPU or (device is Device.AUTO and buses * programs < least):
        return CPU()
    # CuPy takes a while to import: only who needs it waits.
    from gridveil.opf.interior_point.cuda.backend import GPU

    return GPU()


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
    backend = chosen_backend(program.physics.buses)
    if near is not None and near.converged:
        x, multipliers = extended(near.x, start), extended(near.g_multipliers, program.g_min)
        solution = minimise_one(program, x, watch, SHORT, backend, multipliers)
        if solution.code in (0, STOPPED):
            return solution
    solution = minimise_one(program, start, watch, backend=backend)
    if solution.converged or solution.code in (INFEASIBLE, STOPPED) or not may_step_in():
        return solution
    by_ipopt = ipopt.minimise(program, start, watch=watch)
    return stepped_in(solution, by_ipopt)


def stepped_in(before: Solution, by_ipopt: Solution) -> Solution:
    """Return Ipopt's solution where another solver had not got there before."""
    return replace(by_ipopt, iterations=before.iterations + by_ipopt.iterations, stepped_in=True)


def extended(known: FloatArray, like: FloatArray) -> FloatArray:
    """Return what is known of a vector, and zeros for what has been added at its end."""
    result, common = np.zeros(len(like)), min(len(known), len(like))
    result[:common] = known[:common]
    return result
