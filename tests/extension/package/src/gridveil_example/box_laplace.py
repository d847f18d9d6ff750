"""Box Laplace: ε for two loads whose P and Q differ by at most α each.

Proof. Rounding to the grid moves each coordinate of each load by at most half a step. So P differs
by at most D = α/γ + 1 steps afterwards, and so does Q. Independent discrete Laplace noise of scale
b on P and Q has P(o | k) ∝ exp(−‖o − k‖₁/b). Hence
ln P(o | k)/P(o | k') ≤ ‖k − k'‖₁/b ≤ 2D/b ≤ ε with b ≥ 2D/ε.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.claims import Claim, claim, number_claim
from gridveil.privacy.calibration import Calibration, double_at_least
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.mechanisms.base import (
    Mechanism,
    MechanismSettings,
    Pair,
    StatedProtection,
    promise_claim,
)
from gridveil.privacy.sampling.exact import discrete_laplace

METRIC = "max(|ΔP|, |ΔQ|), the larger of the two differences between two values of the load"
PAIRS = "two values that differ by at most {mva} MW in P and {mva} MVAr in Q ({pu} p.u. each)"


@dataclass(frozen=True)
class BoxLaplace(Mechanism):
    """Independent discrete Laplace noise of scale 2(α/γ + 1)/ε grid steps on P and Q."""

    name = "box-laplace"
    calibration: Calibration

    @classmethod
    def from_settings(cls, settings: MechanismSettings) -> "BoxLaplace":
        """Make it from ε, α and the grid step γ; it has no use for bounds."""
        return cls(Calibration.of(settings.epsilon, settings.alpha, settings.step))

    @property
    def step(self) -> Fraction:
        """The grid step γ in p.u."""
        return self.calibration.step

    @property
    def scale(self) -> float:
        """The scale b of the noise, in grid steps."""
        c = self.calibration
        return double_at_least(2 * (c.alpha / c.step + 1) / c.epsilon)

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid."""
        return np.asarray(loads + discrete_laplace(loads.size, self.scale).reshape(loads.shape))

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return values with continuous noise of scale 2α/ε: for studies, not private."""
        scale = float(2 * self.calibration.alpha / self.calibration.epsilon)
        return np.asarray(loads + random.laplace(0.0, scale, loads.shape))

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return the privacy loss of outputs."""
        far, near = np.abs(output - other).sum(axis=1), np.abs(output - one).sum(axis=1)
        return np.asarray((far - near) / self.scale)

    def guarantee(self) -> Guarantee:
        """Return what it promises; two loads within the L1 distance α are within the box too."""
        c = self.calibration
        return Guarantee(
            mechanism=self.name,
            epsilon=float(c.epsilon),
            distance=float(c.alpha),
            metric=METRIC,
            step=float(c.step),
            scale=self.scale * float(c.step),
            pairs=PAIRS,
        )

    def specification(self) -> dict[str, str]:
        """Return every parameter as exact text."""
        return {"mechanism": self.name, **self.calibration.specification()}

    def audit_pairs(self) -> tuple[Pair, ...]:
        """Return pairs of loads at corners of the box, a zero load first."""
        alpha = float(self.calibration.alpha)
        return (
            ((0.0, 0.0), (alpha, alpha)),
            ((0.0, 0.0), (alpha, 0.0)),
            ((0.7, 0.2), (0.7 - alpha, 0.2 + alpha)),
        )

    @classmethod
    def checks(cls, stated: StatedProtection) -> Iterator[Claim]:
        """Check the promise, the metric and the scale that a certificate states."""
        yield promise_claim(stated, PAIRS)
        yield claim("metric", stated.metric, METRIC, stated.metric == METRIC)
        scale = 2 * ((stated.alpha_pu or 0.0) + stated.grid_step_pu) / stated.epsilon_loads
        yield number_claim("noise scale (p.u.)", stated.noise_scale_pu or 0.0, scale, 1e-9)
