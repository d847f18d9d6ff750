"""Many iterations in one call of compiled code, with a row of history for each."""

import math
from typing import Final

import numpy as np

from gridveil.admm.compiled import compiled, compiled_inner
from gridveil.admm.layout import Layout
from gridveil.admm.penalties import balance, follow_the_paper
from gridveil.admm.state import State
from gridveil.admm.sweeps import (
    agents_round,
    bus_round,
    dispatch_cost,
    displacement,
    multiplier_round,
    remember,
    typical_penalty,
)
from gridveil.arrays import FloatArray

PRIMAL, DUAL, RHO, OBJECTIVE, COST = range(5)
"""The columns of a history."""
COLUMNS: Final = 5
HOLD: Final = 10
"""For how many iterations on end both residuals must be within the tolerance."""


@compiled
def advance(
    layout: Layout,
    noisy: FloatArray,
    state: State,
    as_the_paper: bool,
    tolerance: float,
    threaded: bool,
    history: FloatArray,
) -> int:
    """Iterate for as many rows as `history` has; return how many iterations were done.

    It ends earlier once both residuals have stayed within the tolerance for HOLD iterations: a
    single one may be a lucky moment. It also ends where numbers end.
    """
    before = np.empty(len(state.z))
    rho = typical_penalty(state)
    for k in range(len(history)):
        remember(state.z, before)
        agents_round(layout, noisy, state, threaded)
        bus_round(layout, state)
        primal, dual = multiplier_round(state, before)
        state.iteration[0] += 1.0
        history[k, PRIMAL], history[k, DUAL], history[k, RHO] = primal, dual, rho
        history[k, OBJECTIVE] = displacement(noisy, state)
        history[k, COST] = dispatch_cost(layout, len(noisy), state)
        if as_the_paper:
            changed = follow_the_paper(state, primal, dual)
        else:
            changed = balance(layout, state, before, primal)
        if changed:
            rho = typical_penalty(state)
        if is_over(state, primal, dual, tolerance):
            return k + 1
    return len(history)


@compiled_inner
def is_over(state: State, primal: float, dual: float, tolerance: float) -> bool:
    """Count iterations on end within the tolerance; return whether these residuals end a run."""
    calm = primal <= tolerance and dual <= tolerance
    state.iteration[1] = state.iteration[1] + 1.0 if calm else 0.0
    return bool(state.iteration[1] >= HOLD or not math.isfinite(primal + dual))
