"""Privacy parameters as exact rational numbers, and the noise scale that follows from them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from gridveil.errors import GridveilError
from gridveil.printable import excerpt
from gridveil.privacy.sampling.grid import LARGEST_LOAD

FINEST_STEPS = 1000
"""The grid must divide α into at least this many steps, so that rounding costs next to nothing."""

SMALLEST = Fraction(1, 10**30)
"""Numbers below this, or above its inverse, are mistakes."""
WIDEST = 2**40
"""The largest noise scale, in grid steps: its draws never come near the end of 64 bits."""

Number = float | str | Fraction

LEAST_REACH = 1000
"""The grid must reach at least this far, in p.u.; larger loads are clamped to its end."""

_ENDLESS = re.compile(r"[eE][+-]?0*[1-9][0-9]{3}")
"""An exponent of four digits or more: the fraction of such a text may not fit into memory."""
_LONGEST = 1000
"""Characters of a number; exact fractions of doubles need fewer."""
_SHOWN = 60


def exact(value: Number, name: str) -> Fraction:
    """Return the number as written: 0.1 is one tenth, not the nearest double."""
    if isinstance(value, Fraction):
        number, text = value, ""
    else:
        text = str(value)
        if len(text) > _LONGEST or not text.isascii() or _ENDLESS.search(text.replace("_", "")):
            raise _senseless(name, text)
        try:
            number = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise GridveilError(f"{name}: {excerpt(text, _SHOWN)} is not a finite number") from None
    if number and not SMALLEST <= abs(number) <= 1 / SMALLEST:
        raise _senseless(name, text)
    return number


def _senseless(name: str, text: str) -> GridveilError:
    shown = excerpt(text, _SHOWN) or "the number"
    return GridveilError(f"{name}: {shown} is beyond anything sensible")


def default_step(alpha: Fraction) -> Fraction:
    """Return the largest power of ten that is at most α/1000."""
    power = math.floor(math.log10(alpha / FINEST_STEPS))
    while Fraction(10) ** (power + 1) <= alpha / FINEST_STEPS:
        power += 1
    while Fraction(10) ** power > alpha / FINEST_STEPS:
        power -= 1
    return Fraction(10) ** power


@dataclass(frozen=True)
class Calibration:
    """ε, α and the grid step γ (both in p.u.), checked."""

    epsilon: Fraction
    alpha: Fraction
    step: Fraction

    @classmethod
    def of(cls, epsilon: Number, alpha: Number, step: Number | None = None) -> "Calibration":
        """Check the parameters; the step is the largest power of ten up to α/1000 if not given."""
        e, a = exact(epsilon, "epsilon"), exact(alpha, "alpha")
        if e <= 0:
            raise GridveilError(
                f"epsilon: {epsilon} must be above 0; 1 is usual, smaller is more private"
            )
        if a <= 0:
            raise GridveilError(
                f"alpha: {alpha} must be above 0; it is the difference between two loads, in p.u., "
                "that should be hard to tell (0.1 p.u. is 10 MVA on a base of 100 MVA)"
            )
        g = default_step(a) if step is None else exact(step, "grid step")
        if g <= 0:
            raise GridveilError(f"grid step: {step} must be above 0")
        if g * FINEST_STEPS > a:
            raise GridveilError(
                f"grid step: {step} is too coarse for alpha = {alpha}; "
                f"use at most {float(a / FINEST_STEPS):g}"
            )
        if g * LARGEST_LOAD < LEAST_REACH:
            raise GridveilError(
                f"grid step: {float(g):g} p.u. is too fine, loads above "
                f"{float(g * LARGEST_LOAD):g} p.u. would not be on the grid; use a larger step, or "
                "a larger alpha"
            )
        calibration = cls(e, a, g)
        if calibration.steps / e > WIDEST:
            raise GridveilError(
                f"epsilon = {epsilon} asks for noise of about {float(a / e):g} p.u. on a grid of "
                f"{float(g):g} p.u., more than can be drawn; raise epsilon or the grid step"
            )
        return calibration

    @classmethod
    def from_specification(cls, parameters: Mapping[str, str]) -> "Calibration":
        """Return the calibration of a specification, which has one spelling; refuse any other."""
        texts = {name: parameters.get(name, "") for name in ("epsilon", "alpha", "step")}
        calibration = cls.of(**texts)
        if calibration.specification() != texts:
            raise GridveilError("parameters: exact numbers are spelled in one way, such as 1/10")
        return calibration

    def specification(self) -> dict[str, str]:
        """Return the parameters as exact text."""
        return {"epsilon": str(self.epsilon), "alpha": str(self.alpha), "step": str(self.step)}

    @property
    def steps(self) -> Fraction:
        """The L1 distance in grid steps of two loads α apart, after rounding both to the grid.

        Rounding moves each of the two coordinates of both loads by at most half a step.
        """
        return self.alpha / self.step + 2

    @cached_property
    def scale(self) -> float:
        """The Laplace scale in grid steps: the least double that is at least steps/ε."""
        return double_at_least(self.steps / self.epsilon)


def double_at_least(value: Fraction) -> float:
    """Return the least double that is not below a rational number."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
