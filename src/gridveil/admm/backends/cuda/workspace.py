"""What the kernels need besides the agents' layout and state: room to add up, and the history."""

from typing import NamedTuple

from gridveil.arrays import FloatArray, IntArray

SUMS = 11
"""How many numbers of an iteration are added up over all agents."""
MAXIMA = 2
"""Of how many, the first, the largest is wanted and not the sum."""
(
    PRIMAL_MAX, DUAL_MAX, FINITE, OBJECTIVE_SUM, COST_SUM,
    LOAD_GAP, GENERATOR_GAP, LOAD_STEP, GENERATOR_STEP, LOAD_NET, GENERATOR_NET,
) = range(SUMS)  # fmt: skip

MU_P, MU_Q, W, ANGLE = range(4)
"""What a bus comes to: the multipliers of its balances, and its voltage."""


class Desk(NamedTuple):
    """Working memory, apart for every draw."""

    owner: IntArray
    """(size): whose bus each copy belongs to; the same for all draws."""
    settled: FloatArray
    """(draws, 4, buses): what the buses came to, in this order."""
    sums: FloatArray
    """(draws, SUMS, blocks): what each block of threads added up."""
    done: IntArray
    """How many blocks of threads are done with the current iteration."""
    history: FloatArray
    """(rows, draws, columns): the iterations since the host last looked."""
    rows: IntArray
    """How many of these rows are filled."""
    ended: IntArray
    """1 for a draw that is done."""
    changes: IntArray
    """1 where penalties change at the end of this iteration."""
    verdict: IntArray
    """(draws, 2): whether the residual stagnates, and whether penalties may fall."""
    rho: FloatArray
    """The typical penalty, as the history shows it."""
