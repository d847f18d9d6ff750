"""Exact random choices from operating-system entropy.

No probability is ever rounded to a double: a choice that doubles cannot decide beyond doubt is
decided with as many more random bits and decimal digits as it takes.
"""

import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray

_BITS = 53
_DRAWS_FOR_A_THREAD = 10_000
"""Fewer draws are not worth another thread."""
MARGIN = 2.0**-30
"""How far a uniform number must be from a probability for doubles to decide: a million times more
than the rounding error of the few operations that compute it."""

Probability = Callable[[int, Context], Decimal]
"""The i-th probability, in a context of so many digits, to within ten units of the last one."""


def bernoulli(probabilities: FloatArray, exactly: Probability, margin: float = MARGIN) -> BoolArray:
    """Return True with the given probabilities, exactly.

    `probabilities` must be right to far better than `margin`; `exactly` is asked for the few that a
    uniform number of 53 bits comes too close to.
    """
    count = len(probabilities)
    draws = np.frombuffer(os.urandom(8 * count), np.uint64) >> np.uint64(64 - _BITS)
    uniform = draws / 2.0**_BITS
    chosen = np.asarray(uniform < probabilities)
    for i in np.flatnonzero(np.abs(uniform - probabilities) < margin):
        chosen[i] = _decide(int(draws[i]), int(i), exactly)
    return chosen


def _decide(draw: int, index: int, exactly: Probability) -> bool:
    """Compare a uniform number, of which 53 bits are known, with an exact probability."""
    length, digits = _BITS, 40
    while True:
        context = Context(prec=digits)
        probability = Fraction(exactly(index, context))
        error = Fraction(10) ** (2 - digits)
        more = 4 * digits - length
        draw, length = (draw << more) | secrets.randbits(more), length + more
        low, high = Fraction(draw, 1 << length), Fraction(draw + 1, 1 << length)
        if high <= probability - error:
            return True
        if low >= probability + error:
            return False
        digits *= 2


def uniform_below(limits: IntArray) -> IntArray:
    """Return a uniform whole number from 0 up to, but not including, each limit."""
    return np.array([secrets.randbelow(int(limit)) for limit in limits], dtype=np.int64)


def discrete_laplace(count: int, scale: float) -> IntArray:
    """Return draws z of the discrete Laplace distribution, P(z) ∝ exp(−|z|/scale), by OpenDP.

    OpenDP's sampler is exact for a scale that is a double, and takes its random bits from a
    cryptographic generator seeded by the operating system. Many draws are shared among threads.
    """
    import opendp.prelude as dp  # slow to import, and only releases need it

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    noise = dp.m.make_laplace(*space, scale=scale)
    threads = max(1, min(os.cpu_count() or 1, count // _DRAWS_FOR_A_THREAD))
    zeros = np.array_split(np.zeros(count, dtype=np.int64), threads)
    if threads == 1:
        return np.array(noise(zeros[0]), dtype=np.int64)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate([np.array(z, dtype=np.int64) for z in pool.map(noise, zeros)])
