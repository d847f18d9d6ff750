"""What a run went through, iteration by iteration."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray


@dataclass(frozen=True, eq=False)
class History(ArrayRecord):
    """One number per iteration each."""

    primal: FloatArray
    """The largest |x − z|, in p.u. (radians for angles)."""
    dual: FloatArray
    """The largest ρ|Δz|."""
    rho: FloatArray
    """The penalty; the geometric mean of all where they differ."""
    objective: FloatArray
    """‖Ŝ − S̃‖², in p.u.²."""
    cost: FloatArray
    """Cost of the generators' dispatch, in $/h."""

    def __len__(self) -> int:
        return len(self.primal)


def joined(pieces: Sequence[History]) -> History:
    """Return the history of several stretches of a run, one after the other."""
    columns = zip(*(vars(piece).values() for piece in pieces), strict=True)
    return History(*(np.concatenate(column) for column in columns))


def empty_history() -> History:
    """Return the history of a run that has not begun."""
    return History(*np.zeros((5, 0)))
