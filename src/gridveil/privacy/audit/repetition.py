"""Plays about repetition: the same noise twice, in two calls, two processes or two forks.

The same load is released many times in either of two draws, and the outputs are compared row by
row. Noise that comes twice is no noise: whoever knows one load of two can subtract it.

Proof of the chance. If the n rows of both draws are drawn independently and alike, any order of the
second draw's rows is as likely as any other. Let M be the number of equal pairs of a row of the
first draw and one of the second, wherever they stand. There are at most M^j/j! sets of j such pairs
with no row twice, and each set stands row by row with probability (n − j)!/n!. So at least k equal
rows have a probability of at most M^j (n − j)!/(j! n!) for every j ≤ k; the smallest of these
bounds is taken. For 500 rows that all differ and all come twice it is below 10^−900. Where there is
so little noise that most rows are alike, M is large and nothing is proved.
"""

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import gammaln

from gridveil.arrays import IntArray
from gridveil.privacy.audit.fresh import Draws
from gridveil.privacy.audit.result import Repetition
from gridveil.privacy.mechanisms.base import Mechanism, checked_draw

NAME = "repetition"
ROWS = 500
"""How often the load is released in a draw."""
TESTED: Mapping[str, str] = {
    "two calls": "whether two calls in this process draw the same noise",
    "two processes": "whether two fresh processes, each with a copy of the mechanism, draw the "
    "same noise",
    "two forks": "whether two forks of a process draw the same noise",
}


def repetitions(
    mechanism: Mechanism, load: IntArray, fresh: Draws | None, error: float
) -> tuple[Repetition, ...]:
    """Compare draws of this process, and those of fresh processes and forks where there are any."""
    loads = np.tile(load, (ROWS, 1))
    pairs = {"two calls": (checked_draw(mechanism, loads), checked_draw(mechanism, loads))}
    if fresh is not None:
        pairs["two processes"] = fresh.processes
        if fresh.forks is not None:
            pairs["two forks"] = fresh.forks
    return tuple(
        _compared(name, first, second, error / len(TESTED))
        for name, (first, second) in pairs.items()
    )


def _compared(name: str, first: IntArray, second: IntArray, error: float) -> Repetition:
    equal = int((first == second).all(axis=1).sum())
    chance = chance_of_equal_rows(first, second)
    return Repetition(name, TESTED[name], equal, len(first), chance, chance <= error)


def chance_of_equal_rows(first: IntArray, second: IntArray) -> float:
    """Bound how likely so many equal rows are, given the rows, if both are drawn afresh."""
    rows = len(first)
    _, kinds = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
    kinds = kinds.ravel()
    count = int(kinds.max()) + 1
    pairs = int(
        np.bincount(kinds[:rows], minlength=count) @ np.bincount(kinds[rows:], minlength=count)
    )
    equal = int((first == second).all(axis=1).sum())
    if equal == 0:
        return 1.0
    j = np.arange(equal + 1)
    logs = j * math.log(pairs) + gammaln(rows - j + 1) - gammaln(j + 1) - gammaln(rows + 1)
    return float(np.exp(min(0.0, logs.min())))
