"""The rounds of an iteration as kernels: one thread an agent, one row of blocks a draw.

What an agent does is the same function as on a CPU (rounds.py, penalties.py); here is only who does
what at the same time. Sums go in a fixed order, so that a run repeats to the bit: every block adds
up its part, and one block per draw adds up the parts.
"""

import math

from numba import cuda

from gridveil.admm.backends.cuda.graph import cuda_is_simulated, kind_of_gpu
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
    Desk,
    W,
)
from gridveil.admm.compiled import CodeCache
from gridveil.admm.iteration import COST, DUAL, OBJECTIVE, PRIMAL, RHO, is_over
from gridveil.admm.layout import Layout
from gridveil.admm.penalties import (
    WINDOW,
    add_way,
    begin_window,
    close_window,
    decide_for,
    paper_penalty,
    squared_gap,
    squared_way,
)
from gridveil.admm.state import State
from gridveil.admm.sweeps import (
    agreed_power,
    answer_generator,
    answer_line,
    answer_load,
    balance_bus,
    gather_bus,
    generator_cost,
    move_multiplier,
)
from gridveil.arrays import FloatArray, IntArray

KERNELS = CodeCache(kind_of_gpu())
LANES, THREADS = (2, 2 * SUMS) if cuda_is_simulated() else (8, 128)
"""Threads that add up the parts of one number, and threads of a block that adds up all of them.
The simulator makes a thread of Python for each."""
BUS_LANES, BUS_THREADS = (2, 8) if cuda_is_simulated() else (8, 64)
"""Threads to a bus, and to a block of buses."""


@cuda.jit(device=True)
def _of_draw(states: State, draw: int) -> State:
    """Return the state of one draw."""
    return State(
        states.x[draw],
        states.z[draw],
        states.dual[draw],
        states.rho[draw],
        states.lines[draw],
        states.window_z[draw],
        states.ways[draw],
        states.turns[draw],
        states.last_factor[draw],
        states.raised[draw],
        states.residuals[draw],
        states.floor[draw],
        states.iteration[draw],
    )


@cuda.jit(device=True)
def _copy(item: int, end: int, first_line: int, lines: int) -> int:
    """Return where the copy at an end stands, of the item-th of all lines' p, then q, w and θ."""
    kind, line = item // lines, item % lines
    return first_line + (kind + 2 * end if kind < 2 else 2 * kind + end) * lines + line


@cuda.jit(device=True)
def _block_sums(own: tuple[float, ...], shared: FloatArray, maxima: int) -> None:
    """Add up the numbers of all threads of a block into column 0; of the first the largest."""
    for number in range(len(own)):
        shared[number, cuda.threadIdx.x] = own[number]
    cuda.syncthreads()
    _row_sums(shared, len(own), THREADS, shared, maxima)


@cuda.jit(device=True)
def _row_sums(
    source: FloatArray, numbers: int, width: int, shared: FloatArray, maxima: int
) -> None:
    """Add up so many rows of an array, so wide, into column 0; of the first rows the largest."""
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
def agents(layout: Layout, noisy: FloatArray, states: State, desk: Desk) -> None:
    """Let every line, load and generator agent answer."""
    draw = cuda.blockIdx.y
    if desk.ended[draw]:
        return
    state = _of_draw(states, draw)
    lines, loads = len(layout.rate), noisy.shape[1]
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < lines:
        answer_line(layout, state, i)
    elif i < lines + loads:
        answer_load(noisy[draw], state, i - lines)
    elif i < lines + loads + len(layout.q_min):
        answer_generator(layout, state, loads, i - lines - loads)


