"""The sweeps of an iteration one by one, for a party of a federation that runs some of the agents.

Between the sweeps the party exchanges copies with its neighbours. All loads of a network balance
their penalties together, and so do all generators: each party reports its sums of squares, and the
coordinator adds them up and evaluates them.
"""

from typing import Final, NamedTuple

import numpy as np

from gridveil.admm.compiled import DISTRIBUTED, compiled_distributed
from gridveil.admm.draw import Draw
from gridveil.admm.layout import (
    FOREIGN_GENERATORS,
    FOREIGN_LINES,
    FOREIGN_LOADS,
    GENERATORS,
    LOADS,
    Layout,
)
from gridveil.admm.penalties import (
    add_to_window,
    apply_factors,
    choose_factors,
    close_window,
    group_workspace,
    measure_net_squares,
    measure_squares,
)
from gridveil.admm.state import State
from gridveil.admm.sweeps import copy_vector, update_agents, update_buses, update_multipliers
from gridveil.arrays import FloatArray

REPORT_SIZE: Final = 6
PRIMAL, DUAL, LOAD_GAP, LOAD_STEP, GENERATOR_GAP, GENERATOR_STEP = range(REPORT_SIZE)
"""A party's report of an iteration: two maxima, and four sums of squares in the metric of ρ."""


class PenaltyDecision(NamedTuple):
    """The coordinator's decision on penalties at the end of a window."""

    stagnates: bool
    """Whether the primal residual stagnates."""
    may_fall: bool
    """Whether penalties may fall."""
    load_factor: float
    generator_factor: float
    floor: float
    """The lowest penalty that is allowed, relative to the first one."""


@compiled_distributed
def sweep_agents(layout: Layout, draw: Draw, state: State, previous_z: FloatArray) -> None:
    """Store z in `previous_z`, and update the copies of the party's components."""
    copy_vector(state.z, previous_z)
    update_agents(layout, draw, state, False)


@compiled_distributed
def sweep_buses(layout: Layout, state: State) -> None:
    """Update the copies of the party's buses."""
    update_buses(layout, state)


@compiled_distributed
def sweep_multipliers(
    layout: Layout, state: State, previous_z: FloatArray, report: FloatArray
) -> None:
    """Update the multipliers, end the iteration and fill in its report."""
    report[PRIMAL], report[DUAL] = update_multipliers(state, previous_z)
    state.iteration[0] += 1.0
    workspace = group_workspace(len(state.window_gap))
    measure_squares(layout, state, workspace, previous_z)
    gaps, steps = workspace.gap_squares, workspace.step_squares
    report[LOAD_GAP], report[LOAD_STEP] = gaps[LOADS], steps[LOADS]
    report[GENERATOR_GAP], report[GENERATOR_STEP] = gaps[GENERATORS], steps[GENERATORS]
    add_to_window(state, workspace)


@compiled_distributed
def net_squares(layout: Layout, state: State) -> tuple[float, float]:
    """Return the squared net movement of z in this window: of the party's loads, of generators."""
    workspace = group_workspace(len(state.window_gap))
    measure_net_squares(layout, state, workspace)
    return workspace.net_squares[LOADS], workspace.net_squares[GENERATORS]


@compiled_distributed
def update_penalties(layout: Layout, state: State, decision: PenaltyDecision) -> None:
    """Change the penalties at the end of a window.

    Those of the party's lines balance by themselves, those of loads and generators follow the
    coordinator, and those of foreign lines come with their copies.
    """
    workspace = group_workspace(len(state.window_gap))
    measure_net_squares(layout, state, workspace)
    state.penalty_floor[0] = decision.floor
    choose_factors(state, workspace, decision.stagnates, decision.may_fall)
    factor = workspace.penalty_factor
    factor[LOADS] = factor[FOREIGN_LOADS] = decision.load_factor
    factor[GENERATORS] = factor[FOREIGN_GENERATORS] = decision.generator_factor
    factor[FOREIGN_LINES] = 1.0
    apply_factors(layout, state, workspace)


@compiled_distributed
def evaluate_window(state: State, reports: FloatArray, net: tuple[float, float]) -> PenaltyDecision:
    """Decide on the penalties from the sums of all parties, as their coordinator.

    Args:
        state: The coordinator's: of it, only the memory of the penalty rule is used.
        reports: The combined report of every iteration of the window: (iterations, REPORT_SIZE).
        net: The squared net movement of z in the window, of all loads and of all generators.
    """
    workspace = group_workspace(len(state.window_gap))
    gaps, steps = workspace.gap_squares, workspace.step_squares
    for k in range(len(reports)):
        state.iteration[0] += 1.0
        state.window_primal[0] += reports[k, PRIMAL]
        gaps[LOADS], steps[LOADS] = reports[k, LOAD_GAP], reports[k, LOAD_STEP]
        gaps[GENERATORS], steps[GENERATORS] = reports[k, GENERATOR_GAP], reports[k, GENERATOR_STEP]
        add_to_window(state, workspace)
    workspace.net_squares[LOADS], workspace.net_squares[GENERATORS] = net
    stagnates, may_fall = close_window(state)
    choose_factors(state, workspace, stagnates, may_fall)
    factor = workspace.penalty_factor
    return PenaltyDecision(
        stagnates, may_fall, factor[LOADS], factor[GENERATORS], state.penalty_floor[0]
    )


def compile_distributed(layout: Layout, draw: Draw, state: State) -> None:
    """Compile all functions of this module, or load them from the cache; the state is changed."""
    previous_z = state.z.copy()
    reports = np.zeros((1, REPORT_SIZE))
    sweep_agents(layout, draw, state, previous_z)
    sweep_buses(layout, state)
    sweep_multipliers(layout, state, previous_z, reports[0])
    decision = evaluate_window(state, reports, net_squares(layout, state))
    update_penalties(layout, state, decision)
    DISTRIBUTED.complete()
