"""The coordinator's decision at the end of a window."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.opf.status import Status

_STATUS = (Status.CONVERGED, Status.ITERATION_LIMIT, Status.FAILED)
_CONTINUE = -1.0


@dataclass(frozen=True)
class Decision:
    """Continue with other penalties, or stop with the state of an iteration."""

    stop: int | None
    """The iteration whose state is the result; None to continue."""
    status: Status
    stagnates: bool = False
    may_fall: bool = False
    load_factor: float = 1.0
    generator_factor: float = 1.0
    floor: float = 0.0
    """The lowest penalty allowed, relative to the first."""
    rho: float = 0.0
    """The one penalty of the paper's policy."""

    def values(self) -> FloatArray:
        """Return it as the numbers of a message."""
        return np.array(
            [
                _CONTINUE if self.stop is None else self.stop,
                _STATUS.index(self.status),
                self.stagnates,
                self.may_fall,
                self.load_factor,
                self.generator_factor,
                self.floor,
                self.rho,
            ],
            dtype=float,
        )

    def is_possible(self, first: int, last: int) -> bool:
        """Whether it is valid at the end of a window of the iterations `first` + 1 to `last`."""
        if self.stop is not None:
            return first < self.stop <= last
        return min(self.load_factor, self.generator_factor) > 0 and min(self.floor, self.rho) >= 0

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Read it from the numbers of a message."""
        stop, status, stagnates, may_fall, load, generator, floor, rho = values.tolist()
        return cls(
            stop=None if stop < 0 else int(stop),
            status=_STATUS[int(status) % len(_STATUS)],
            stagnates=stagnates != 0,
            may_fall=may_fall != 0,
            load_factor=load,
            generator_factor=generator,
            floor=floor,
            rho=rho,
        )


DECISION_SIZE = len(fields(Decision))
"""Numbers in the message: one for each field."""