@KERNELS.compile_kernel
def buses(layout: Layout, states: State, desk: Desk) -> None:
    """Let every bus agent balance, some threads to each; the copies follow with the multipliers."""
    shared = cuda.shared.array((8, BUS_THREADS), "float64")
    draw, t = cuda.blockIdx.y, cuda.threadIdx.x
    if desk.ended[draw]:
        return
    bus, lane = (cuda.blockIdx.x * BUS_THREADS + t) // BUS_LANES, t % BUS_LANES
    if bus < len(layout.shunt_g):
        own = gather_bus(layout, _of_draw(states, draw), bus, lane, BUS_LANES)
        for number in range(8):
            shared[number, t] = own[number]
    cuda.syncthreads()
    if lane > 0 or bus >= len(layout.shunt_g):
        return
    for other in range(1, BUS_LANES):
        for number in range(8):
            shared[number, t] += shared[number, t + other]
    wanted = (
        shared[0, t],
        shared[1, t],
        shared[2, t],
        shared[3, t],
        shared[4, t],
        shared[5, t],
        shared[6, t],
        shared[7, t],
    )
    settled = desk.settled[draw]
    settled[MU_P, bus], settled[MU_Q, bus], settled[W, bus], settled[ANGLE, bus] = balance_bus(
        layout, bus, wanted
    )


@cuda.jit(device=True)
def _agree(
    state: State, settled: FloatArray, owner: IntArray, i: int, kind: int, sign: float
) -> float:
    """Put what its bus came to into one copy; return what was there before."""
    before, answer = state.z[i], settled[kind, owner[i]]
    state.z[i] = agreed_power(state, i, sign * answer) if kind <= MU_Q else answer
    return float(before)


@cuda.jit(device=True)
def _conclude(
    state: State,
    desk: Desk,
    draw: int,
    shared: FloatArray,
    tolerance: float,
    as_the_paper: bool,
) -> None:
    """End an iteration: its row of history, whether it was the last, what penalties are to do."""
    primal, dual = shared[PRIMAL_MAX, 0], shared[DUAL_MAX, 0]
    if not math.isfinite(shared[FINITE, 0]):
        primal = dual = math.nan
    state.iteration[0] += 1.0
    row = desk.history[desk.rows[draw], draw]
    row[PRIMAL], row[DUAL], row[RHO] = primal, dual, desk.rho[draw]
    row[OBJECTIVE], row[COST] = shared[OBJECTIVE_SUM, 0], shared[COST_SUM, 0]
    desk.rows[draw] += 1
    changes = 0
    if as_the_paper:
        rho = paper_penalty(state.rho[0], state.iteration[0], primal, dual)
        changes, desk.rho[draw] = int(rho != state.rho[0]), rho
    else:
        add_way(state, 0, shared[LOAD_GAP, 0], shared[LOAD_STEP, 0])
        add_way(state, 1, shared[GENERATOR_GAP, 0], shared[GENERATOR_STEP, 0])
        state.residuals[0] += primal
        if state.iteration[0] % WINDOW == 0:
            stagnates, may_fall = close_window(state)
            desk.verdict[draw, 0], desk.verdict[draw, 1] = int(stagnates), int(may_fall)
            nets = (shared[LOAD_NET, 0], shared[GENERATOR_NET, 0])
            for group in range(2):
                state.ways[4, group] = decide_for(state, group, nets[group], stagnates, may_fall)
            changes = 1
    desk.changes[draw] = changes
    if is_over(state, primal, dual, tolerance):
        desk.ended[draw] = 1


