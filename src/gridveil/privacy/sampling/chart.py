"""Loads as whole steps of a chart in which a change in per cent is a distance.

For a load (P, Q) and a public floor x0 above 0, the coordinates are

    u = asinh(P/x0),    τ = asinh(Q/R) with R = √(P² + x0²),

a smooth bijection of the plane: P = x0·sinh u, R = x0·cosh u, Q = R·sinh τ. The grid has the step
g in both. Infinite loads stand for the largest doubles.

What is proved here: the whole numbers (k, l) of a load are such that

    k is a whole number k' with |k' − u/g| ≤ 3/4, clamped to ±K;    l alike, of τ,

K = ⌊300/g⌋ being public. Rounding alone would give 1/2; a quarter step is left for arithmetic.
Clamping brings no two whole numbers further apart. So two loads with the distance
d = |Δu| + |Δτ| are at most d/g + 3 steps apart (L1), whatever the loads.

A proposal k comes from doubles and is not trusted. As sinh rises, |k − u/g| ≤ 3/4 is the same as

    sinh((k − 3/4)·g) ≤ P/x0 ≤ sinh((k + 3/4)·g),    and for τ with Q/R in the middle.

At k = K only the lower bound is needed, at −K only the upper one. Both are checked for every load
in IEEE 754 arithmetic (+ − · / and square roots, rounded to nearest). It uses no function of a
mathematical library, least of all the one that made the proposal. A bound must hold with a margin
of 2^-40 of itself, which covers every rounding (ε = 2^-53):

- *The ratios.* P and Q are exact, x0 is off by ε. P/x0 is off by 2ε. R is computed as
  m·√(1 + (n/m)²), with m the larger and n the smaller one of |P| and x0: (n/m)² is off by at most
  5ε, its sum with 1 by 3.5ε, the root by 2.8ε, R by 5ε. So Q/R is off by less than 8ε = 2^-50. A
  ratio that overflows is above e^709, and above all bounds in truth as well. One that underflows is
  below 2^-1021, and below all of them: a bound is at least g/4 in size.
- *The argument.* |k| < 2^51, so k ± 3/4 is exact. g and the product with it are off by ε each:
  t = (k ± 3/4)·g by 2ε|t|, which changes sinh t by at most 2ε(1 + |t|) of itself; |t| ≤ 301. That
  is less than 2^-43.
- *e^x for 1 ≤ x ≤ 301.* x = n·ln 2 + r with |r| < 0.36. ln 2 has a high part of 32 bits, so that
  n times it is exact, and a low one, off by less than 2^-85. The two subtractions have results
  below 1/2 and are off by 2^-55 each, n times the low part by less than 2^-76: r by 2^-53.9. The
  Taylor sum up to r^14 leaves out less than 2^-62; by Horner's rule it is off by less than 2.3ε,
  which is 3.3ε of e^r. Multiplying by 2^n is exact. So e^x is off by less than 2^-50.
- *sinh t.* For |t| > 1 it is (e^|t| − e^-|t|)/2, where both parts add up to less than 1.32 of the
  difference: off by less than 2^-49. For |t| ≤ 1 it is t·(1 + t²/3! + … + t^18/19!), which leaves
  out less than 2^-65; all terms are above 0: off by less than 2^-49.

All together are below 2^-42, and the margin is 2^-40. Where a bound does not hold with it, as on
grids finer than 1e-11, the coordinate is computed in 60 decimal digits: at most 2^51 steps are then
off by less than 1e-30.
"""

import sys
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from math import factorial

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray

LARGEST_COORDINATE = 300
"""Coordinates beyond ± this are clamped: loads of 10^130 times the floor."""
FINEST_STEP = Fraction(1, 10**12)
"""The finest grid: on it, the whole numbers of all coordinates have less than 51 bits."""
_MARGIN = 2.0**-40
_REACH = 0.75
"""How far a coordinate may be from the whole number that stands for it, in steps."""
_CONTEXT = Context(prec=60)
_LN2 = Fraction(Decimal(2).ln(_CONTEXT))
_LN2_HIGH = round(_LN2 * 2**32) / 2**32
_LN2_LOW = float(_LN2 - Fraction(_LN2_HIGH))
_PER_LN2 = float(1 / _LN2)
_EXP_TERMS = tuple(1 / factorial(n) for n in range(14, -1, -1))
_SINH_TERMS = tuple(1 / factorial(n) for n in range(19, 0, -2))


