"""The history of a run: residuals, penalty, objective and cost, iteration by iteration."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

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
    """Σ w |Ŝ − S̃|², in p.u.²; w = 1 where all loads count alike."""
    cost: FloatArray
    """Cost of the generators' dispatch, in $/h."""

    def __len__(self) -> int:
        return len(self.primal)


def concatenated(histories: Sequence[History]) -> History:
    """Return the history of consecutive parts of a run as one."""
    columns = zip(*(vars(history).values() for history in histories), strict=True)
    return History(*(np.concatenate(column) for column in columns))


def empty_history() -> History:
    """Return an empty history."""
    return History(*(np.zeros(0) for _ in fields(History)))
