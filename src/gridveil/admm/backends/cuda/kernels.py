"""The sweeps of an iteration as kernels: one thread per agent, one row of blocks per draw.

Agents call the same functions as on a CPU (sweeps.py, penalties.py); the kernels only distribute
them over threads. Sums are taken in a fixed order, so that a run repeats to the bit: every block
sums up its part, and one block per draw sums up the parts.
"""

import math

from numba import cuda

from gridveil.admm.backends.cuda.graph import cuda_is_simulated, gpu_kind
from gridveil.admm.backends.cuda.workspace import (
    ANGLE,
    COST_SUM,
    DUAL_MAX,
    FINITE,
    GENERATOR_GAP,
    GENERATOR_NET,
    GENERATOR_STEP,
    LOAD_GAP,
    LOAD_NET,
    LOAD_STEP,
    MAXIMA,
    MU_P,
    MU_Q,
    OBJECTIVE_SUM,
    PRIMAL_MAX,
    SUMS,
    W,
    Workspace,
)
from gridveil.admm.compiled import PACKAGE
from gridveil.admm.draw import Draw
from gridveil.admm.iteration import COST, DUAL, OBJECTIVE, PRIMAL, RHO, should_stop
from gridveil.admm.layout import (
    FIRST_LINE_GROUP,
    GENERATORS,
    GROUPS_PER_LINE,
    LOADS,
    Layout,
)
from gridveil.admm.penalties import (
    WINDOW,
    add_group_to_window,
    apply_factor,
    choose_factor,
    close_window,
    paper_penalty,
    squared_distance,
    squared_gap,
)
from gridveil.admm.state import State
from gridveil.admm.sweeps import (
    BUS_SUMS,
    balance_bus,
    bus_power,
    generator_cost,
    squared_displacement,
    sum_bus_copies,
    update_generator,
    update_line,
    update_load,
    update_multiplier,
)
from gridveil.arrays import FloatArray, IntArray
from gridveil.compiled import CodeCache

KERNELS = CodeCache(gpu_kind(), PACKAGE)
LANES, THREADS = (2, 2 * SUMS) if cuda_is_simulated() else (8, 128)
"""Threads that sum up one quantity, and threads of a block. In the simulator each is a thread of
Python."""
BUS_LANES, BUS_THREADS = (2, 8) if cuda_is_simulated() else (8, 64)
"""Threads per bus, and per block of buses."""


@cuda.jit(device=True)
def _of_draw(states: State, draw: int) -> State:
    """Return the state of one draw."""
    return State(
        states.x[draw],
        states.z[draw],
        states.dual[draw],
        states.rho[draw],
        states.line_solution[draw],
        states.window_z[draw],
        states.window_gap[draw],
        states.window_step[draw],
        states.direction_changes[draw],
        states.last_factor[draw],
        states.relative_penalty[draw],
        states.window_primal[draw],
        states.last_window_primal[draw],
        states.penalty_floor[draw],
        states.iteration[draw],
        states.within_tolerance_count[draw],
    )


@cuda.jit(device=True)
def _loads_of(draws: Draw, draw: int) -> Draw:
    """Return the noisy loads of one draw, their weights and their limits."""
    return Draw(draws.noisy[draw], draws.weights[draw], draws.p_min[draw], draws.slopes[draw])


@cuda.jit(device=True)
def _copy(item: int, end: int, first_line: int, lines: int) -> int:
    """Return the place of the copy at one end; `item` counts the groups of lines: p, q, w, θ."""
    kind, line = item // lines, item % lines
    return first_line + (kind + 2 * end if kind < 2 else 2 * kind + end) * lines + line


@cuda.jit(device=True)
def _block_sums(own: tuple[float, ...], shared: FloatArray, maxima: int) -> None:
    """Sum up the numbers of all threads of a block into column 0; of the first the maximum."""
    for number in range(len(own)):
        shared[number, cuda.threadIdx.x] = own[number]
    cuda.syncthreads()
    _row_sums(shared, len(own), THREADS, shared, maxima)


