"""Public limits of loads: consumers never feed power back, and keep a power factor.

For the load of a consumer:

    P ≥ 0, and with a lowest power factor φ also |Q| ≤ P·tan(arccos φ), lagging or leading

Which loads are consumers, and φ, are public by declaration. The limits hold twice: private loads
are moved to the nearest within them, and the fidelity phase keeps them while it restores.

No privacy is lost: both are functions of the private loads and of public numbers alone.
"""

import math
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, BoolArray, FloatArray
from gridveil.errors import GridveilError


@dataclass(frozen=True, eq=False)
class LoadLimits(ArrayRecord):
    """Which loads are consumers, and the lowest power factor that they have.

    Example:
        >>> import numpy as np
        >>> from gridveil import LoadLimits
        >>> limits = LoadLimits(np.array([True, True, False]), power_factor=0.8)
        >>> limits.nearest(np.array([[-1.0, 0.0], [1.0, 2.0], [-1.0, 5.0]])).round(3).tolist()
        [[0.0, 0.0], [1.6, 1.2], [-1.0, 5.0]]
    """

    consumers: BoolArray
    """Whether each load is a consumer."""
    power_factor: float | None = None
    """The lowest that a consumer has; None where only P ≥ 0 is asked for."""

    def __post_init__(self) -> None:
        """Refuse a power factor that is none."""
        super().__post_init__()
        if self.power_factor is not None and not 0 < self.power_factor < 1:
            raise GridveilError(
                f"power factor: {self.power_factor:g} must be above 0 and below 1; 0.9 keeps |Q| "
                "within 48 % of P"
            )

    @property
    def slope(self) -> float:
        """The largest |Q|/P of a consumer: tan(arccos φ), infinite without a power factor."""
        factor = self.power_factor
        return math.inf if factor is None else math.sqrt((1 - factor) * (1 + factor)) / factor

    @property
    def p_min(self) -> FloatArray:
        """The least P of each load."""
        return np.where(self.consumers, 0.0, -np.inf)

    @property
    def slopes(self) -> FloatArray:
        """The largest |Q|/P of each load."""
        return np.where(self.consumers, self.slope, np.inf)

    def nearest(self, loads: FloatArray) -> FloatArray:
        """Return the nearest loads within the limits; those within them stay as they are.

        A load outside the power factors moves at right angles to their edge |Q| = slope·P, or to 0.
        Distances of P and Q count alike.

        Args:
            loads: P and Q of every load, of shape (loads, 2), or of several draws of them.
        """
        p, q = loads[..., 0], loads[..., 1]
        near_p, near_q = np.maximum(p, 0.0), q
        if self.power_factor is not None:
            slope = self.slope
            on_edge = np.maximum((p + slope * np.abs(q)) / (1 + slope**2), 0.0)
            outside = np.abs(q) > slope * p
            near_p = np.where(outside, on_edge, p)
            near_q = np.where(outside, np.copysign(slope * on_edge, q), q)
        near = np.stack([near_p, near_q], axis=-1) + 0.0  # no zero with a sign
        return np.where(self.consumers[:, None], near, loads)

    def excess(self, loads: FloatArray) -> float:
        """Return by how much the loads break the limits at most, in p.u.; 0 if they do not."""
        p, q = loads[self.consumers].T
        worst = float(np.max(-p, initial=0.0))
        if self.power_factor is None:
            return worst
        return max(worst, float(np.max(np.abs(q) - self.slope * p, initial=0.0)))


def nearest_loads_within(limits: LoadLimits | None, loads: FloatArray) -> FloatArray:
    """Return the nearest loads within limits, if there are any."""
    return loads if limits is None else limits.nearest(loads)
