"""Numba compilation of the agents."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gridveil.compiled import CodeCache

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent
ENGINE = CodeCache("engine", PACKAGE)
"""Whole iterations in one process (iteration.py)."""
DISTRIBUTED = CodeCache("distributed", PACKAGE)
"""Single sweeps, for the parties of a federation (distributed.py)."""


def compiled(function: F) -> F:
    """Compile a function at its first call, or take it from the cache."""
    return ENGINE.compile(function)


def compiled_inner(function: F) -> F:
    """Compile a function that only compiled code calls: without an entry from Python, faster."""
    return ENGINE.compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_threaded(function: F) -> F:
    """Compile a function that only compiled code calls, its `prange` loops on all threads."""
    return ENGINE.compile(function, parallel=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_distributed(function: F) -> F:
    """Compile a function of a federation's members at its first call, or take it from the cache."""
    return DISTRIBUTED.compile(function)
