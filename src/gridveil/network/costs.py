"""Generator cost functions: polynomials of any order and convex piecewise-linear curves."""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.polynomials import evaluate


@dataclass(frozen=True, eq=False)
class CostFunctions(ArrayRecord):
    """The cost c_g(p) of every generator in $/h, for an output p in p.u.

    A generator has a polynomial or a piecewise-linear curve. A convex piecewise-linear curve is the
    largest of its segments' lines, extended beyond its first and last breakpoint.
    """

    coefficients: FloatArray
    """(generators, order + 1), ascending powers of p; zeros for piecewise-linear ones."""
    segment_generator: IntArray
    """Which generator each piecewise-linear segment belongs to, in ascending order."""
    segment_slope: FloatArray
    segment_intercept: FloatArray

    def any(self) -> bool:
        """Return whether one of them is not 0 everywhere."""
        numbers = (self.coefficients, self.segment_slope, self.segment_intercept)
        return any(bool(np.any(values != 0)) for values in numbers)

    def __call__(self, p: FloatArray) -> FloatArray:
        """Return the cost of each generator at the outputs `p`, in $/h; the last axis is theirs."""
        total = evaluate(self.coefficients.T, p)
        if len(self.segment_generator):
            lines = self.segment_slope * p[..., self.segment_generator] + self.segment_intercept
            generators, first = np.unique(self.segment_generator, return_index=True)
            total[..., generators] = np.maximum.reduceat(lines, first, axis=-1)
        return total
