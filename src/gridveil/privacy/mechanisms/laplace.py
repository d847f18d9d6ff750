"""What the two Laplace mechanisms share: parameters, what they promise, how that is checked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from gridveil.claims import Claim, claim, number_claim
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import has_only_parameters
from gridveil.privacy.calibration import Calibration, Number
from gridveil.privacy.guarantee import L1, WITHIN_DISTANCE, Guarantee
from gridveil.privacy.mechanisms.base import (
    Mechanism,
    MechanismSettings,
    StatedProtection,
    promise_claim,
)

_EXACT = 1e-9
"""Relative difference of figures that follow from each other."""


@dataclass(frozen=True)
class LaplaceMechanism(Mechanism):
    """Additive noise of scale (α/γ + 2)/ε grid steps."""

    name: ClassVar[str]
    squared_scales: ClassVar[float]
    """The variance of P, and of Q, in squared noise scales."""
    calibration: Calibration

    @classmethod
    def of(cls, epsilon: Number, alpha: Number, step: Number | None = None) -> Self:
        """Make the mechanism.

        Args:
            epsilon: The budget ε.
            alpha: The distance α, in p.u.
            step: The grid step γ in p.u.; the largest power of ten up to α/1000 if None.

        Example:
            >>> from gridveil import PolarLaplace
            >>> round(PolarLaplace.of(1, 0.1).guarantee().scale, 4)
            0.1002
        """
        return cls(Calibration.of(epsilon, alpha, step))

    @classmethod
    def from_settings(cls, settings: MechanismSettings) -> Self:
        """Make the mechanism from settings; bounds and calibration mean nothing to it."""
        return cls.of(settings.epsilon, settings.alpha, settings.step)

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

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, str]) -> Self | None:
        """Make the mechanism from its specification, without the bounds it may be clamped to."""
        try:
            return cls(Calibration.from_specification(parameters))
        except GridveilError:
            return None

    def noise_variance(self) -> float:
        """Return the variance of P, and of Q, in p.u.²: to 1e-6, since a scale has many steps."""
        scale = self.calibration.scale * float(self.calibration.step)
        return self.squared_scales * scale * scale

    @classmethod
    def checks(cls, stated: StatedProtection) -> Iterator[Claim]:
        """Check promise, metric and noise scale, and the exact parameters where there are any."""
        yield promise_claim(stated, WITHIN_DISTANCE)
        alpha, scale = stated.alpha_pu, stated.noise_scale_pu
        if alpha is None or scale is None:
            yield claim(
                "noise scale (p.u.)", "none", "a Laplace mechanism has α and a scale", False
            )
            return
        found = (alpha + 2 * stated.grid_step_pu) / stated.epsilon_loads
        yield number_claim("noise scale (p.u.)", scale, found, _EXACT)
        yield claim("metric", stated.metric, L1, stated.metric == L1)
        if stated.parameters:
            yield cls._parameters_claim(stated)

    @classmethod
    def _parameters_claim(cls, stated: StatedProtection) -> Claim:
        """Check that the exact parameters are those of the figures, and can be the mechanism's."""
        made = cls.from_parameters(stated.parameters)
        if made is None:
            found = f"not readable, or such as {cls.name} cannot have"
            return claim("parameters", "as in the figures", found, False)
        c = made.calibration
        same = (
            has_only_parameters(stated.parameters, {"mechanism", "epsilon", "alpha", "step"})
            and stated.is_epsilon(c.epsilon)
            and (float(c.alpha), float(c.step)) == (stated.alpha_pu, stated.grid_step_pu)
        )
        shown = ", ".join(f"{name} {text}" for name, text in c.specification().items())
        return claim("parameters", "as in the figures", shown, same)
