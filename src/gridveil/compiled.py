"""Numba compilation with a cache that is never stale and never written twice.

To decide whether its cache is stale, Numba looks only at the file of a function, not at the
functions it calls. So the folder of a cache is named after the contents of the whole package that
uses it.

Nor does Numba expect two processes to write to one cache: each takes the next free number for its
code, and one then runs the code of the other in place of its own. So a process either reads a cache
that is complete and never written again, or has one of its own.
"""

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite.binding import get_host_cpu_name  # type: ignore[import-untyped]

F = TypeVar("F", bound=Callable[..., Any])


def cache_folder(name: str, package: Path) -> Path | None:
    """Return the folder of a package's compiled code, for this CPU; None if there is none.

    Numba accepts code only for the same path and time of the source, so these are part of the name.
    If it could not write to the folder, Numba would use one beside the source.
    """
    versions = f"{numba.__version__} {_cuda_version()} {sys.version} {get_host_cpu_name()}"
    digest = hashlib.sha256(versions.encode())
    for source in sorted(package.rglob("*.py")):
        digest.update(f"{source} {source.stat().st_mtime_ns} ".encode() + source.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(base) if base else Path.home() / ".cache"
        folder = home / "gridveil" / "compiled" / f"{digest.hexdigest()[:16]}-{name}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


class CodeCache:
    """The compiled code of one part of a package: complete and read-only, or private."""

    def __init__(self, name: str, package: Path) -> None:
        """Open the cache of this name, or begin one in a private folder of this process."""
        self._shared = cache_folder(name, package)
        self._is_read = self._shared is not None and (self._shared / "complete").exists()
        self._folder = self._shared if self._is_read else _private_folder()
        self._compiled_here = False

    @property
    def is_ready(self) -> bool:
        """Whether everything has been compiled, so that nobody has to wait."""
        return self._compiled_here or self._is_read

    def complete(self) -> None:
        """Mark the code as complete, and publish it to later processes in one step."""
        if self.is_ready:
            return
        self._compiled_here = True
        if self._shared is None or self._folder is None or not any(self._folder.rglob("*.nbi")):
            return  # no folder to share, or no code: NUMBA_DISABLE_JIT is set
        with suppress(OSError):
            parent, name = self._shared.parent, self._shared.name
            copy = Path(tempfile.mkdtemp(dir=parent, prefix=f".{name}-"))
            try:
                shutil.copytree(self._folder, copy, dirs_exist_ok=True)
                (copy / "complete").touch()
                copy.rename(self._shared)  # fails where another process was faster
            except OSError:
                shutil.rmtree(copy, ignore_errors=True)

    def compile(self, function: F, **options: bool) -> F:
        """Compile a function at its first call, or take it from the cache."""
        jit: Any = partial(numba.njit, nogil=True, error_model="numpy", **options)
        result: F = self._cached(numba.config, lambda cache: jit(cache=cache)(function))
        return result

    def compile_kernel(self, function: F) -> F:
        """Compile a kernel for a GPU at its first launch, or take it from the cache."""
        from numba import cuda
        from numba.cuda.core import config

        kernel: F = self._cached(config, lambda cache: cuda.jit(cache=cache)(function))
        return kernel

    def _cached(self, config: Any, compiled: Callable[[bool], Any]) -> Any:
        """Let Numba cache what it compiles in our folder."""
        before, config.CACHE_DIR = config.CACHE_DIR, str(self._folder or "")
        try:
            result = compiled(self._folder is not None)
        finally:
            config.CACHE_DIR = before
        cache = getattr(result, "_cache", None)  # None with NUMBA_DISABLE_JIT
        if self._is_read and cache is not None:
            cache.save_overload = _save_nothing
        return result


def _cuda_version() -> str:
    try:
        return version("numba-cuda")
    except PackageNotFoundError:
        return ""


def _private_folder() -> Path | None:
    """Make a private folder of this process, removed at its end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="gridveil-compiled-"))
    except OSError:
        return None
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _save_nothing(signature: object, code: object) -> None:
    """Replace Numba's function that adds code to a cache, for one that is read-only."""