def chart_to_grid(loads: FloatArray, floor: Fraction, step: Fraction) -> IntArray:
    """Return loads in p.u., of shape (loads, 2), as whole steps of u and τ.

    Args:
        loads: P and Q; infinite ones too, since an error would depend on a load.
        floor: x0 in p.u.
        step: g, at least `FINEST_STEP`.
    """
    p, q = np.nan_to_num(loads, posinf=sys.float_info.max, neginf=-sys.float_info.max).T
    with np.errstate(over="ignore", under="ignore"):
        of_p, of_q = p / float(floor), q / _magnitude(p, float(floor))
    exact_floor = _decimal(floor)

    def exactly_p(load: int) -> Decimal:
        return _CONTEXT.divide(Decimal(float(p[load])), exact_floor)

    def exactly_q(load: int) -> Decimal:
        square = _CONTEXT.power(Decimal(float(p[load])), 2)
        magnitude = _CONTEXT.sqrt(_CONTEXT.add(square, _CONTEXT.power(exact_floor, 2)))
        return _CONTEXT.divide(Decimal(float(q[load])), magnitude)

    return np.stack(
        [_asinh_steps(of_p, exactly_p, step), _asinh_steps(of_q, exactly_q, step)], axis=1
    )


def chart_from_grid(steps: IntArray, floor: Fraction, step: Fraction) -> FloatArray:
    """Return the loads in p.u. that whole steps of u and τ stand for, clamped to the largest.

    The arithmetic is that of the proof above, so that every machine finds the same doubles.
    """
    most = most_steps(step)
    u, tau = (np.clip(steps, -most, most) * float(step)).T
    p = float(floor) * _sinh(u)
    q = float(floor) * _cosh(u) * _sinh(tau)
    return np.stack([p, q], axis=1)


def most_steps(step: Fraction) -> int:
    """Return the most steps of a coordinate, to which others are clamped."""
    return LARGEST_COORDINATE * step.denominator // step.numerator


def _decimal(number: Fraction) -> Decimal:
    return _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))


def _magnitude(p: FloatArray, floor: float) -> FloatArray:
    """Return √(p² + floor²), without overflow."""
    larger, smaller = np.maximum(np.abs(p), floor), np.minimum(np.abs(p), floor)
    share = smaller / larger
    return np.asarray(larger * np.sqrt(1 + share * share))


def _asinh_steps(ratio: FloatArray, exactly: Callable[[int], Decimal], step: Fraction) -> IntArray:
    """Return the inverse hyperbolic sine of ratios in whole steps, certified and clamped.

    Args:
        ratio: The ratios in doubles, off by at most 2^-50 of themselves.
        exactly: The i-th ratio in 60 digits.
        step: The grid step.
    """
    most = most_steps(step)
    with np.errstate(over="ignore"):
        proposed = np.clip(np.rint(np.arcsinh(ratio) / float(step)), -most, most)
    steps = proposed.astype(np.int64)
    for i in np.flatnonzero(~certified(ratio, steps, step)):
        steps[i] = _steps_exactly(exactly(int(i)), step, most)
    return steps


def certified(ratio: FloatArray, steps: IntArray, step: Fraction) -> BoolArray:
    """Return where whole steps are proved to be within 3/4 of a step, by doubles alone.

    False says nothing about the steps: they may be right.
    """
    most = most_steps(step)
    whole = steps.astype(np.float64)
    lower, upper = (_sinh((whole + reach) * float(step)) for reach in (-_REACH, _REACH))
    above = (steps == -most) | (lower + _MARGIN * np.abs(lower) <= ratio)
    below = (steps == most) | (ratio <= upper - _MARGIN * np.abs(upper))
    return np.asarray(above & below)


def _steps_exactly(ratio: Decimal, step: Fraction, most: int) -> int:
    """Return the inverse hyperbolic sine of a ratio in whole steps, in 60 digits."""
    c, size = _CONTEXT, ratio.copy_abs()
    coordinate = c.ln(c.add(size, c.sqrt(c.add(c.multiply(size, size), 1))))
    steps = c.divide(c.multiply(coordinate, step.denominator), step.numerator)
    whole = min(int(c.to_integral_value(steps)), most)
    return -whole if ratio.is_signed() else whole


def exponential(x: FloatArray) -> FloatArray:
    """Return e^x for 0 ≤ x ≤ 301, off by less than 2^-50 of itself."""
    doublings = np.rint(x * _PER_LN2)
    rest = (x - doublings * _LN2_HIGH) - doublings * _LN2_LOW
    return np.asarray(np.ldexp(_polynomial(rest, _EXP_TERMS), doublings.astype(np.int64)))


def _sinh(x: FloatArray) -> FloatArray:
    """Return sinh x for |x| ≤ 301, off by less than 2^-49 of itself."""
    size = np.abs(x)
    power = exponential(size)
    near = np.minimum(size, 1.0)
    series = near * _polynomial(near * near, _SINH_TERMS)
    return np.copysign(np.where(size > 1, (power - 1 / power) / 2, series), x)


def _cosh(x: FloatArray) -> FloatArray:
    power = exponential(np.abs(x))
    return np.asarray((power + 1 / power) / 2)


def _polynomial(x: FloatArray, coefficients: tuple[float, ...]) -> FloatArray:
    """Return a polynomial by Horner's rule, the highest power first."""
    total = np.full(x.shape, coefficients[0])
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total
