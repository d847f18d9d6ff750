"""Working memory of the kernels besides layout and state: partial sums, bus solutions, history."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gridveil.admm.draw import make_draw
from gridveil.admm.initial_state import flat_state
from gridveil.admm.iteration import COLUMNS
from gridveil.admm.layout import FIRST_LINE_GROUP, Layout
from gridveil.admm.policy import Policy
from gridveil.arrays import FloatArray, IntArray

SUMS = 11
"""The number of quantities of an iteration that are summed up over all agents."""
MAXIMA = 2
"""Of so many, the first ones, the maximum is taken instead."""
(
    PRIMAL_MAX, DUAL_MAX, FINITE, OBJECTIVE_SUM, COST_SUM,
    LOAD_GAP, GENERATOR_GAP, LOAD_STEP, GENERATOR_STEP, LOAD_NET, GENERATOR_NET,
) = range(SUMS)  # fmt: skip

BUS_VARIABLES = 4
MU_P, MU_Q, W, ANGLE = range(BUS_VARIABLES)
"""The solution of a bus agent: the multipliers of its balances, and its voltage."""
ROWS = 1000
"""The largest number of iterations before the host reads the history."""
MOST_BLOCKS = 512
"""The largest number of blocks per draw whose sums are summed up."""


class Workspace(NamedTuple):
    """Working memory, separate for every draw."""

    owner: IntArray
    """(size): the bus of every copy; the same for all draws."""
    bus_solution: FloatArray
    """(draws, BUS_VARIABLES, buses)."""
    sums: FloatArray
    """(draws, SUMS, blocks): the partial sums of every block of threads."""
    blocks_done: IntArray
    """(draws): how many blocks have finished the current iteration."""
    history: FloatArray
    """(ROWS, draws, COLUMNS): the iterations since the host last read them."""
    rows: IntArray
    """(draws): how many of these rows are filled."""
    finished: IntArray
    """(draws): 1 if the draw has finished."""
    penalties_change: IntArray
    """(draws): 1 if penalties change at the end of this iteration."""
    stagnates: IntArray
    """(draws): 1 if the primal residual stagnates."""
    may_fall: IntArray
    """(draws): 1 if penalties may fall."""
    factor: FloatArray
    """(draws, FIRST_LINE_GROUP): the penalty factors of loads and of generators."""
    rho: FloatArray
    """(draws): the typical penalty, for the history."""


def new_workspace(layout: Layout, draws: int, blocks: int) -> Workspace:
    """Return working memory in which all draws count as finished."""

    def flags() -> IntArray:
        return np.zeros(draws, dtype=np.int64)

    return Workspace(
        owner=layout.owners(),
        bus_solution=np.zeros((draws, BUS_VARIABLES, len(layout.shunt_g))),
        sums=np.zeros((draws, SUMS, blocks)),
        blocks_done=flags(),
        history=np.zeros((ROWS, draws, COLUMNS)),
        rows=flags(),
        finished=np.ones(draws, dtype=np.int64),
        penalties_change=flags(),
        stagnates=flags(),
        may_fall=flags(),
        factor=np.ones((draws, FIRST_LINE_GROUP)),
        rho=np.zeros(draws),
    )


def bytes_for_all(layout: Layout) -> int:
    """Return the memory that the draws of a network share on the GPU."""
    return _bytes(layout) + layout.owners().nbytes


def bytes_per_draw(layout: Layout) -> int:
    """Return the memory that each draw takes besides that."""
    draw = make_draw(np.zeros(2 * layout.loads))
    state = flat_state(layout, draw.noisy, Policy.FAST)
    workspace = new_workspace(layout, 1, MOST_BLOCKS)
    return _bytes(draw) + _bytes(state) + _bytes(workspace) - workspace.owner.nbytes


def _bytes(arrays: Iterable[NDArray[Any]]) -> int:
    return sum(array.nbytes for array in arrays)
