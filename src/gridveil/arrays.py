"""Array types used everywhere, and frozen records of arrays."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
StrArray = NDArray[np.str_]
ComplexArray = NDArray[np.complex128]
Index = int | np.integer[Any]


class ArrayRecord:
    """Base of frozen dataclasses that hold arrays: read-only, and equal when every array is."""

    def __post_init__(self) -> None:
        for spec in fields(self):  # type: ignore[arg-type]
            value = getattr(self, spec.name)
            if isinstance(value, np.ndarray) and value.flags.writeable:
                frozen = value.copy()
                frozen.setflags(write=False)
                object.__setattr__(self, spec.name, frozen)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            _equal(getattr(self, spec.name), getattr(other, spec.name))
            for spec in fields(self)  # type: ignore[arg-type]
            if spec.compare
        )

    __hash__ = None  # type: ignore[assignment]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)
