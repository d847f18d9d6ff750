"""The last iterations of a member on disk, so that a killed one goes on as if nothing had happened.

The file is memory: a process that dies leaves what it wrote. A slot counts once its number is
written, after its contents.
"""

import hashlib
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError

_HEADER = 8
"""Numbers before the slots: four of the digest, the last iteration, and room."""
_LAST = 4
_NONE = -1.0


class Slots:
    """A ring of vectors, one to an iteration."""

    def __init__(self, path: Path, problem: bytes, length: int, count: int) -> None:
        """Open the file of this problem, or begin it; refuse that of another."""
        digest = np.frombuffer(hashlib.sha256(problem).digest(), dtype="<u4")[:_LAST].astype(float)
        size = _HEADER + count * length
        try:
            fresh = not path.exists()
            if fresh:
                start = np.zeros(size)
                start[:_LAST], start[_LAST] = digest, _NONE
                temporary = path.with_name(f".{path.name}.new")
                temporary.touch(mode=0o600)
                start.tofile(temporary)
                temporary.replace(path)
            if path.stat().st_size != 8 * size:
                raise GridveilError(_other(path))
            self._memory = np.memmap(path, dtype="<f8", mode="r+")
        except OSError as error:
            raise GridveilError(f"cannot write {path}: {error.strerror}") from error
        if not np.array_equal(self._memory[:_LAST], digest):
            raise GridveilError(_other(path))
        self._slots = self._memory[_HEADER:].reshape(count, length)

    @property
    def last(self) -> int | None:
        """The last iteration that was saved."""
        last = int(self._memory[_LAST])
        return None if last < 0 else last

    def save(self, iteration: int, vector: FloatArray) -> None:
        """Write an iteration, over one that is no longer needed."""
        self._slots[iteration % len(self._slots)] = vector
        self._memory[_LAST] = iteration

    def load(self, iteration: int) -> FloatArray:
        """Return an iteration that is still there."""
        return np.array(self._slots[iteration % len(self._slots)])


def _other(path: Path) -> str:
    return (
        f"{path} belongs to another run (other network, noise or settings); delete it or name "
        "another file"
    )