@cuda.jit(device=True)
def _row_sums(
    source: FloatArray, numbers: int, width: int, shared: FloatArray, maxima: int
) -> None:
    """Sum up so many rows of an array, so wide, into column 0; of the first rows the maximum."""
    t = cuda.threadIdx.x
    number, lane, total = t // LANES, t % LANES, 0.0
    if number < numbers:
        for other in range(lane, width, LANES):
            part = source[number, other]
            total = max(total, part) if number < maxima else total + part
    cuda.syncthreads()
    if number < numbers:
        shared[number, lane] = total
    cuda.syncthreads()
    if number < numbers and lane == 0:
        for other in range(1, LANES):
            part = shared[number, other]
            total = max(total, part) if number < maxima else total + part
        shared[number, 0] = total
    cuda.syncthreads()


@KERNELS.compile_kernel
def update_agents(layout: Layout, draws: Draw, states: State, workspace: Workspace) -> None:
    """Update every line, load and generator agent."""
    draw = cuda.blockIdx.y
    if workspace.finished[draw]:
        return
    state = _of_draw(states, draw)
    lines, loads = len(layout.rate), draws.noisy.shape[1]
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < lines:
        update_line(layout, state, i)
    elif i < lines + loads:
        update_load(_loads_of(draws, draw), state, i - lines)
    elif i < lines + loads + len(layout.q_min):
        update_generator(layout, state, loads, i - lines - loads)


@KERNELS.compile_kernel
def solve_buses(layout: Layout, states: State, workspace: Workspace) -> None:
    """Solve every bus agent with several threads; its copies follow with the multipliers."""
    shared = cuda.shared.array((BUS_SUMS, BUS_THREADS), "float64")
    draw, t = cuda.blockIdx.y, cuda.threadIdx.x
    if workspace.finished[draw]:
        return
    bus, lane = (cuda.blockIdx.x * BUS_THREADS + t) // BUS_LANES, t % BUS_LANES
    if bus < len(layout.shunt_g):
        own = sum_bus_copies(layout, _of_draw(states, draw), bus, lane, BUS_LANES)
        for number in range(BUS_SUMS):
            shared[number, t] = own[number]
    cuda.syncthreads()
    if lane > 0 or bus >= len(layout.shunt_g):
        return
    for other in range(1, BUS_LANES):
        for number in range(BUS_SUMS):
            shared[number, t] += shared[number, t + other]
    sums = (
        shared[0, t],
        shared[1, t],
        shared[2, t],
        shared[3, t],
        shared[4, t],
        shared[5, t],
        shared[6, t],
        shared[7, t],
    )
    solution = workspace.bus_solution[draw]
    solution[MU_P, bus], solution[MU_Q, bus], solution[W, bus], solution[ANGLE, bus] = balance_bus(
        layout, bus, sums
    )


@cuda.jit(device=True)
def _update_copy(
    state: State, bus_solution: FloatArray, owner: IntArray, i: int, kind: int, sign: float
) -> float:
    """Update one copy from the solution of its bus; return its previous value."""
    previous, solution = state.z[i], bus_solution[kind, owner[i]]
    state.z[i] = bus_power(state, i, sign * solution) if kind <= MU_Q else solution
    return float(previous)


