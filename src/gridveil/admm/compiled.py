"""Numba compilation of the agents and their rounds, cached where no stale code can be found.

Numba looks only at the file of a function to see whether its cache is old, not at the functions it
calls. So the folder of our cache is named after the contents of this whole package.

Nor does Numba expect two processes to write to one cache: each takes the next free number for its
code, and one then runs the code of the other, as something else. So a process either reads a cache
that is complete and is never written again, or has one of its own.
"""

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite.binding import get_host_cpu_name  # type: ignore[import-untyped]

F = TypeVar("F", bound=Callable[..., Any])


def cache_folder() -> Path | None:
    """Return where compiled code is kept, apart for every copy of us and CPU; None if nowhere.

    Numba trusts code only for the same path and time of the source, so these are part of the name.
    A folder that Numba could not write to would make it fall back to one beside the source.
    """
    digest = hashlib.sha256(f"{numba.__version__} {sys.version} {get_host_cpu_name()}".encode())
    for source in sorted(Path(__file__).resolve().parent.glob("*.py")):
        digest.update(f"{source} {source.stat().st_mtime_ns} ".encode() + source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(base) if base else Path.home() / ".cache"
        folder = home / "gridveil" / "compiled" / digest.hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _private_folder() -> Path | None:
    """Make a folder of this process's own, removed at its end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="gridveil-compiled-"))
    except OSError:
        return None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_SHARED = cache_folder()
_IS_SHARED = _SHARED is not None and (_SHARED / "complete").exists()
_FOLDER = _SHARED if _IS_SHARED else _private_folder()
"""A complete cache, only read, or one of our own."""
_compiled_here = False


def is_cached() -> bool:
    """Whether this version was compiled before, so that it starts at once."""
    return _compiled_here or _IS_SHARED


def mark_cached() -> None:
    """Remember that everything was compiled, and give it to later processes, whole."""
    global _compiled_here
    if _compiled_here or _IS_SHARED or _SHARED is None or _FOLDER is None:
        _compiled_here = True
        return
    _compiled_here = True
    with suppress(OSError):
        copy = Path(tempfile.mkdtemp(dir=_SHARED.parent, prefix=f".{_SHARED.name}-"))
        try:
            shutil.copytree(_FOLDER, copy, dirs_exist_ok=True)
            (copy / "complete").touch()
            copy.rename(_SHARED)  # fails where another process was faster
        except OSError:
            shutil.rmtree(copy, ignore_errors=True)


def compiled(function: F) -> F:
    """Compile a function at its first call, or take it from the cache."""
    return _compiled(function)


def compiled_inner(function: F) -> F:
    """Compile a function that only compiled code calls: without a way in from Python, faster."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled_threaded(function: F) -> F:
    """Compile a function that only compiled code calls, its `prange` loops on all threads."""
    return _compiled(function, parallel=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _keep_nothing(signature: object, code: object) -> None:
    """Take the place of Numba's way to add code to a cache, for one that is only read."""


def _compiled(function: F, **options: bool) -> F:
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(_FOLDER or "")
    try:
        jit: Any = numba.njit(cache=_FOLDER is not None, nogil=True, error_model="numpy", **options)  # type: ignore[call-overload]
        result: F = jit(function)
        if _IS_SHARED:
            cast(Any, result)._cache.save_overload = _keep_nothing
    finally:
        config.CACHE_DIR = before
    return result
