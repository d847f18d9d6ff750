"""The operating points of consecutive hours, as arrays with a row for each hour."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint


@dataclass(frozen=True, eq=False, repr=False)
class PointSeries(ArrayRecord):
    """Voltages and dispatch of every hour, in p.u. and radians; an hour without has NaN.

    They determine the loads, so no text form shows them.
    """

    v: FloatArray
    """(hours, buses)"""
    theta: FloatArray
    p: FloatArray
    """(hours, generators): active outputs."""
    q: FloatArray

    @classmethod
    def of(cls, points: Sequence[OperatingPoint | None], network: Network) -> Self:
        """Return the series of points; None stands for an hour that has none."""
        sizes = dict.fromkeys(("v", "theta"), len(network.buses))
        sizes |= dict.fromkeys(("p", "q"), len(network.generators))
        return cls(
            **{
                name: np.array(
                    [np.full(size, np.nan) if one is None else getattr(one, name) for one in points]
                ).reshape(len(points), size)
                for name, size in sizes.items()
            }
        )

    def part(self, hours: slice) -> "PointSeries":
        """Return the points of some of the hours."""
        return PointSeries(self.v[hours], self.theta[hours], self.p[hours], self.q[hours])

    def at(self, hour: int) -> OperatingPoint:
        """Return the point of an hour."""
        return OperatingPoint(self.v[hour], self.theta[hour], self.p[hour], self.q[hour])

    def __len__(self) -> int:
        return len(self.v)

    def __repr__(self) -> str:
        return f"PointSeries({len(self)} hours)"
