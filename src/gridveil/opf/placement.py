"""Where the arrays of a program are: in memory, or where a subclass has them (on a GPU)."""

from typing import Any

import numpy as np


class Placement:
    """In memory: NumPy and SciPy."""

    xp: Any = np
    """The array module."""

    def array(self, host: Any) -> Any:
        """Return an array of NumPy there."""
        return np.asarray(host)

    def host(self, array: Any) -> Any:
        """Return an array as one of NumPy."""
        return array

    def sparse(self, matrix: Any) -> Any:
        """Return a sparse matrix of SciPy there, for `product`."""
        return matrix

    def product(self, matrix: Any, points: Any) -> Any:
        """Return a sparse matrix times each of the points, along their last axis."""
        flat = points.reshape(-1, points.shape[-1])
        return (matrix @ flat.T).T.reshape(*points.shape[:-1], matrix.shape[0])


HOST = Placement()
