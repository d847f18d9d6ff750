"""Loads on a public grid: integers in, integers out, so that no rounding of doubles can leak."""

from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray, IntArray


def to_grid(loads: FloatArray, step: Fraction) -> IntArray:
    """Round loads in p.u. to whole grid steps, in exact arithmetic; ties go to the even step."""
    flat = [round(Fraction(float(value)) / step) for value in loads.ravel()]
    return np.array(flat, dtype=np.int64).reshape(loads.shape)


def from_grid(steps: IntArray, step: Fraction) -> FloatArray:
    """Return the p.u. values of whole grid steps: each the double nearest to the exact product."""
    flat = [float(int(value) * step) for value in steps.ravel()]
    return np.array(flat, dtype=float).reshape(steps.shape)
