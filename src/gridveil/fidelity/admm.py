"""P_RBL solved among agents, by ADMM, and what they agree on as a network's operating point."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

from gridveil.admm.engine import run_agents
from gridveil.admm.interruption import stop_on_interrupt
from gridveil.admm.layout import Layout, build_layout
from gridveil.admm.options import AgentOptions
from gridveil.admm.result import AgentRun
from gridveil.admm.state import State
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.bands import Band, cost_bands
from gridveil.fidelity.central import Attempt, nearest_loads
from gridveil.fidelity.result import Found
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint


def solve_admm(
    network: Network,
    noisy: FloatArray,
    costs: FloatArray,
    beta: float,
    options: AgentOptions,
) -> Found:
    """Solve P_RBL for noisy loads of shape (loads, 2); Ctrl-C ends it with what was reached."""
    bands = cost_bands(network, costs, beta)
    layout = build_layout(network, bands)
    with stop_on_interrupt() as stop:
        run = run_agents(layout, noisy.T.ravel(), network.generators.costs, options, stop)
    return _found(network, bands, layout, run, options)


def solve_admm_many(
    network: Network,
    draws: Sequence[FloatArray],
    costs: FloatArray,
    beta: float,
    options: AgentOptions,
    threads: int | None,
    progress: Callable[[int], None] | None,
) -> list[Found]:
    """Solve P_RBL for many draws at once, one to a thread; `progress` gets how many are done."""
    if options.checkpoint is not None:
        raise GridveilError("a checkpoint holds one run; restore the draws one by one to use it")
    bands = cost_bands(network, costs, beta)
    layout = build_layout(network, bands)

    def run(draw: FloatArray, stop: threading.Event) -> AgentRun:
        vector = draw.T.ravel()
        return run_agents(layout, vector, network.generators.costs, options, stop, alone=False)

    workers = threads or os.cpu_count() or 1
    with stop_on_interrupt() as stop, ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(run, draw, stop) for draw in draws]
        for done, _ in enumerate(as_completed(tasks), 1):
            if progress is not None:
                progress(done)
    return [_found(network, bands, layout, task.result(), options) for task in tasks]


def consensus(layout: Layout, state: State) -> tuple[FloatArray, FloatArray]:
    """Return the magnitude and angle of the voltage that each bus settled on."""
    first, has_lines = layout.end_start[:-1], np.diff(layout.end_start) > 0
    w, theta = np.ones(len(first)), np.zeros(len(first))
    w[has_lines] = state.z[layout.end_w[first[has_lines]]]
    theta[has_lines] = state.z[layout.end_angle[first[has_lines]]]
    for bus in np.flatnonzero(~has_lines):
        ports = slice(layout.port_start[bus], layout.port_start[bus + 1])
        sign, g, b = layout.port_sign[ports], layout.shunt_g[bus], layout.shunt_b[bus]
        p, q = (sign @ state.z[port[ports]] for port in (layout.port_p, layout.port_q))
        fed = (g * p - b * q) / (g * g + b * b) if g or b else 1.0
        w[bus] = np.clip(fed, layout.w_min[bus], layout.w_max[bus])
    return np.sqrt(np.maximum(w, 0.0)), theta


def _found(
    network: Network,
    bands: tuple[Band, ...],
    layout: Layout,
    run: AgentRun,
    options: AgentOptions,
) -> Found:
    """Return what the agents came to: their loads and outputs, and the buses' voltages."""
    p, q = run.state.x[: 2 * layout.loads].reshape(2, -1)
    outputs = run.state.x[2 * layout.loads : layout.first_line].reshape(2, -1)
    point = OperatingPoint(*consensus(layout, run.state), *outputs)
    if not options.polish:
        return Found(run.status, p, q, point, bands, 0, run.iterations, agents=run)
    reached = Attempt(run.status, p, q, point, run.iterations)
    polished, solves, _ = nearest_loads(network, reached.loads, bands, None, (), reached)
    return Found(
        polished.status,
        polished.p,
        polished.q,
        polished.point,
        bands,
        solves,
        run.iterations,
        agents=run,
    )
