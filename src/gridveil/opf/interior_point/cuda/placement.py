"""Arrays on the current GPU."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.opf.interior_point.cuda.kernels import launch
from gridveil.opf.interior_point.cuda.recording import memory_of_recordings
from gridveil.opf.placement import Placement


class GPUPlacement(Placement):
    """On the current GPU of CuPy, which must be installed."""

    def __init__(self) -> None:
        """Take CuPy as the array module."""
        import cupy

        self.xp = cupy

    def array(self, host: Any) -> Any:
        """Return an array of NumPy there."""
        return self.xp.asarray(host)

    def host(self, array: Any) -> Any:
        """Return an array as one of NumPy."""
        return self.xp.asnumpy(array)

    def release(self) -> None:
        """Give memory that nothing uses back to others; only between two solves."""
        self.xp.get_default_memory_pool().free_all_blocks()
        memory_of_recordings().free_all_blocks()

    def sparse(self, matrix: Any) -> "SparseRows":
        """Return a sparse matrix of SciPy there, by rows."""
        entries = np.arange(matrix.nnz)
        start, column, entry = (
            self.array(np.asarray(part, np.int32))
            for part in (matrix.indptr, matrix.indices, entries)
        )
        return SparseRows(matrix.shape, start, column, entry, self.array(matrix.data))

    def product(self, matrix: "SparseRows", points: Any) -> Any:
        """Return a sparse matrix times each of the points, along their last axis."""
        xp, (rows, columns) = self.xp, matrix.shape
        count = math.prod(points.shape[:-1])
        flat = xp.ascontiguousarray(points.reshape(count, columns))
        out = xp.empty((count, rows))
        # The same values for all points: no step from one to the next.
        launch(
            "times", out, rows, columns, matrix.start, matrix.column, matrix.entry, 0,
            matrix.values, flat, out,
        )  # fmt: skip
        return out.reshape(*points.shape[:-1], rows)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """A sparse matrix by rows."""

    shape: tuple[int, int]
    start: Any
    column: Any
    entry: Any
    values: Any
