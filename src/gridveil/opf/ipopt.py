"""Ipopt through its C interface, from the library that CasADi's wheel carries.

CasADi itself is not imported: its symbolic build is slower than the solve on large networks, and
our derivatives are closed formulas over arrays. The binding covers what we need of Ipopt's C
interface: create a problem, set options, solve, and follow the iterations.
"""

import ctypes
import threading
from collections.abc import Callable, Mapping
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int, c_void_p
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.interruption import held_interrupts
from gridveil.opf.nonlinear_program import (
    Iteration,
    NonlinearProgram,
    Solution,
    SolverVersion,
    Watch,
)

INFINITY = 2e19
"""Ipopt treats bounds of at least this magnitude as infinite."""

_EVAL_F = ctypes.CFUNCTYPE(c_bool, c_int, c_void_p, c_bool, c_void_p, c_void_p)
_EVAL_GRAD_F = _EVAL_F
_EVAL_G = ctypes.CFUNCTYPE(c_bool, c_int, c_void_p, c_bool, c_int, c_void_p, c_void_p)
_EVAL_JAC_G = ctypes.CFUNCTYPE(
    c_bool, c_int, c_void_p, c_bool, c_int, c_int, c_void_p, c_void_p, c_void_p, c_void_p
)
_EVAL_H = ctypes.CFUNCTYPE(
    c_bool, c_int, c_void_p, c_bool, c_double, c_int, c_void_p, c_bool, c_int,
    c_void_p, c_void_p, c_void_p, c_void_p,
)  # fmt: skip
_INTERMEDIATE = ctypes.CFUNCTYPE(c_bool, c_int, c_int, *(c_double,) * 8, c_int, c_void_p)


Options = Mapping[str, str | int | float]

OPTIONS: Options = {
    "linear_solver": "mumps",
    "mumps_pivot_order": 0,  # approximate minimum degree: a quarter faster here than Metis
    "bound_relax_factor": 0.0,  # or limits of 100 p.u. would be broken by 1e-6
    "tol": 1e-8,
    "print_level": 0,
    "sb": "yes",
}
"""The options of every solve of a network."""


def minimise(
    program: NonlinearProgram,
    start: FloatArray,
    options: Options = OPTIONS,
    watch: Watch | None = None,
) -> Solution:
    """Solve a nonlinear program.

    An exception in a callback stops Ipopt and is raised here; so does Ctrl-C, after the iteration.

    Args:
        program: Functions, derivatives and bounds.
        start: The variables to start from.
        options: Ipopt's options by name.
        watch: Called after every iteration; returning False stops Ipopt.
    """
    with held_interrupts() as interrupted:
        return _Session(program, watch, interrupted).solve(start, options)


@dataclass
class _Session:
    """One call of IpoptSolve: its callbacks, and the exception that one of them raised."""

    program: NonlinearProgram
    watch: Watch | None
    interrupted: threading.Event
    raised: BaseException | None = None
    iterations: int = 0
    _callback_objects: list[Any] = field(default_factory=list)
    """Referenced here for as long as Ipopt has pointers to them."""

    def solve(self, start: FloatArray, options: Options) -> Solution:
        library, program = _library(), self.program
        n, m = len(program.x_min), len(program.g_min)
        jacobian, hessian = (
            [np.asarray(indices, np.int32) for indices in structure]
            for structure in (program.jacobian_structure(), program.hessian_structure())
        )
        bounds = [
            np.clip(np.ascontiguousarray(b, dtype=float), -INFINITY, INFINITY)
            for b in (program.x_min, program.x_max, program.g_min, program.g_max)
        ]
        handle = library.CreateIpoptProblem(
            n, _address(bounds[0]), _address(bounds[1]),
            m, _address(bounds[2]), _address(bounds[3]),
            len(jacobian[0]), len(hessian[0]), 0, *self._callbacks(n, m, jacobian, hessian),
        )  # fmt: skip
        if not handle:
            raise GridveilError("Ipopt refused the problem's dimensions")
        try:
            _set_options(library, handle, options)
            library.SetIntermediateCallback(handle, self._intermediate())
            x, multipliers = np.array(start, dtype=float), np.zeros(m)
            value = c_double()
            code = library.IpoptSolve(
                handle, _address(x), None, byref(value), _address(multipliers), None, None, None
            )
        finally:
            library.FreeIpoptProblem(handle)
        if self.raised is not None:
            raise self.raised
        return Solution(int(code), x, value.value, multipliers, self.iterations, solver_version())

    def _guard(self, work: Callable[[], bool | None]) -> bool:
        """Run a callback's work; an exception must not cross the C frames of Ipopt."""
        if self.raised is not None:
            return False
        try:
            return work() is not False
        except BaseException as error:
            self.raised = error
            return False

    def _callbacks(
        self, n: int, m: int, jacobian_cells: list[Any], hessian_cells: list[Any]
    ) -> tuple[Any, ...]:
        program = self.program

        def objective(_n: int, x: int, _new: bool, out: int, _: int) -> bool:
            def work() -> None:
                _doubles(out, 1)[0] = program.objective(_doubles(x, n))

            return self._guard(work)

        def gradient(_n: int, x: int, _new: bool, out: int, _: int) -> bool:
            def work() -> None:
                _doubles(out, n)[:] = program.gradient(_doubles(x, n))

            return self._guard(work)

        def constraints(_n: int, x: int, _new: bool, _m: int, out: int, _: int) -> bool:
            def work() -> None:
                _doubles(out, m)[:] = program.constraints(_doubles(x, n))

            return self._guard(work)

        def jacobian(
            _n: int, x: int, _new: bool, _m: int, count: int, rows: int, cols: int, out: int, _: int
        ) -> bool:
            def work() -> None:
                if out:
                    _doubles(out, count)[:] = program.jacobian(_doubles(x, n))
                else:
                    _ints(rows, count)[:], _ints(cols, count)[:] = jacobian_cells

            return self._guard(work)

        def hessian(
            _n: int, x: int, _new: bool, factor: float, _m: int, multipliers: int, _new_m: bool,
            count: int, rows: int, cols: int, out: int, _: int,
        ) -> bool:  # fmt: skip
            def work() -> None:
                if out:
                    _doubles(out, count)[:] = program.hessian(
                        _doubles(x, n), factor, _doubles(multipliers, m)
                    )
                else:
                    _ints(rows, count)[:], _ints(cols, count)[:] = hessian_cells

            return self._guard(work)

        callbacks = (
            _EVAL_F(objective),
            _EVAL_G(constraints),
            _EVAL_GRAD_F(gradient),
            _EVAL_JAC_G(jacobian),
            _EVAL_H(hessian),
        )
        self._callback_objects += callbacks
        return callbacks

    def _intermediate(self) -> Any:
        def after(
            _mode: int, number: int, objective: float, primal: float, dual: float, barrier: float,
            *_rest: Any,
        ) -> bool:  # fmt: skip
            def work() -> bool:
                self.iterations = number
                iteration = Iteration(number, objective, primal, dual, barrier)
                if self.interrupted.is_set():
                    return False
                return self.watch is None or self.watch(iteration)

            return self._guard(work)

        callback = _INTERMEDIATE(after)
        self._callback_objects.append(callback)
        return callback


