"""What a run went through, iteration by iteration."""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray


@dataclass(frozen=True, eq=False)
class History(ArrayRecord):
    """One number per iteration each; the first four are the columns `advance` fills."""

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

    def extended(self, more: "History") -> "History":
        """Return this history and then another."""
        columns = zip(vars(self).values(), vars(more).values(), strict=True)
        return History(*(np.concatenate(pair) for pair in columns))


def empty_history() -> History:
    """Return the history of a run that has not begun."""
    return History(*np.zeros((5, 0)))
