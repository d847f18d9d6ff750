"""Logarithms as whole steps of a grid, rounded beyond doubt.

For a finite value v ≠ 0 and a grid step g, the whole number of v is the one nearest to ln|v|/g,
clamped to ±K with the public K = ⌊300/g⌋. Clamping brings no two whole numbers further apart, so
two values with Δ = |ln|v| − ln|v'|| are at most Δ/g + 1 steps apart.

Which whole number is nearest is decided in decimal arithmetic, with as many digits as it takes.
With p digits each of three operations (the logarithm, a product, a quotient) is off by at most
5·10^-p of its result, all together by less than 10^(2-p). The digits are doubled until the nearest
whole number is the same for all that the result may stand for. That comes to an end: the logarithm
of a rational number other than 1 is irrational, so ln|v|/g is never halfway between two whole
numbers. No mathematical library is asked.
"""

from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.privacy.sampling.chart import exponential, most_steps

_DIGITS = 30
_HALF = Decimal("0.5")


def log_to_grid(values: FloatArray, step: Fraction) -> IntArray:
    """Return the logarithms of the sizes of values, finite and not 0, in whole steps."""
    most = most_steps(step)
    flat = [nearest_step(abs(value), step) for value in values.ravel().tolist()]
    return np.clip(np.array(flat, dtype=np.int64), -most, most).reshape(values.shape)


def nearest_step(value: float, step: Fraction) -> int:
    """Return the whole number nearest to ln(value)/step, for a finite value above 0."""
    digits, exactly = _DIGITS, Decimal(value)
    while True:
        c = Context(prec=digits)
        steps = c.divide(c.multiply(c.ln(exactly), step.denominator), step.numerator)
        whole = steps.to_integral_value()
        off, error = c.subtract(steps, whole).copy_abs(), steps.copy_abs().scaleb(2 - digits, c)
        if c.add(off, error) < _HALF:
            return int(whole)
        digits *= 2


def size_from_grid(steps: IntArray, step: Fraction) -> FloatArray:
    """Return the sizes that whole steps stand for, clamped to those of ±K.

    The arithmetic is that of `chart.py`, so that every machine finds the same doubles.
    """
    most = most_steps(step)
    coordinates = np.clip(steps, -most, most) * float(step)
    powers = exponential(np.abs(coordinates))
    return np.where(coordinates < 0, 1 / powers, powers)
