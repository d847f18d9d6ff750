"""The filter of Wächter and Biegler: which points are better than all that were kept in mind.

A point is judged by its infeasibility θ and its barrier function φ (Mathematical Programming 106,
2006, section 2.3). All arrays have an axis of instances first.
"""

from typing import Any

from gridveil.opf.interior_point.backend import Array

GAMMA_THETA, GAMMA_PHI = 1e-5, 1e-8
_DELTA, _S_THETA, _S_PHI = 1.0, 1.1, 2.3
_ETA = 1e-8
_NOISE = 10 * 2.2e-16
_LEAST_SHARE = 0.05


class Filter:
    """The filters of a batch, and the rules of acceptance."""

    def __init__(self, xp: Any, theta: Array) -> None:
        """Begin with empty filters at points with these infeasibilities."""
        self._xp = xp
        self._least = 1e-4 * xp.maximum(1.0, theta)
        self._most = 1e4 * xp.maximum(1.0, theta)
        self._theta = xp.full((len(theta), 1), xp.inf)
        self._phi = xp.full((len(theta), 1), xp.inf)

    def keep(self, which: Array) -> None:
        """Go on with some of the instances."""
        self._least, self._most = self._least[which], self._most[which]
        self._theta, self._phi = self._theta[which], self._phi[which]

    def clear(self, which: Array) -> None:
        """Forget the points of the instances that a mask names."""
        xp = self._xp
        self._theta = xp.where(which[:, None], xp.inf, self._theta)
        self._phi = xp.where(which[:, None], xp.inf, self._phi)
        if not xp.isfinite(self._theta).any():
            self._theta, self._phi = self._theta[:, :1], self._phi[:, :1]

    def add(self, which: Array, theta: Array, phi: Array) -> None:
        """Forbid what is no better than these points, for the instances that a mask names."""
        if not which.any():
            return
        xp = self._xp
        entries = ((1 - GAMMA_THETA) * theta, phi - GAMMA_PHI * theta)
        new_theta, new_phi = (xp.where(which, entry, xp.inf)[:, None] for entry in entries)
        self._theta = xp.concatenate([self._theta, new_theta], axis=1)
        self._phi = xp.concatenate([self._phi, new_phi], axis=1)

    def accepts(
        self, alpha: Array, slope: Array, theta: Array, phi: Array, new_theta: Array, new_phi: Array
    ) -> tuple[Array, Array]:
        """Return where new points are acceptable, and where by a fall of φ alone (type f)."""
        xp = self._xp
        noise = _NOISE * xp.maximum(1.0, xp.abs(phi))
        downhill = xp.where(slope < 0, -slope, 0.0)
        switching = (slope < 0) & (alpha * downhill**_S_PHI > _DELTA * theta**_S_THETA)
        by_fall = switching & (theta <= self._least)
        falls = new_phi - phi - noise <= _ETA * alpha * slope
        better = (new_theta <= (1 - GAMMA_THETA) * theta) | (
            new_phi - noise <= phi - GAMMA_PHI * theta
        )
        fits = (new_theta <= self._most) & xp.where(by_fall, falls, better)
        allowed = (new_theta[:, None] <= self._theta) | ((new_phi - noise)[:, None] <= self._phi)
        finite = xp.isfinite(new_theta) & xp.isfinite(new_phi)
        return finite & fits & allowed.all(axis=1), by_fall

    def least_step(self, slope: Array, theta: Array) -> Array:
        """Return the step length below which no point will be accepted."""
        xp = self._xp
        downhill = xp.where(slope < 0, -slope, 1.0)
        share = xp.where(
            slope < 0, xp.minimum(GAMMA_THETA, GAMMA_PHI * theta / downhill), GAMMA_THETA
        )
        switch = _DELTA * theta**_S_THETA / downhill**_S_PHI
        near = (slope < 0) & (theta <= self._least)
        return _LEAST_SHARE * xp.where(near, xp.minimum(share, switch), share)