@cuda.jit(device=True)
def _end_iteration(
    state: State,
    workspace: Workspace,
    draw: int,
    shared: FloatArray,
    tolerance: float,
    paper_rule: bool,
) -> None:
    """End an iteration: write its row of history, choose factors, find out if it was the last."""
    primal, dual = shared[PRIMAL_MAX, 0], shared[DUAL_MAX, 0]
    if not math.isfinite(shared[FINITE, 0]):
        primal = dual = math.nan
    state.iteration[0] += 1.0
    row = workspace.history[workspace.rows[draw], draw]
    row[PRIMAL], row[DUAL], row[RHO] = primal, dual, workspace.rho[draw]
    row[OBJECTIVE], row[COST] = shared[OBJECTIVE_SUM, 0], shared[COST_SUM, 0]
    workspace.rows[draw] += 1
    changes = 0
    if paper_rule:
        rho = paper_penalty(state.rho[0], state.iteration[0], primal, dual)
        changes, workspace.rho[draw] = int(rho != state.rho[0]), rho
    else:
        add_group_to_window(state, LOADS, shared[LOAD_GAP, 0], shared[LOAD_STEP, 0])
        add_group_to_window(state, GENERATORS, shared[GENERATOR_GAP, 0], shared[GENERATOR_STEP, 0])
        state.window_primal[0] += primal
        if state.iteration[0] % WINDOW == 0:
            stagnates, may_fall = close_window(state)
            workspace.stagnates[draw], workspace.may_fall[draw] = int(stagnates), int(may_fall)
            factor = workspace.factor[draw]
            factor[LOADS] = choose_factor(state, LOADS, shared[LOAD_NET, 0], stagnates, may_fall)
            factor[GENERATORS] = choose_factor(
                state, GENERATORS, shared[GENERATOR_NET, 0], stagnates, may_fall
            )
            changes = 1
    workspace.penalties_change[draw] = changes
    if should_stop(state, primal, dual, tolerance):
        workspace.finished[draw] = 1


@KERNELS.compile_kernel
def update_multipliers(
    layout: Layout,
    draws: Draw,
    states: State,
    workspace: Workspace,
    tolerance: float,
    paper_rule: bool,
) -> None:
    """Update the buses' copies and the multipliers, and end the iteration.

    Every block sums up its part; the last one to finish sums up the parts.
    """
    is_last = cuda.shared.array(1, "int64")
    shared = cuda.shared.array((SUMS, THREADS), "float64")
    draw, block, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if workspace.finished[draw]:
        if t == 0 and block == 0:
            workspace.penalties_change[draw] = 0
        return
    state, owner = _of_draw(states, draw), workspace.owner
    drawn = _loads_of(draws, draw)
    bus_solution = workspace.bus_solution[draw]
    lines, loads, generators = len(layout.rate), draws.noisy.shape[1], len(layout.q_min)
    first_line = loads + 2 * generators
    primal = dual = total = objective = cost = 0.0
    load_gap = generator_gap = load_step = generator_step = load_net = generator_net = 0.0
    for i in range(
        block * THREADS + t, first_line + GROUPS_PER_LINE * lines, cuda.gridDim.x * THREADS
    ):
        if i < loads:
            previous = _update_copy(
                state, bus_solution, owner, i, MU_P if 2 * i < loads else MU_Q, -1.0
            )
            gap, step = update_multiplier(state, i, previous)
            primal, dual, total = max(primal, gap), max(dual, step), total + gap + step
            objective += squared_displacement(drawn, state, i)
            load_gap += squared_gap(state, i)
            load_step += squared_distance(state, i, previous)
            load_net += squared_distance(state, i, state.window_z[i])
        elif i < first_line:
            is_p = i < loads + generators
            previous = _update_copy(state, bus_solution, owner, i, MU_P if is_p else MU_Q, 1.0)
            gap, step = update_multiplier(state, i, previous)
            primal, dual, total = max(primal, gap), max(dual, step), total + gap + step
            if is_p:
                cost += generator_cost(layout, i - loads, state.x[i])
            generator_gap += squared_gap(state, i)
            generator_step += squared_distance(state, i, previous)
            generator_net += squared_distance(state, i, state.window_z[i])
        else:
            kind = (i - first_line) // lines
            gap_squares = step_squares = 0.0
            for end in range(2):
                k = _copy(i - first_line, end, first_line, lines)
                previous = _update_copy(state, bus_solution, owner, k, kind, -1.0)
                gap, step = update_multiplier(state, k, previous)
                primal, dual, total = max(primal, gap), max(dual, step), total + gap + step
                gap_squares += squared_gap(state, k)
                step_squares += squared_distance(state, k, previous)
            if not paper_rule:
                group = FIRST_LINE_GROUP + i - first_line
                add_group_to_window(state, group, gap_squares, step_squares)
    own = (
        primal,
        dual,
        total,
        objective,
        cost,
        load_gap,
        generator_gap,
        load_step,
        generator_step,
        load_net,
        generator_net,
    )
    _block_sums(own, shared, MAXIMA)
    if t < SUMS:
        workspace.sums[draw, t, block] = shared[t, 0]
    cuda.threadfence()
    cuda.syncthreads()
    if t == 0:
        done = cuda.atomic.add(workspace.blocks_done, draw, 1) + 1
        is_last[0] = int(done == cuda.gridDim.x)
    cuda.syncthreads()
    if is_last[0] == 0:
        return
    cuda.threadfence()
    _row_sums(workspace.sums[draw], SUMS, cuda.gridDim.x, shared, MAXIMA)
    if t == 0:
        workspace.blocks_done[draw] = 0
        _end_iteration(state, workspace, draw, shared, tolerance, paper_rule)


