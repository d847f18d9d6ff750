"""The state of a run: the blocks that are done, on disk, so that a killed run goes on with them.

It is a hidden folder beside the output, for its owner's eyes. What it holds follows from private
loads and public numbers alone: no raw load is ever in it. It belongs to one draw and one plan, by a
digest of both, which stands in each of them; the blocks of another are removed, and nothing else is
that may be in the folder. That of the release appears when all blocks are there, and the state is
then removed. A lock in it keeps a second run to one output from starting: both would solve the
same.
"""

import fcntl
import hashlib
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gridveil.errors import GridveilError
from gridveil.fidelity.series.result import RestoredSeries
from gridveil.files import write_atomically
from gridveil.opf.point_series import PointSeries
from gridveil.publication.series.block import SolvedBlock

_DIGEST, _LOCK = "digest", "lock"
_FILES = (_DIGEST, "block-*.npz", f".{_DIGEST}.*", ".block-*")
"""Those of a state, and those that were being written when a run was killed."""


class RunState:
    """Blocks on disk, or nowhere if there is no path."""

    def __init__(self, path: Path | None, of: Iterable[bytes]) -> None:
        """Open the state of a run.

        Args:
            path: The folder; None keeps nothing.
            of: What blocks depend on: private draw and plan.
        """
        self._path = path
        self._digest = b""
        if path is None:
            return
        digest = hashlib.sha256()
        for part in of:
            digest.update(len(part).to_bytes(8, "big") + part)
        self._digest = digest.digest()
        wanted = self._digest.hex().encode()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_of(wanted):
                _remove_files(path)
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
                found = dict(arrays)
                is_own = found.pop(_DIGEST).tobytes() == self._digest
                return _block_of(found) if is_own else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):  # made again
            return None

    def save(self, block: int, solved: SolvedBlock) -> None:
        """Keep a block; the file appears whole or not at all."""
        if self._path is None:
            return
        data = io.BytesIO()
        arrays: dict[str, Any] = {_DIGEST: np.frombuffer(self._digest, dtype=np.uint8)}
        np.savez(data, **arrays, **_arrays_of(solved))
        write_atomically(self._path / _name(block), data.getvalue(), private=True)

    def remove(self) -> None:
        """Remove the state, when the release is written; what another run has begun with stays."""
        if self._path is None or not self._path.exists():
            return
        with suppress(GridveilError, OSError), locked_state(self._path):
            _remove_files(self._path)


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
        with suppress(OSError):  # what is not ours stays
            if not any(_files(path)):
                (path / _LOCK).unlink()
                path.rmdir()
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


def _files(path: Path) -> Iterator[Path]:
    for pattern in _FILES:
        yield from path.glob(pattern)


def _remove_files(path: Path) -> None:
    """Remove the files of a state, but not the lock."""
    for file in list(_files(path)):
        file.unlink(missing_ok=True)


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
