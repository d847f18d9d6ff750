"""The state of a run: the blocks that are done, on disk, so that a killed run goes on with them.

It is a hidden folder beside the output, for its owner's eyes. What it holds follows from private
loads and public numbers alone: no raw load is ever in it. It belongs to one draw and one plan, by a
digest of both; the blocks of another are removed. The folder of the release appears when all blocks
are there, and the state is then removed. A lock in it keeps a second run to one output from
starting: both would draw and solve the same, and one would take the other's blocks away.
"""

import fcntl
import hashlib
import io
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.errors import GridveilError
from gridveil.fidelity.series.result import RestoredSeries
from gridveil.files import write_atomically
from gridveil.opf.point_series import PointSeries
from gridveil.publication.series.block import SolvedBlock

_DIGEST, _LOCK = "digest", "lock"


class RunState:
    """Blocks on disk, or nowhere if there is no path."""

    def __init__(self, path: Path | None, of: Iterable[bytes]) -> None:
        """Open the state of a run.

        Args:
            path: The folder; None keeps nothing.
            of: What blocks depend on: private draw and plan.
        """
        self._path = path
        if path is None:
            return
        digest = hashlib.sha256()
        for part in of:
            digest.update(len(part).to_bytes(8, "big") + part)
        wanted = digest.hexdigest().encode()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_of(wanted):
                _remove_all(path)
        except OSError as error:
            raise GridveilError(f"cannot write {path}: {error.strerror}") from error
        write_atomically(path / _DIGEST, wanted, private=True)

    def _is_of(self, wanted: bytes) -> bool:
        assert self._path is not None
        try:
            return (self._path / _DIGEST).read_bytes() == wanted
        except OSError:
            return False

    def load(self, block: int) -> SolvedBlock | None:
        """Return a block that is done; None if it is not."""
        if self._path is None:
            return None
        try:
            with np.load(self._path / _name(block), allow_pickle=False) as arrays:
                return _block_of(dict(arrays))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, EOFError):  # not ours: made again
            return None

    def save(self, block: int, solved: SolvedBlock) -> None:
        """Keep a block; the file appears whole or not at all."""
        if self._path is None:
            return
        data = io.BytesIO()
        np.savez(data, **_arrays_of(solved))
        write_atomically(self._path / _name(block), data.getvalue(), private=True)

    def remove(self) -> None:
        """Remove the state, when the release is written; what another run has begun with stays."""
        if self._path is None or not self._path.exists():
            return
        with suppress(GridveilError), locked_state(self._path):
            _remove_all(self._path)


NO_STATE = RunState(None, ())
"""Keeps nothing."""


def state_folder(output: Path) -> Path:
    """Return where the state of a run is kept that writes to an output folder."""
    return output.with_name(f".{output.name}.series")


@contextmanager
def locked_state(path: Path | None) -> Iterator[None]:
    """Keep other runs from the state of a run; a process that ends in any way lets go of it.

    Raises:
        GridveilError: Another run has it.
    """
    if path is None:
        yield
        return
    lock = _lock(path)
    try:
        yield
    finally:
        with suppress(OSError):
            if [one.name for one in path.iterdir()] == [_LOCK]:
                shutil.rmtree(path)
        os.close(lock)


def _lock(path: Path) -> int:
    """Return the open file of the lock."""
    while True:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise GridveilError(f"cannot write {path}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), (path / _LOCK).stat()):
                return lock
        except FileNotFoundError:  # its run has ended and removed it
            pass
        except BlockingIOError:
            os.close(lock)
            raise GridveilError(
                f"another run to the same output is at work and has {path}: wait until it ends, "
                "or name another output; nothing was drawn or charged here"
            ) from None
        os.close(lock)


def _remove_all(path: Path) -> None:
    """Remove what is kept, but not the lock."""
    for one in path.iterdir():
        if one.name != _LOCK:
            one.unlink()


def _name(block: int) -> str:
    return f"block-{block:06}.npz"


def _arrays_of(solved: SolvedBlock) -> dict[str, Any]:
    restored = solved.restored
    arrays = {f"point_{f.name}": getattr(restored.points, f.name) for f in fields(PointSeries)}
    arrays |= {
        f"restored_{f.name}": getattr(restored, f.name)
        for f in fields(RestoredSeries)
        if f.name != "points"
    }
    return arrays | {
        f.name: getattr(solved, f.name) for f in fields(SolvedBlock) if f.name != "restored"
    }


def _block_of(arrays: dict[str, Any]) -> SolvedBlock:
    points = PointSeries(*(arrays.pop(f"point_{f.name}") for f in fields(PointSeries)))
    parts = {
        name.removeprefix("restored_"): arrays.pop(name)
        for name in list(arrays)
        if name.startswith("restored_")
    }
    return SolvedBlock(restored=RestoredSeries(points=points, **parts), **arrays)