@KERNELS.compile_kernel
def multipliers(
    layout: Layout,
    noisy: FloatArray,
    states: State,
    desk: Desk,
    tolerance: float,
    as_the_paper: bool,
) -> None:
    """Let the buses' copies agree, move the multipliers, and end the iteration.

    Every block adds up what its part came to; the last one to be done adds up the parts.
    """
    is_last = cuda.shared.array(1, "int64")
    shared = cuda.shared.array((SUMS, THREADS), "float64")
    draw, block, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if desk.ended[draw]:
        if t == 0 and block == 0:
            desk.changes[draw] = 0
        return
    state, settled, owner = _of_draw(states, draw), desk.settled[draw], desk.owner
    lines, loads, generators = len(layout.rate), noisy.shape[1], len(layout.q_min)
    first_line = loads + 2 * generators
    primal = dual = total = objective = cost = 0.0
    load_gap = generator_gap = load_step = generator_step = load_net = generator_net = 0.0
    for i in range(block * THREADS + t, first_line + 4 * lines, cuda.gridDim.x * THREADS):
        if i < loads:
            before = _agree(state, settled, owner, i, MU_P if 2 * i < loads else MU_Q, -1.0)
            gap, step = move_multiplier(state, i, before)
            primal, dual, total = max(primal, gap), max(dual, step), total + gap + step
            objective += (state.x[i] - noisy[draw, i]) ** 2
            load_gap += squared_gap(state, i)
            load_step += squared_way(state, i, before)
            load_net += squared_way(state, i, state.window_z[i])
        elif i < first_line:
            is_p = i < loads + generators
            before = _agree(state, settled, owner, i, MU_P if is_p else MU_Q, 1.0)
            gap, step = move_multiplier(state, i, before)
            primal, dual, total = max(primal, gap), max(dual, step), total + gap + step
            if is_p:
                cost += generator_cost(layout, i - loads, state.x[i])
            generator_gap += squared_gap(state, i)
            generator_step += squared_way(state, i, before)
            generator_net += squared_way(state, i, state.window_z[i])
        else:
            kind = (i - first_line) // lines
            squares = steps = 0.0
            for end in range(2):
                k = _copy(i - first_line, end, first_line, lines)
                before = _agree(state, settled, owner, k, kind, -1.0)
                gap, step = move_multiplier(state, k, before)
                primal, dual, total = max(primal, gap), max(dual, step), total + gap + step
                squares += squared_gap(state, k)
                steps += squared_way(state, k, before)
            if not as_the_paper:
                add_way(state, 2 + i - first_line, squares, steps)
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
        desk.sums[draw, t, block] = shared[t, 0]
    cuda.threadfence()
    cuda.syncthreads()
    if t == 0:
        done = cuda.atomic.add(desk.done, draw, 1) + 1
        is_last[0] = int(done == cuda.gridDim.x)
    cuda.syncthreads()
    if is_last[0] == 0:
        return
    cuda.threadfence()
    _row_sums(desk.sums[draw], SUMS, cuda.gridDim.x, shared, MAXIMA)
    if t == 0:
        desk.done[draw] = 0
        _conclude(state, desk, draw, shared, tolerance, as_the_paper)


@KERNELS.compile_kernel
def rebalance(layout: Layout, noisy: FloatArray, states: State, desk: Desk) -> None:
    """Change the penalties at the end of a window, and add up their logarithms."""
    shared = cuda.shared.array((1, THREADS), "float64")
    draw, block, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if not desk.changes[draw]:
        return
    state = _of_draw(states, draw)
    stagnates, may_fall = desk.verdict[draw, 0] == 1, desk.verdict[draw, 1] == 1
    lines, loads = len(layout.rate), noisy.shape[1]
    first_line = loads + 2 * len(layout.q_min)
    total = 0.0
    for i in range(block * THREADS + t, first_line + 4 * lines, cuda.gridDim.x * THREADS):
        if i < first_line:
            begin_window(state, i, state.ways[4, 0 if i < loads else 1])
            total += math.log(state.rho[i])
        else:
            a = _copy(i - first_line, 0, first_line, lines)
            b = _copy(i - first_line, 1, first_line, lines)
            net = squared_way(state, a, state.window_z[a]) + squared_way(
                state, b, state.window_z[b]
            )
            factor = decide_for(state, 2 + i - first_line, net, stagnates, may_fall)
            begin_window(state, a, factor)
            begin_window(state, b, factor)
            total += math.log(state.rho[a]) + math.log(state.rho[b])
    _block_sums((total,), shared, 0)
    if t == 0:
        desk.sums[draw, 0, block] = shared[0, 0]


@KERNELS.compile_kernel
def typify(states: State, desk: Desk, blocks: int) -> None:
    """Put the geometric mean of all penalties into the next rows of history."""
    shared = cuda.shared.array((1, THREADS), "float64")
    draw, t = cuda.blockIdx.y, cuda.threadIdx.x
    if not desk.changes[draw]:
        return
    _row_sums(desk.sums[draw], 1, blocks, shared, 0)
    if t == 0:
        desk.rho[draw] = math.exp(shared[0, 0] / states.rho.shape[1])


@KERNELS.compile_kernel
def follow(states: State, desk: Desk) -> None:
    """Give every copy the one penalty of the paper's rule."""
    draw = cuda.blockIdx.y
    if not desk.changes[draw]:
        return
    first = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    for i in range(first, states.rho.shape[1], cuda.gridDim.x * cuda.blockDim.x):
        states.rho[draw, i] = desk.rho[draw]
