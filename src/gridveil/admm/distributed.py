"""The rounds of an iteration one by one, for a party that runs some of the agents only.

Between them the party exchanges copies with its neighbours. What concerns all loads or all
generators goes by sums, which a coordinator adds up and judges.
"""

import numpy as np

from gridveil.admm.compiled import STEPS, compiled_step
from gridveil.admm.layout import Layout
from gridveil.admm.penalties import (
    add_ways,
    apply,
    close_window,
    decide,
    measure,
    measure_net,
)
from gridveil.admm.state import State
from gridveil.admm.sweeps import agents_round, bus_round, multiplier_round, remember
from gridveil.arrays import FloatArray

PRIMAL, DUAL, LOAD_GAP, LOAD_STEP, GENERATOR_GAP, GENERATOR_STEP = range(6)
"""What a party tells of an iteration: two maxima, and four sums of squares in the metric of ρ."""
TOLD = 6


@compiled_step
def answer(layout: Layout, noisy: FloatArray, state: State, before: FloatArray) -> None:
    """Let the party's agents answer the buses' copies; keep these as they were in `before`."""
    remember(state.z, before)
    agents_round(layout, noisy, state, False)


@compiled_step
def settle(layout: Layout, state: State) -> None:
    """Let the party's buses answer the agents' copies."""
    bus_round(layout, state)


@compiled_step
def conclude(layout: Layout, state: State, before: FloatArray, told: FloatArray) -> None:
    """Move the multipliers and end the iteration; put what the coordinator may know into `told`."""
    told[PRIMAL], told[DUAL] = multiplier_round(state, before)
    state.iteration[0] += 1.0
    measure(layout, state, before)
    told[LOAD_GAP], told[LOAD_STEP] = state.ways[2, 0], state.ways[3, 0]
    told[GENERATOR_GAP], told[GENERATOR_STEP] = state.ways[2, 1], state.ways[3, 1]
    add_ways(state)


@compiled_step
def net_ways(layout: Layout, state: State) -> tuple[float, float]:
    """Return the squares of how far the party's loads and generators got in this window."""
    measure_net(layout, state)
    return state.ways[2, 0], state.ways[2, 1]


@compiled_step
def rebalance(
    layout: Layout,
    state: State,
    stagnates: bool,
    may_fall: bool,
    load_factor: float,
    generator_factor: float,
    floor: float,
) -> None:
    """Change the penalties at the end of a window.

    The party's lines do so by themselves, loads and generators as the coordinator says. Those of
    others' lines come with their copies.
    """
    net_ways(layout, state)
    state.floor[0] = floor
    decide(state, stagnates, may_fall)
    others = 2 + 4 * len(layout.rate)
    factors = state.ways[4]
    factors[0] = factors[others] = load_factor
    factors[1] = factors[others + 1] = generator_factor
    factors[others + 2] = 1.0
    apply(layout, state)


@compiled_step
def judge(
    state: State, told: FloatArray, net: tuple[float, float]
) -> tuple[bool, bool, float, float, float]:
    """Judge a window from the sums of all parties, as their coordinator.

    Return whether the residual stagnates, whether penalties may fall, by what those of the loads
    and of the generators change, and below what none may be. Of the state, only what the two groups
    remember is used.
    """
    ways = state.ways
    for k in range(len(told)):
        state.iteration[0] += 1.0
        state.residuals[0] += told[k, PRIMAL]
        ways[2, 0], ways[3, 0] = told[k, LOAD_GAP], told[k, LOAD_STEP]
        ways[2, 1], ways[3, 1] = told[k, GENERATOR_GAP], told[k, GENERATOR_STEP]
        add_ways(state)
    ways[2, 0], ways[2, 1] = net
    stagnates, may_fall = close_window(state)
    decide(state, stagnates, may_fall)
    return stagnates, may_fall, ways[4, 0], ways[4, 1], state.floor[0]


def compile_steps(layout: Layout, noisy: FloatArray, state: State) -> None:
    """Compile all steps, or take them from the cache; the state is changed."""
    before = state.z.copy()
    told = np.zeros((1, TOLD))
    answer(layout, noisy, state, before)
    settle(layout, state)
    conclude(layout, state, before, told[0])
    rebalance(layout, state, False, False, 1.0, 1.0, state.floor[0])
    judge(state, told, net_ways(layout, state))
    STEPS.complete()
