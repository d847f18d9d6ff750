"""A ring buffer of vectors in a file: the last iterations of a member, to resume a killed process.

The file is mapped into memory, so what a process wrote remains when it dies. An iteration is valid
once its number is in the header, which is written after its vector.
"""

import hashlib
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError

_HEADER_SIZE = 8
"""Numbers before the vectors: the digest, the last iteration, and unused ones."""
_DIGEST_SIZE = 4
_LAST = _DIGEST_SIZE
"""Index of the last iteration."""
_NONE = -1.0
_NUMBER_BYTES = 8


class RingBuffer:
    """The vectors of the last iterations."""

    def __init__(self, path: Path, problem: bytes, length: int, count: int) -> None:
        """Open the file of a problem, or create it; refuse the file of another problem.

        Args:
            path: The file.
            problem: What distinguishes this problem from others.
            length: Numbers in a vector.
            count: Iterations that are kept.
        """
        digest = hashlib.sha256(problem).digest()
        header = np.frombuffer(digest, dtype="<u4")[:_DIGEST_SIZE].astype(float)
        size = _HEADER_SIZE + count * length
        try:
            if not path.exists():
                _create(path, header, size)
            if path.stat().st_size != _NUMBER_BYTES * size:
                raise GridveilError(_of_another_run(path))
            self._memory = np.memmap(path, dtype="<f8", mode="r+")
        except OSError as error:
            raise GridveilError(f"cannot write {path}: {error.strerror}") from error
        if not np.array_equal(self._memory[:_DIGEST_SIZE], header):
            raise GridveilError(_of_another_run(path))
        self._vectors = self._memory[_HEADER_SIZE:].reshape(count, length)

    @property
    def last(self) -> int | None:
        """The last iteration that was saved."""
        last = int(self._memory[_LAST])
        return None if last < 0 else last

    def save(self, iteration: int, vector: FloatArray) -> None:
        """Write the vector of an iteration over the oldest one."""
        self._vectors[iteration % len(self._vectors)] = vector
        self._memory[_LAST] = iteration

    def load(self, iteration: int) -> FloatArray:
        """Return the vector of one of the last iterations."""
        return np.array(self._vectors[iteration % len(self._vectors)])


def _create(path: Path, digest: FloatArray, size: int) -> None:
    """Create the file, readable by its owner only; it appears whole or not at all."""
    start = np.zeros(size)
    start[:_DIGEST_SIZE], start[_LAST] = digest, _NONE
    temporary = path.with_name(f".{path.name}.new")
    temporary.touch(mode=0o600)
    start.tofile(temporary)
    temporary.replace(path)


def _of_another_run(path: Path) -> str:
    return (
        f"{path} belongs to another run (other network, noise or settings); delete it or name "
        "another file"
    )
