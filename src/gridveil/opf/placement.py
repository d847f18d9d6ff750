"""Where the arrays of a program are: in memory, or where a subclass has them (on a GPU)."""

import math
from collections.abc import Sequence
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
        flat = points.reshape(math.prod(points.shape[:-1]), points.shape[-1])
        return (matrix @ flat.T).T.reshape(*points.shape[:-1], matrix.shape[0])

    def release(self) -> None:
        """Give memory that nothing uses back to others; only between two solves."""


HOST = Placement()


def joined(parts: Sequence[Any], axis: int = -1) -> Any:
    """Return arrays one after the other along an axis, wherever they are.

    CuPy's own function sends addresses to the GPU, which it cannot do while a graph is recorded.
    """
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis=axis)
    lengths = [part.shape[axis] for part in parts]
    shape = list(parts[0].shape)
    shape[axis] = sum(lengths)
    out = np.empty_like(parts[0], dtype=float, shape=tuple(shape))
    before = (slice(None),) * (axis % len(shape))
    first = 0
    for part, length in zip(parts, lengths, strict=True):
        out[(*before, slice(first, first + length))] = part
        first += length
    return out


def stacked(parts: Sequence[Any], axis: int = 0) -> Any:
    """Return arrays of one shape side by side along a new axis, wherever they are."""
    return joined([np.expand_dims(part, axis) for part in parts], axis)
