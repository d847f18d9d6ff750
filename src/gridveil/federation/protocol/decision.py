"""What the coordinator says at the end of a window."""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.opf.status import Status

VERDICT_SIZE = 8
_STATUS = (Status.CONVERGED, Status.ITERATION_LIMIT, Status.FAILED)
_GO_ON = -1.0


@dataclass(frozen=True)
class Verdict:
    """Go on with other penalties, or stop with what an iteration had."""

    stop: int | None
    """The iteration that is the result, None to go on."""
    status: Status
    stagnates: bool = False
    may_fall: bool = False
    load_factor: float = 1.0
    generator_factor: float = 1.0
    floor: float = 0.0
    """Below what no penalty may be, relative to where it started."""
    rho: float = 0.0
    """The one penalty of the paper's policy."""

    def values(self) -> FloatArray:
        """Return it as the numbers of a message."""
        return np.array(
            [
                _GO_ON if self.stop is None else self.stop,
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
        """Whether it can be meant, at the end of a window after iteration `first` up to `last`."""
        if self.stop is not None:
            return first < self.stop <= last
        return min(self.load_factor, self.generator_factor) > 0 and min(self.floor, self.rho) >= 0

    @classmethod
    def of(cls, values: FloatArray) -> "Verdict":
        """Read it from the numbers of a message."""
        stop, status, stagnates, may_fall, load, generator, floor, rho = values.tolist()
        return cls(
            None if stop < 0 else int(stop),
            _STATUS[int(status) % len(_STATUS)],
            stagnates != 0,
            may_fall != 0,
            load,
            generator,
            floor,
            rho,
        )
