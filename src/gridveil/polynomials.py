"""Many polynomials at once, each of its own variable: coefficients of shape (order + 1, …, count).

NumPy's functions give arrays of CuPy back where they get them, so this runs on a GPU too.
"""

import numpy as np

from gridveil.arrays import FloatArray


def evaluate(coefficients: FloatArray, x: FloatArray) -> FloatArray:
    """Return the value of each polynomial, coefficients ascending, at its variable."""
    total = np.zeros_like(x)
    for row in coefficients[::-1]:
        total = total * x + row
    return total


def derivative(coefficients: FloatArray) -> FloatArray:
    """Return the coefficients of each polynomial's derivative."""
    if len(coefficients) == 1:
        return np.zeros_like(coefficients)
    powers = np.arange(1, len(coefficients), like=coefficients)
    return coefficients[1:] * powers.reshape(-1, *(1 for _ in coefficients.shape[1:]))
