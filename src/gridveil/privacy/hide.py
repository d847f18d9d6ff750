"""What a promise hides, said in one way: 10 % of a load, 5 MVA, or 20 % of its rating."""

import re
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from gridveil.errors import GridveilError
from gridveil.printable import excerpt
from gridveil.privacy.calibration import exact

_FORM = re.compile(r"\s*([0-9.eE+/-]+)\s*(%\s*(?:of\s+)?rating|%|[a-zA-Z]+)\s*")
_MVA = {"kva": Fraction(1, 1000), "mva": Fraction(1), "gva": Fraction(1000)}
_SHOWN = 40


class HiddenIn(Enum):
    """What the hidden change of a load is measured in."""

    LOAD = "%"
    MVA = "MVA"
    RATING = "%rating"


@dataclass(frozen=True)
class Hide:
    """The change of a load that is hidden.

    Example:
        >>> from gridveil import Hide
        >>> Hide.parse("20 % of rating")
        Hide(amount=Fraction(1, 5), unit=<HiddenIn.RATING: '%rating'>)
        >>> str(Hide.parse("500kVA"))
        '0.5MVA'
    """

    amount: Fraction
    """A part of the load or of its rating, or MVA."""
    unit: HiddenIn

    def __post_init__(self) -> None:
        if not isinstance(self.amount, Fraction) or not isinstance(self.unit, HiddenIn):
            raise GridveilError("hide: a fraction above 0 and what it is measured in expected")
        if self.amount <= 0:
            raise GridveilError(f"hide: {self.amount} must be above 0")

    @classmethod
    def parse(cls, text: "str | Hide") -> "Hide":
        """Return what a text such as 10%, 5MVA or 20%rating says."""
        if isinstance(text, Hide):
            return text
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        unit = "" if match is None else match[2].lower()
        if match is None or not (unit.startswith("%") or unit in _MVA):
            raise GridveilError(
                f"hide: {excerpt(str(text), _SHOWN)!r} is none of 10% (of each load), 5MVA, or "
                "20%rating (of each load's public rating)"
            )
        number = exact(match[1], "hide")
        if number <= 0:
            raise GridveilError(f"hide: {text} must be above 0")
        if unit in _MVA:
            return cls(number * _MVA[unit], HiddenIn.MVA)
        return cls(number / 100, HiddenIn.LOAD if unit == "%" else HiddenIn.RATING)

    def times(self, factor: Fraction) -> "Hide":
        """Return so many times as much."""
        return Hide(self.amount * factor, self.unit)

    def __str__(self) -> str:
        number = self.amount if self.unit is HiddenIn.MVA else 100 * self.amount
        return f"{float(number):g}{self.unit.value}"
