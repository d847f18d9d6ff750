"""The restored loads of consecutive hours, and how each hour was found."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.opf.point_series import PointSeries


class Ending(IntEnum):
    """How an hour was restored, in the order in which ways are tried."""

    KEPT = 0
    """The loads work as they are, at the dispatch that was given."""
    TOGETHER = 1
    """In one batch with other hours of its block."""
    WARM = 2
    """From the hour before."""
    COLD = 3
    """Without a start."""
    PROJECTED = 4
    """From loads that work, near the private ones."""
    LEFT_OUT = 5
    """No way led to a network that works: the hour is named and has no loads."""

    @property
    def words(self) -> str:
        """How to say it."""
        return _WORDS[self]


_WORDS = {
    Ending.KEPT: "kept",
    Ending.TOGETHER: "together",
    Ending.WARM: "warm",
    Ending.COLD: "cold",
    Ending.PROJECTED: "projected",
    Ending.LEFT_OUT: "left out",
}


@dataclass(frozen=True, eq=False, repr=False)
class RestoredSeries(ArrayRecord):
    """The loads Ŝ_t of every hour with the dispatch that serves them, in p.u.

    An hour that was left out has NaN everywhere.
    """

    p: FloatArray
    """(hours, loads)"""
    q: FloatArray
    points: PointSeries
    endings: IntArray
    """An `Ending` for each hour."""
    violations: FloatArray
    """The largest violation of each hour, recomputed from the network, in p.u. or radians."""
    displacement: FloatArray
    """‖Ŝ_t − S̃_t‖₂ of each hour."""
    iterations: IntArray
    """Of the solver or the agents, all attempts together."""

    @property
    def hours(self) -> int:
        """How many hours there are."""
        return len(self.endings)

    @property
    def left_out(self) -> IntArray:
        """The hours, from 0, that could not be restored."""
        return np.flatnonzero(self.endings == Ending.LEFT_OUT)

    def without(self, hours: Sequence[int]) -> "RestoredSeries":
        """Return the series in which some hours are left out."""
        if not hours:
            return self

        def cleared(values: FloatArray) -> FloatArray:
            copy = values.copy()
            copy[hours] = np.nan
            return copy

        endings = self.endings.copy()
        endings[hours] = Ending.LEFT_OUT
        points = PointSeries(*(cleared(getattr(self.points, f.name)) for f in fields(PointSeries)))
        return RestoredSeries(
            cleared(self.p),
            cleared(self.q),
            points,
            endings,
            cleared(self.violations),
            cleared(self.displacement),
            self.iterations,
        )

    def counts(self) -> dict[str, int]:
        """Return how many hours ended in each way."""
        return {ending.words: int((self.endings == ending).sum()) for ending in Ending}

    def __repr__(self) -> str:
        return f"RestoredSeries({self.hours} hours, {len(self.left_out)} left out)"


def joined(blocks: Sequence[RestoredSeries]) -> RestoredSeries:
    """Return the series of consecutive blocks."""
    points = PointSeries(
        *(np.concatenate([getattr(b.points, f.name) for b in blocks]) for f in fields(PointSeries))
    )
    arrays = {
        f.name: np.concatenate([getattr(block, f.name) for block in blocks])
        for f in fields(RestoredSeries)
        if f.name != "points"
    }
    return RestoredSeries(points=points, **arrays)
