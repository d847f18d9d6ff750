"""The filter of Wächter and Biegler: which points are better than all that were kept in mind.

A point is judged by its infeasibility θ and its barrier function φ (Mathematical Programming 106,
2006, section 2.3). All arrays are numbers of instances, in memory.
"""

import numpy as np

from gridveil.arrays import BoolArray, FloatArray

GAMMA_THETA, GAMMA_PHI = 1e-5, 1e-8
_DELTA, _S_THETA, _S_PHI = 1.0, 1.1, 2.3
_ETA = 1e-8
_NOISE = 10 * 2.2e-16
_LEAST_SHARE = 0.05


class Filter:
    """The filters of a batch, and the rules of acceptance."""

    def __init__(self, theta: FloatArray) -> None:
        """Begin with empty filters at points with these infeasibilities."""
        self._least = 1e-4 * np.maximum(1.0, theta)
        self._most = 1e4 * np.maximum(1.0, theta)
        self._theta = np.full((len(theta), 1), np.inf)
        self._phi = np.full((len(theta), 1), np.inf)

    def keep(self, which: BoolArray) -> None:
        """Go on with some of the instances."""
        self._least, self._most = self._least[which], self._most[which]
        self._theta, self._phi = self._theta[which], self._phi[which]

    def clear(self, which: BoolArray) -> None:
        """Forget the points of the instances that a mask names."""
        self._theta = np.where(which[:, None], np.inf, self._theta)
        self._phi = np.where(which[:, None], np.inf, self._phi)
        if not np.isfinite(self._theta).any():
            self._theta, self._phi = self._theta[:, :1], self._phi[:, :1]

    def add(self, which: BoolArray, theta: FloatArray, phi: FloatArray) -> None:
        """Forbid what is no better than these points, for the instances that a mask names."""
        if not which.any():
            return
        entries = ((1 - GAMMA_THETA) * theta, phi - GAMMA_PHI * theta)
        new_theta, new_phi = (np.where(which, entry, np.inf)[:, None] for entry in entries)
        self._theta = np.concatenate([self._theta, new_theta], axis=1)
        self._phi = np.concatenate([self._phi, new_phi], axis=1)

    def accepts(
        self,
        alpha: FloatArray,
        slope: FloatArray,
        theta: FloatArray,
        phi: FloatArray,
        new_theta: FloatArray,
        new_phi: FloatArray,
    ) -> tuple[BoolArray, BoolArray]:
        """Return where new points are acceptable, and where by a fall of φ alone (type f)."""
        noise = _NOISE * np.maximum(1.0, np.abs(phi))
        downhill = np.where(slope < 0, -slope, 0.0)
        switching = (slope < 0) & (alpha * downhill**_S_PHI > _DELTA * theta**_S_THETA)
        by_fall = switching & (theta <= self._least)
        falls = new_phi - phi - noise <= _ETA * alpha * slope
        better = (new_theta <= (1 - GAMMA_THETA) * theta) | (
            new_phi - noise <= phi - GAMMA_PHI * theta
        )
        fits = (new_theta <= self._most) & np.where(by_fall, falls, better)
        allowed = (new_theta[:, None] <= self._theta) | ((new_phi - noise)[:, None] <= self._phi)
        finite = np.isfinite(new_theta) & np.isfinite(new_phi)
        return finite & fits & allowed.all(axis=1), by_fall

    def least_step(self, slope: FloatArray, theta: FloatArray) -> FloatArray:
        """Return the step length below which no point will be accepted."""
        downhill = np.where(slope < 0, -slope, 1.0)
        share = np.where(
            slope < 0, np.minimum(GAMMA_THETA, GAMMA_PHI * theta / downhill), GAMMA_THETA
        )
        switch = _DELTA * theta**_S_THETA / downhill**_S_PHI
        near = (slope < 0) & (theta <= self._least)
        least: FloatArray = _LEAST_SHARE * np.where(near, np.minimum(share, switch), share)
        return least
