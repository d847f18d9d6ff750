"""Polar (planar) Laplace, the paper's default: noise in the plane that thins out with its radius.

Proof. On the grid, two loads at most α apart (L1) are at most D = α/γ + 2 steps apart (L1) after
rounding, hence also at most D in L2. The noise has P(o | k) ∝ exp(−‖o − k‖₂/b) over all integer
points, with a normalising sum that does not depend on k, so
ln P(o | k)/P(o | k') = (‖o − k'‖₂ − ‖o − k‖₂)/b ≤ ‖k − k'‖₂/b ≤ D/b ≤ ε with b ≥ D/ε.

Sampling. Independent discrete Laplace noise of scale s is proposed, and z accepted with probability
exp(−(‖z‖₂/b − ‖z‖₁/s)). As s ≥ √2 b and ‖z‖₁ ≤ √2 ‖z‖₂ the exponent is never positive, and the
product of both is the wanted exp(−‖z‖₂/b). About π/4 of the proposals are accepted.
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.privacy.mechanisms.laplace import LaplaceMechanism
from gridveil.privacy.sampling.blocks import in_blocks
from gridveil.privacy.sampling.exact import MARGIN, bernoulli, discrete_laplace


@dataclass(frozen=True)
class PolarLaplace(LaplaceMechanism):
    """Exact discrete planar Laplace noise on the complex load."""

    name: ClassVar[str] = "polar-laplace"
    squared_scales: ClassVar[float] = 3.0

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid."""
        return np.asarray(loads + planar_laplace(len(loads), self.calibration.scale))

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Add continuous noise, radius Gamma(2, α/ε), angle uniform: for studies, not private."""
        scale = float(self.calibration.alpha / self.calibration.epsilon)

        def noisy(block: FloatArray, _: slice) -> FloatArray:
            # A Gamma(2) radius is the sum of two exponentials.
            first, second = random.standard_exponential((2, len(block)))
            radius = (first + second) * scale
            angle = random.random(len(block)) * (2 * np.pi)
            noise = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
            return np.asarray(block + noise)

        return in_blocks(loads, noisy)

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return the privacy loss of outputs."""
        far, near = (np.hypot(*(output - load).T) for load in (other, one))
        return np.asarray((far - near) / self.calibration.scale)


def planar_laplace(count: int, scale: float, margin: float = MARGIN) -> IntArray:
    """Return draws z with P(z) ∝ exp(−‖z‖₂/scale) over the integer points of the plane, exactly."""
    proposal = _proposal_scale(scale)
    kept = np.empty((0, 2), dtype=np.int64)
    while len(kept) < count:
        wanted = int((count - len(kept)) * 1.3) + 16
        z = discrete_laplace(2 * wanted, proposal).reshape(-1, 2)
        accept = _Acceptance(z, scale, proposal)
        kept = np.concatenate([kept, z[bernoulli(accept.approximately, accept.exactly, margin)]])
    return kept[:count]


def _proposal_scale(scale: float) -> float:
    """Return a double that is at least √2 times the scale, and close to it."""
    proposal = scale * math.sqrt(2)
    while Fraction(proposal) ** 2 < 2 * Fraction(scale) ** 2:
        proposal = math.nextafter(proposal, math.inf)
    return proposal


@dataclass(frozen=True)
class _Acceptance:
    """The probabilities exp(−(‖z‖₂/b − ‖z‖₁/s)) of keeping proposals z."""

    z: IntArray
    scale: float
    proposal: float

    @cached_property
    def approximately(self) -> FloatArray:
        l2 = np.hypot(*self.z.T.astype(float))
        l1 = np.abs(self.z).sum(axis=1)
        return np.asarray(np.exp(-(l2 / self.scale - l1 / self.proposal)))

    def exactly(self, index: int, context: Context) -> Decimal:
        x, y = (abs(int(value)) for value in self.z[index])
        if x == y == 0:
            return Decimal(1)
        wide = Context(prec=context.prec + 10)
        l2 = wide.divide(wide.sqrt(Decimal(x * x + y * y)), Decimal(self.scale))
        l1 = wide.divide(Decimal(x + y), Decimal(self.proposal))
        return wide.exp(wide.subtract(l1, l2))
