"""Loads on a public grid: integers in, integers out, so that no rounding of doubles can leak.

Loads beyond ±LARGEST_LOAD steps are clamped to it, infinite ones too. An error would depend on a
load, and not every load may raise one. Proof that this is sound: clamping is applied to P and Q of
each load on its own, depends on nothing but a public number, and brings no two numbers further
apart. So two loads that are at most D steps apart (L1) are at most D steps apart afterwards, which
is all that the proofs of the mechanisms ask for.

Private values have at most LARGEST steps. The two differ by 2^52 steps, while the noise of a
mechanism has a scale of at most 2^40: its draws exceed 2^52 with a probability below e^-2800, and
nothing overflows 64 bits in any case.
"""

import math
from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray, IntArray

LARGEST = 2**53
"""The most grid steps a private value may have: far from where whole numbers of 64 bits overflow.
"""
LARGEST_LOAD = 2**52
"""The most grid steps a load may have; loads beyond are clamped to it."""


def to_grid(loads: FloatArray, step: Fraction) -> IntArray:
    """Round loads in p.u. to whole grid steps, in exact arithmetic, and clamp them to the largest.

    Ties go to the even step.
    """
    flat = [_on_grid(float(value), step) for value in loads.ravel()]
    return np.array(flat, dtype=np.int64).reshape(loads.shape)


def _on_grid(load: float, step: Fraction) -> int:
    if math.isinf(load):
        return LARGEST_LOAD if load > 0 else -LARGEST_LOAD
    return _clamped(round(Fraction(load) / step))


def total_on_grid(steps: IntArray) -> IntArray:
    """Return the sum of loads on the grid, of shape (1, 2), in exact arithmetic and clamped.

    A load that changes by some steps changes the total by at most as many.
    """
    sums = [_clamped(sum(map(int, column))) for column in steps.T]
    return np.array([sums], dtype=np.int64)


def _clamped(steps: int) -> int:
    return max(-LARGEST_LOAD, min(LARGEST_LOAD, steps))


def from_grid(steps: IntArray, step: Fraction) -> FloatArray:
    """Return the p.u. values of whole grid steps: each the double nearest to the exact product."""
    flat = [float(int(value) * step) for value in steps.ravel()]
    return np.array(flat, dtype=float).reshape(steps.shape)