def _set_options(library: ctypes.CDLL, handle: int, options: Options) -> None:
    for key, value in options.items():
        name = key.encode()
        if isinstance(value, str):
            accepted = library.AddIpoptStrOption(handle, name, value.encode())
        elif isinstance(value, int):
            accepted = library.AddIpoptIntOption(handle, name, value)
        else:
            accepted = library.AddIpoptNumOption(handle, name, value)
        if not accepted:
            raise GridveilError(f"Ipopt does not accept the option {key} = {value!r}")


def _address(array: FloatArray) -> int:
    return array.ctypes.data


def _doubles(address: int, count: int) -> FloatArray:
    return np.ndarray(count, np.float64, memoryview((c_double * count).from_address(address)))


def _ints(address: int, count: int) -> Any:
    return np.ndarray(count, np.int32, memoryview((c_int * count).from_address(address)))


@cache
def solver_version() -> SolverVersion:
    """Return the version of the Ipopt that is installed."""
    numbers = [c_int() for _ in range(3)]
    _library().GetIpoptVersion(*map(byref, numbers))
    return SolverVersion("ipopt", ".".join(str(number.value) for number in numbers))


@cache
def _library() -> ctypes.CDLL:
    """Load Ipopt from the folder of CasADi's wheel and declare what we call."""
    spec = find_spec("casadi")
    folders = (spec.submodule_search_locations if spec else None) or []
    names = ("libipopt.so.3", "libipopt.3.dylib", "libipopt-3.dll")
    candidates = [Path(folder) / name for folder in folders for name in names]
    found = [path for path in candidates if path.is_file()]
    if not found:
        raise GridveilError(
            "Ipopt was not found: it comes with the package casadi, which is not installed whole. "
            "Run 'pip install --force-reinstall casadi'"
        )
    library = ctypes.CDLL(str(found[0]))
    one_thread = getattr(library, "openblas_set_num_threads", None)
    if one_thread is not None:
        one_thread(1)  # more threads only spin: the dense blocks of a network are small
    library.CreateIpoptProblem.restype = c_void_p
    library.CreateIpoptProblem.argtypes = [
        c_int, c_void_p, c_void_p, c_int, c_void_p, c_void_p, c_int, c_int, c_int,
        _EVAL_F, _EVAL_G, _EVAL_GRAD_F, _EVAL_JAC_G, _EVAL_H,
    ]  # fmt: skip
    library.FreeIpoptProblem.restype = None
    library.FreeIpoptProblem.argtypes = [c_void_p]
    for name, kind in (("Str", c_char_p), ("Num", c_double), ("Int", c_int)):
        function = getattr(library, f"AddIpopt{name}Option")
        function.restype = c_bool
        function.argtypes = [c_void_p, c_char_p, kind]
    library.SetIntermediateCallback.restype = c_bool
    library.SetIntermediateCallback.argtypes = [c_void_p, _INTERMEDIATE]
    library.GetIpoptVersion.restype = None
    library.GetIpoptVersion.argtypes = [POINTER(c_int)] * 3
    library.IpoptSolve.restype = c_int
    library.IpoptSolve.argtypes = [
        c_void_p, c_void_p, c_void_p, POINTER(c_double), c_void_p, c_void_p, c_void_p, c_void_p,
    ]  # fmt: skip
    return library
