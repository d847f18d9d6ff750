"""NVIDIA's sparse direct solver cuDSS (1.0 or later) through its C interface.

The binding covers what we need of it: L D Lᵀ of one symmetric matrix without pivoting, refactorised
in place with new values, and how many pivots are positive.
"""

import ctypes
from ctypes import POINTER, byref, c_int, c_int64, c_size_t, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gridveil.device import DeviceError
from gridveil.opf.interior_point.backend import Array
from gridveil.opf.interior_point.cuda.recording import process_stream

_CALLS = {
    "cudssCreate": [POINTER(c_void_p)],
    "cudssConfigCreate": [POINTER(c_void_p)],
    "cudssDataCreate": [c_void_p, POINTER(c_void_p)],
    "cudssConfigDestroy": [c_void_p],
    "cudssDataDestroy": [c_void_p, c_void_p],
    "cudssMatrixDestroy": [c_void_p],
    "cudssGetProperty": [c_int, POINTER(c_int)],
    "cudssConfigSet": [c_void_p, c_int, c_void_p, c_size_t],
    "cudssDataGet": [c_void_p, c_void_p, c_int, c_void_p, c_size_t, POINTER(c_size_t)],
    "cudssMatrixCreateDn": [
        POINTER(c_void_p), c_int64, c_int64, c_int64, c_void_p, c_int, c_int,
    ],
    "cudssMatrixCreateCsr": [
        POINTER(c_void_p), c_int64, c_int64, c_int64, c_void_p, c_void_p, c_void_p, c_void_p,
        c_int, c_int, c_int, c_int, c_int, c_int,
    ],
    "cudssMatrixSetValues": [c_void_p, c_void_p],
    "cudssExecute": [c_void_p, c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p],
    "cudssSetStream": [c_void_p, c_void_p],
}  # fmt: skip
_ANALYSIS, _FACTORISATION, _REFACTORISATION, _SOLVE = 3, 4, 8, 1008
_MATCHING, _PIVOT_TYPE = 3, 7
_NO_MATCHING, _NO_PIVOTING = 0, 1
_INERTIA = 3
_STATUSES = {
    1: "not initialised", 2: "the GPU is out of memory", 3: "a value it does not take",
    4: "not supported", 5: "the GPU failed", 6: "an internal error",
}  # fmt: skip
_INT32, _DOUBLE = 10, 1
_SYMMETRIC, _LOWER, _FROM_ZERO, _BY_COLUMNS = 1, 1, 0, 0


class CuDSS:
    """L D Lᵀ of one symmetric matrix; `start` and `column` are its lower triangle by rows."""

    def __init__(self, start: Array, column: Array, values: Array) -> None:
        """Plan the factorisation; `values` is the buffer that `factorise` reads from."""
        import cupy

        self._n = n = len(start) - 1
        self._kept = (start, column, values)
        self.b, self.x = cupy.empty(n), cupy.empty(n)
        self._config, self._data = c_void_p(), c_void_p()
        self._matrix, self._b_matrix, self._x_matrix = c_void_p(), c_void_p(), c_void_p()
        self._library, self._handle = _library(), _handle()
        self._call("ConfigCreate", byref(self._config))
        for parameter, value in ((_MATCHING, _NO_MATCHING), (_PIVOT_TYPE, _NO_PIVOTING)):
            chosen = c_int(value)
            self._call("ConfigSet", self._config, parameter, byref(chosen), 4)
        self._call("DataCreate", self._handle, byref(self._data))
        self._call(
            "MatrixCreateCsr", byref(self._matrix), n, n, len(column), start.data.ptr, None,
            column.data.ptr, values.data.ptr, _INT32, _INT32, _DOUBLE, _SYMMETRIC, _LOWER,
            _FROM_ZERO,
        )  # fmt: skip
        for matrix, buffer in ((self._b_matrix, self.b), (self._x_matrix, self.x)):
            self._call(
                "MatrixCreateDn", byref(matrix), n, 1, n, buffer.data.ptr, _DOUBLE, _BY_COLUMNS
            )
        self._execute(_ANALYSIS)
        self._is_factorised = False

    def factorise(self) -> int:
        """Factorise the matrix as its buffer has it now; return how many pivots are negative."""
        if not self._is_factorised:
            self._execute(_FACTORISATION)
            self._is_factorised = True
        self._execute(_REFACTORISATION)
        inertia, written = (c_int * 2)(), c_size_t()
        self._call("DataGet", self._handle, self._data, _INERTIA, byref(inertia), 8, byref(written))
        return self._n - inertia[0]

    def solve(self) -> None:
        """Put the solution for the right-hand side in `b` into `x`."""
        self._execute(_SOLVE)

    def __del__(self) -> None:
        """Free what cuDSS holds."""
        for matrix in (self._matrix, self._b_matrix, self._x_matrix):
            if matrix:
                self._library.cudssMatrixDestroy(matrix)
        if self._data:
            self._library.cudssDataDestroy(self._handle, self._data)
        if self._config:
            self._library.cudssConfigDestroy(self._config)

    def _execute(self, phase: int) -> None:
        self._call(
            "Execute", self._handle, phase, self._config, self._data, self._matrix,
            self._x_matrix, self._b_matrix,
        )  # fmt: skip

    def _call(self, name: str, *arguments: Any) -> None:
        _check(name, getattr(self._library, f"cudss{name}")(*arguments))


def _check(name: str, status: int) -> None:
    if status:
        what = _STATUSES.get(status, f"with status {status}")
        raise DeviceError(f"cuDSS failed in {name}: {what}; --device cpu does without")


@cache
def _handle() -> c_void_p:
    """Return the handle of this process, on the stream of all our work."""
    library, handle = _library(), c_void_p()
    _check("Create", library.cudssCreate(byref(handle)))
    _check("SetStream", library.cudssSetStream(handle, process_stream().ptr))
    return handle


@cache
def _library() -> ctypes.CDLL:
    """Load cuDSS from the folder of its wheel, or from where the system has it."""
    spec = find_spec("nvidia")
    folders = (spec.submodule_search_locations if spec else None) or []
    found = [path for folder in folders for path in Path(folder).glob("*/lib/libcudss.so.1")]
    try:
        library = ctypes.CDLL(str(found[0]) if found else "libcudss.so.1")
    except OSError as error:
        raise DeviceError(
            "cuDSS 1.0 was not found: pip install nvidia-cudss-cu13 (or -cu12) brings it"
        ) from error
    for name, types in _CALLS.items():
        function = getattr(library, name, None)
        if function is None:
            raise DeviceError(
                f"cuDSS is older than 1.0, it has no {name}: pip install -U nvidia-cudss-cu13"
            )
        function.restype, function.argtypes = c_int, types
    return library
