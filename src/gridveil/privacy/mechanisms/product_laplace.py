"""Product Laplace: independent noise on P and Q.

Proof. On the grid, two loads at most α apart (L1) are at most D = α/γ + 2 steps apart (L1) after
rounding. Independent discrete Laplace noise of scale b on each coordinate has
P(o | k) ∝ exp(−‖o − k‖₁/b), so
ln P(o | k)/P(o | k') = (‖o − k'‖₁ − ‖o − k‖₁)/b ≤ ‖k − k'‖₁/b ≤ D/b ≤ ε with b ≥ D/ε.

Its variance per coordinate is about 2b², a third less than the planar one's 3b².
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.privacy.mechanisms.laplace import LaplaceMechanism
from gridveil.privacy.sampling.blocks import in_blocks
from gridveil.privacy.sampling.exact import discrete_laplace


@dataclass(frozen=True)
class ProductLaplace(LaplaceMechanism):
    """Independent discrete Laplace noise on P and Q, from OpenDP."""

    name: ClassVar[str] = "product-laplace"
    squared_scales: ClassVar[float] = 2.0

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid."""
        noise = discrete_laplace(loads.size, self.calibration.scale)
        return np.asarray(loads + noise.reshape(loads.shape))

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return continuous noise of scale α/ε: for studies, not private."""
        scale = float(self.calibration.alpha / self.calibration.epsilon)
        return in_blocks(loads, lambda block, _: block + random.laplace(0.0, scale, block.shape))

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return the privacy loss of outputs."""
        far, near = np.abs(output - other).sum(axis=1), np.abs(output - one).sum(axis=1)
        return np.asarray((far - near) / self.calibration.scale)
