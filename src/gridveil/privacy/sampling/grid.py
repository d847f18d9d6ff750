"""Loads on a public grid: integers in, integers out, so that no rounding of doubles can leak."""

from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError

LARGEST = 2**53
"""The most grid steps a load may have: far from where whole numbers of 64 bits overflow."""


def to_grid(loads: FloatArray, step: Fraction) -> IntArray:
    """Round loads in p.u. to whole grid steps, in exact arithmetic; ties go to the even step."""
    flat = [round(Fraction(float(value)) / step) for value in loads.ravel()]
    if any(abs(steps) > LARGEST for steps in flat):
        raise GridveilError(
            f"the grid step of {float(step):g} p.u. is too fine for loads of this size; use a "
            "larger step or a larger alpha"
        )
    return np.array(flat, dtype=np.int64).reshape(loads.shape)


def from_grid(steps: IntArray, step: Fraction) -> FloatArray:
    """Return the p.u. values of whole grid steps: each the double nearest to the exact product."""
    flat = [float(int(value) * step) for value in steps.ravel()]
    return np.array(flat, dtype=float).reshape(steps.shape)
