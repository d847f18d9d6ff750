"""Many iterations in one call of compiled code, with a row of history for each."""

import math
from typing import Final

import numpy as np

from gridveil.admm.compiled import compiled, compiled_inner
from gridveil.admm.draw import Draw
from gridveil.admm.layout import Layout
from gridveil.admm.penalties import apply_paper_rule, balance_residuals, group_workspace
from gridveil.admm.state import State
from gridveil.admm.sweeps import (
    copy_vector,
    dispatch_cost,
    load_objective,
    typical_penalty,
    update_agents,
    update_buses,
    update_multipliers,
)
from gridveil.arrays import FloatArray

COLUMNS: Final = 5
PRIMAL, DUAL, RHO, OBJECTIVE, COST = range(COLUMNS)
"""The columns of a history, in the order of the fields of History."""
ITERATIONS_WITHIN_TOLERANCE: Final = 10
"""A run has converged once both residuals were within the tolerance for so many consecutive
iterations."""


@compiled
def advance(
    layout: Layout,
    draw: Draw,
    state: State,
    paper_rule: bool,
    tolerance: float,
    threaded: bool,
    history: FloatArray,
) -> int:
    """Iterate for as many rows as `history` has; return how many iterations were done.

    It stops earlier once both residuals were within the tolerance for ITERATIONS_WITHIN_TOLERANCE
    iterations (a single one may be chance), and when a residual is not finite.
    """
    previous_z = np.empty(len(state.z))
    workspace = group_workspace(len(state.window_gap))
    rho = typical_penalty(state)
    for k in range(len(history)):
        copy_vector(state.z, previous_z)
        update_agents(layout, draw, state, threaded)
        update_buses(layout, state)
        primal, dual = update_multipliers(state, previous_z)
        state.iteration[0] += 1.0
        history[k, PRIMAL], history[k, DUAL], history[k, RHO] = primal, dual, rho
        history[k, OBJECTIVE] = load_objective(draw, state)
        history[k, COST] = dispatch_cost(layout, len(draw.noisy), state)
        if paper_rule:
            changed = apply_paper_rule(state, primal, dual)
        else:
            changed = balance_residuals(layout, state, workspace, previous_z, primal)
        if changed:
            rho = typical_penalty(state)
        if should_stop(state, primal, dual, tolerance):
            return k + 1
    return len(history)


@compiled_inner
def should_stop(state: State, primal: float, dual: float, tolerance: float) -> bool:
    """Count consecutive iterations within the tolerance; return whether the run stops here."""
    within = primal <= tolerance and dual <= tolerance
    count = state.within_tolerance_count[0] + 1.0 if within else 0.0
    state.within_tolerance_count[0] = count
    return bool(count >= ITERATIONS_WITHIN_TOLERANCE or not math.isfinite(primal + dual))
