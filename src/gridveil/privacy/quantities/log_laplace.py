"""Laplace noise on logarithms: exact, for every quantity of lines and generators.

A quantity has n coordinates v in an element, such as r, x and b of a circuit. Signs, zeros and
infinite limits are public. The distance of two elements of the same signs and zeros is

    d = Σ |ln|v_i| − ln|v_i'||    over all coordinates that are protected.

Theorem. Let g be the grid step, and k_i the whole number nearest to ln|v_i|/g. Released is k plus
independent discrete Laplace noise of scale b ≥ (a/g + n)/ε. Two elements at distance d are told
apart by at most (d/g + n)/b: by at most ε for d ≤ a, and by at most ε·max(1, d/a) for every d.

Proof. `sampling/logarithm.py` proves |Δk_i| ≤ |Δ ln|v_i||/g + 1, also after its clamping. Summed
over at most n coordinates, ‖Δk‖₁ ≤ d/g + n. The noise has P(o | k) ∝ exp(−‖o − k‖₁/b), with a
normalising sum that does not depend on k, so

    ln P(o | k)/P(o | k') = (‖o − k'‖₁ − ‖o − k‖₁)/b ≤ ‖Δk‖₁/b ≤ (d/g + n)/b.

For d ≤ a that is at most (a/g + n)/b ≤ ε. For d > a, (d/g + n)/(a/g + n) ≤ d/a, since n ≤ n·d/a.
What is published is computed from o and public facts. ∎

"Each coordinate by at most p per cent" is a = n·ln(1 + p): a longer line has more of r, x and b.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.privacy.calibration import Calibration, Number, double_at_least, exact
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.hide import HiddenIn, Hide
from gridveil.privacy.metric import Metric
from gridveil.privacy.quantities.base import ProtectedQuantity, is_protected
from gridveil.privacy.sampling.chart import FINEST_STEP
from gridveil.privacy.sampling.exact import discrete_laplace
from gridveil.privacy.sampling.logarithm import log_to_grid, size_from_grid

NAME = "log-laplace"
LEAST, MOST = Fraction(1, 10_000), Fraction(1)
"""Changes of a coordinate that can be meant: 0.01 % to 100 %."""
LARGEST_SCALE = Fraction(1)
"""From this noise scale on, private values have an infinite mean."""
_PLACES = Decimal("1e-12")
_CONTEXT = Context(prec=40, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class LogLaplace:
    """Independent discrete Laplace noise on the logarithms of a quantity's coordinates.

    Arrays of values have the shape (elements, coordinates). What is public in them, signs, zeros
    and infinite limits, is told by the values themselves: only that is read of `public`.
    """

    quantity: type[ProtectedQuantity]
    calibration: Calibration
    """ε, the distance a, and the grid step of the logarithms."""

    @classmethod
    def of(
        cls,
        quantity: type[ProtectedQuantity],
        epsilon: Number,
        distance: Number,
        step: Number | None = None,
    ) -> Self:
        """Make the mechanism.

        Args:
            quantity: What is protected.
            epsilon: The budget ε of each element.
            distance: a, summed over the logarithms of all coordinates of an element.
            step: The grid step of the logarithms; the largest power of ten up to a/1000 if None.
        """
        a, e = exact(distance, "distance"), exact(epsilon, "epsilon")
        share = a / len(quantity.coordinates)
        if not LEAST / 2 <= share <= MOST:
            raise GridveilError(
                f"distance: {float(a):g} is {float(share):g} in the logarithm of each of "
                f"{', '.join(quantity.coordinates)}; {float(LEAST):g} to {float(MOST):g} makes "
                "sense. Nothing was drawn"
            )
        if e > 0 and a / e >= LARGEST_SCALE:
            raise GridveilError(
                f"distance, epsilon: {float(a):g} at ε = {float(e):g} needs noise so wide that "
                "private values have no mean; raise epsilon, or choose a smaller distance: it must "
                "be below epsilon"
            )
        if step is not None and exact(step, "grid step") < FINEST_STEP:
            raise GridveilError(f"grid step: {step} must be at least {float(FINEST_STEP):g}")
        return cls(quantity, Calibration.of(e, a, step))

    @classmethod
    def hiding(cls, quantity: type[ProtectedQuantity], epsilon: Number, hide: Hide | str) -> Self:
        """Make the mechanism that hides a change of every coordinate of an element together.

        Args:
            quantity: What is protected.
            epsilon: The budget ε of each element.
            hide: Such as "10%": each coordinate larger by at most that, or smaller by as large a
                factor.
        """
        asked = Hide.parse(hide)
        if asked.unit is not HiddenIn.LOAD or not LEAST <= asked.amount <= MOST:
            raise GridveilError(
                f"hide: {asked} of {quantity.name}: per cent of each of "
                f"{', '.join(quantity.coordinates)} expected, from 0.01% to 100%, such as 10%"
            )
        factor = 1 + asked.amount
        ln = _CONTEXT.ln(_CONTEXT.divide(Decimal(factor.numerator), Decimal(factor.denominator)))
        a = _CONTEXT.multiply(ln, len(quantity.coordinates)).quantize(_PLACES, ROUND_CEILING)
        return cls.of(quantity, epsilon, Fraction(a))

    @property
    def step(self) -> Fraction:
        """The grid step of the logarithms."""
        return self.calibration.step

    @cached_property
    def scale(self) -> float:
        """The noise scale in grid steps: the least double that is at least (a/g + n)/ε."""
        c = self.calibration
        return double_at_least((c.alpha / c.step + len(self.quantity.coordinates)) / c.epsilon)

    def to_grid(self, values: FloatArray) -> IntArray:
        """Return the logarithms of values in whole steps, and 0 for what is public."""
        protected = is_protected(values)
        steps = np.zeros(values.shape, dtype=np.int64)
        steps[protected] = log_to_grid(values[protected], self.step)
        return steps

    def release(self, steps: IntArray, public: FloatArray) -> IntArray:
        """Return private values on the grid: exact, from operating-system entropy."""
        protected = is_protected(public)
        private = np.zeros_like(steps)
        noise = discrete_laplace(int(protected.sum()), self.scale)
        private[protected] = steps[protected] + noise
        return private

    def from_grid(self, steps: IntArray, public: FloatArray) -> FloatArray:
        """Return the values that whole steps stand for, with the signs and zeros of `public`."""
        sizes = np.copysign(size_from_grid(steps, self.step), public)
        return np.where(is_protected(public), sizes, public)

    def simulate(self, values: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return values with continuous noise of the same scale: for studies, not private."""
        noise = random.laplace(0.0, self.scale * float(self.step), values.shape)
        with np.errstate(invalid="ignore"):
            return np.where(is_protected(values), values * np.exp(noise), values)

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return ln P(output | one) − ln P(output | other), as the proof has it."""
        far, near = np.abs(output - other).sum(axis=-1), np.abs(output - one).sum(axis=-1)
        return np.asarray((far - near) / self.scale)

    def guarantee(self) -> Guarantee:
        """Return what it promises to each element."""
        c, of = self.calibration, self.quantity
        return Guarantee(
            mechanism=NAME,
            epsilon=float(c.epsilon),
            distance=float(c.alpha),
            metric=_metric(of),
            step=float(c.step),
            scale=self.scale * float(c.step),
            unit=of.unit,
            not_covered=of.not_covered,
            pairs=_pairs(of, float(c.alpha)),
            kind=Metric.LOG,
            subject=of.element,
        )

    def specification(self) -> Mapping[str, str]:
        """Return every parameter as exact text."""
        c = self.calibration
        return {
            "mechanism": NAME,
            "quantity": self.quantity.name,
            "epsilon": str(c.epsilon),
            "distance": str(c.alpha),
            "step": str(c.step),
        }


def _metric(quantity: type[ProtectedQuantity]) -> str:
    terms = " + ".join(f"|Δ ln {name}|" for name in quantity.coordinates)
    return f"{terms}, of the sizes; signs, zeros and infinite limits are public"


def _pairs(quantity: type[ProtectedQuantity], distance: float) -> str:
    names = quantity.coordinates
    factor = float(np.exp(distance / len(names)))
    changed = names[0] if len(names) == 1 else f"each of {', '.join(names)}"
    return (
        f"two values whose logarithms differ by at most {distance:g} in all (such as {changed} "
        f"changed by the factor {factor:g})"
    )
