"""The chart of a load in 80 decimal digits, as a reference for the tests and benchmarks."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

DIGITS = Context(prec=80, rounding=ROUND_HALF_EVEN)


def coordinates(p: float, q: float, floor: Fraction) -> tuple[Decimal, Decimal]:
    """Return u and τ of a finite load."""
    x0 = DIGITS.divide(Decimal(floor.numerator), Decimal(floor.denominator))
    size = DIGITS.sqrt(DIGITS.add(_square(Decimal(p)), _square(x0)))
    return _asinh(DIGITS.divide(Decimal(p), x0)), _asinh(DIGITS.divide(Decimal(q), size))


def distance(one: tuple[float, float], other: tuple[float, float], floor: Fraction) -> Fraction:
    """Return the relative distance of two loads."""
    pairs = zip(coordinates(*one, floor), coordinates(*other, floor), strict=True)
    return sum((abs(Fraction(a) - Fraction(b)) for a, b in pairs), Fraction(0))


def _square(x: Decimal) -> Decimal:
    return DIGITS.multiply(x, x)


def _asinh(x: Decimal) -> Decimal:
    root = DIGITS.sqrt(DIGITS.add(_square(x), 1))
    size = DIGITS.ln(DIGITS.add(x.copy_abs(), root))
    return size.copy_sign(x)
