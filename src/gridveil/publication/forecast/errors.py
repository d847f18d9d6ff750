"""How far released loads are from the true ones: figures of one release, over simulated ones."""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.publication.forecast.statistics import Spread

_MOST = 0.9
"""The quantile of the errors of loads that stands for nine loads of ten."""


@dataclass(frozen=True)
class LoadErrors:
    """How far the loads of one release are off: |ΔS| of each load, and P of all together.

    None where nothing can be said: no per cent of loads that are all 0.
    """

    median_mva: Spread | None
    """Half of the loads are closer than this."""
    most_mva: Spread | None
    """Nine loads of ten are closer than this."""
    median_relative: Spread | None
    """The same as a part of |S| of the load; loads of 0 do not count."""
    most_relative: Spread | None
    total_mw: Spread | None
    """The error of P of all loads together."""
    total_relative: Spread | None
    negative: Spread | None
    """The share of loads with P above 0 that come out below 0."""

    @classmethod
    def of(cls, true: FloatArray, released: FloatArray, base_mva: float) -> "LoadErrors":
        """Return the figures of releases.

        Args:
            true: P and Q of the loads in p.u., of shape (loads, 2).
            released: The same in every release, of shape (releases, loads, 2).
            base_mva: The base of per unit.
        """
        size = np.hypot(*true.T)
        errors = np.hypot(*np.moveaxis(released - true, -1, 0))
        relative = errors[:, size > 0] / size[size > 0]
        total = float(true[:, 0].sum())
        of_total = np.abs(released[:, :, 0].sum(axis=1) - total)
        drawing = true[:, 0] > 0
        return cls(
            _over_loads(errors * base_mva, 0.5),
            _over_loads(errors * base_mva, _MOST),
            _over_loads(relative, 0.5),
            _over_loads(relative, _MOST),
            Spread.of(of_total * base_mva),
            Spread.of(of_total / abs(total)) if total else None,
            Spread.of((released[:, drawing, 0] < 0).mean(axis=1)) if drawing.any() else None,
        )


def _over_loads(values: FloatArray, quantile: float) -> Spread | None:
    """Return the spread of a quantile over the loads of each release."""
    return Spread.of(np.quantile(values, quantile, axis=1)) if values.size else None
