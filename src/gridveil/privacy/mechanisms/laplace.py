"""What the two Laplace mechanisms share: their parameters and what they promise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from gridveil.privacy.calibration import Calibration, Number
from gridveil.privacy.guarantee import L1, Guarantee


@dataclass(frozen=True)
class LaplaceMechanism:
    """Additive noise of scale (α/γ + 2)/ε grid steps."""

    name: ClassVar[str]
    calibration: Calibration

    @classmethod
    def of(cls, epsilon: Number, alpha: Number, step: Number | None = None) -> Self:
        """Make the mechanism from ε, α in p.u. and, optionally, the grid step in p.u."""
        return cls(Calibration.of(epsilon, alpha, step))

    @property
    def step(self) -> Fraction:
        """The grid step in p.u."""
        return self.calibration.step

    def guarantee(self) -> Guarantee:
        """Return what it promises."""
        c = self.calibration
        scale = c.scale * float(c.step)
        return Guarantee(self.name, float(c.epsilon), float(c.alpha), L1, float(c.step), scale)

    def specification(self) -> dict[str, str]:
        """Return every parameter."""
        return {"mechanism": self.name, **self.calibration.specification()}