@KERNELS.compile_kernel
def update_penalties(layout: Layout, draws: Draw, states: State, workspace: Workspace) -> None:
    """Change the penalties at the end of a window, and sum up their logarithms."""
    shared = cuda.shared.array((1, THREADS), "float64")
    draw, block, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if not workspace.penalties_change[draw]:
        return
    state = _of_draw(states, draw)
    stagnates, may_fall = workspace.stagnates[draw] == 1, workspace.may_fall[draw] == 1
    lines, loads = len(layout.rate), draws.noisy.shape[1]
    first_line = loads + 2 * len(layout.q_min)
    total = 0.0
    for i in range(
        block * THREADS + t, first_line + GROUPS_PER_LINE * lines, cuda.gridDim.x * THREADS
    ):
        if i < first_line:
            apply_factor(state, i, workspace.factor[draw, LOADS if i < loads else GENERATORS])
            total += math.log(state.rho[i])
        else:
            a = _copy(i - first_line, 0, first_line, lines)
            b = _copy(i - first_line, 1, first_line, lines)
            net = squared_distance(state, a, state.window_z[a]) + squared_distance(
                state, b, state.window_z[b]
            )
            factor = choose_factor(
                state, FIRST_LINE_GROUP + i - first_line, net, stagnates, may_fall
            )
            apply_factor(state, a, factor)
            apply_factor(state, b, factor)
            total += math.log(state.rho[a]) + math.log(state.rho[b])
    _block_sums((total,), shared, 0)
    if t == 0:
        workspace.sums[draw, 0, block] = shared[0, 0]


@KERNELS.compile_kernel
def average_penalties(states: State, workspace: Workspace, blocks: int) -> None:
    """Take the geometric mean of all penalties, for the next rows of history."""
    shared = cuda.shared.array((1, THREADS), "float64")
    draw, t = cuda.blockIdx.y, cuda.threadIdx.x
    if not workspace.penalties_change[draw]:
        return
    _row_sums(workspace.sums[draw], 1, blocks, shared, 0)
    if t == 0:
        workspace.rho[draw] = math.exp(shared[0, 0] / states.rho.shape[1])


@KERNELS.compile_kernel
def apply_paper_penalty(states: State, workspace: Workspace) -> None:
    """Set all penalties to the one of the paper's rule."""
    draw = cuda.blockIdx.y
    if not workspace.penalties_change[draw]:
        return
    first = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(first, states.rho.shape[1], cuda.gridDim.x * cuda.blockDim.x):
        states.rho[draw, i] = workspace.rho[draw]
