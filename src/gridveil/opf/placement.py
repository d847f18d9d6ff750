"""Where the arrays of a program are: in memory (NumPy, SciPy) or on a GPU (CuPy)."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse


@dataclass(frozen=True)
class Placement:
    """An array module, and the module of sparse matrices that goes with it."""

    xp: ModuleType
    """numpy or cupy."""
    sparse_module: ModuleType
    """scipy.sparse or cupyx.scipy.sparse."""

    def array(self, host: Any) -> Any:
        """Return an array of NumPy there."""
        return self.xp.asarray(host)

    def sparse(self, matrix: Any) -> Any:
        """Return a sparse matrix of SciPy there, by rows."""
        if self.xp is np:
            return matrix
        parts = tuple(self.array(part) for part in (matrix.data, matrix.indices, matrix.indptr))
        return self.sparse_module.csr_matrix(parts, shape=matrix.shape)

    def host(self, array: Any) -> Any:
        """Return an array as one of NumPy."""
        return array if self.xp is np else self.xp.asnumpy(array)

    def release(self) -> None:
        """Give memory that nothing uses back to others."""
        if self.xp is not np:
            self.xp.get_default_memory_pool().free_all_blocks()


HOST = Placement(np, scipy.sparse)


def gpu() -> Placement:
    """Return the placement on the current GPU; CuPy must be installed."""
    import cupy
    import cupyx.scipy.sparse

    return Placement(cupy, cupyx.scipy.sparse)
