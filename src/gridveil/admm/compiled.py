"""Numba compilation of the agents and their rounds, cached where no stale code can be found.

Numba looks only at the file of a function to see whether its cache is old, not at the functions it
calls. So the folder of our cache is named after the contents of this whole package.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])


def cache_folder() -> Path:
    """Return where compiled code is kept: in the user's cache, apart for every version of it."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(base or Path.home() / ".cache") / "gridveil" / "compiled" / digest.hexdigest()[:16]


_FOLDER = cache_folder()


def is_cached() -> bool:
    """Whether this version was compiled before, so that it starts at once."""
    return (_FOLDER / "complete").exists()


def mark_cached() -> None:
    """Remember that everything was compiled."""
    if _FOLDER.is_dir():
        (_FOLDER / "complete").touch()


def compiled(function: F) -> F:
    """Compile a function at its first call, or take it from the cache."""
    return _compiled(function)


def compiled_inner(function: F) -> F:
    """Compile a function that only compiled code calls: without a way in from Python, faster."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_threaded(function: F) -> F:
    """Compile a function that only compiled code calls, its `prange` loops on all threads."""
    return _compiled(function, parallel=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compiled(function: F, **options: bool) -> F:
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(_FOLDER)
    try:
        jit: Any = numba.njit(cache=True, nogil=True, error_model="numpy", **options)  # type: ignore[call-overload]
        result: F = jit(function)
    finally:
        config.CACHE_DIR = before
    return result
