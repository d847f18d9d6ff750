"""P_RBL solved among agents, by ADMM, and what they agree on as a network's operating point."""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

import numpy as np

from gridveil.admm.backends.cpu import compile_agents
from gridveil.admm.device import Device, chosen_device
from gridveil.admm.engine import run_agents, run_together
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
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, OperatingPoint, violations
from gridveil.opf.status import Status

_SLACK = 10.0
"""How many times the tolerance violations may be, per unit of a bus's admittance."""


def solve_admm(
    network: Network,
    noisy: FloatArray,
    costs: FloatArray,
    beta: float,
    options: AgentOptions,
) -> Found:
    """Solve P_RBL for noisy loads of shape (loads, 2); Ctrl-C ends it with what was reached."""
    bands = cost_bands(network, costs, beta)
    layout = build_layout(network, [band.intervals for band in bands])
    with stop_on_interrupt() as stop:
        run = run_agents(layout, noisy.T.ravel(), options, stop)
    return _found(network, noisy, bands, layout, run, options)


def solve_admm_many(
    network: Network,
    draws: Sequence[FloatArray],
    costs: FloatArray,
    beta: float,
    options: AgentOptions,
    threads: int | None,
    progress: Callable[[int], None] | None,
) -> list[Found]:
    """Solve P_RBL for many draws at once: on a GPU side by side, on a CPU one to a thread.

    `progress` gets how many are done.
    """
    if threads is not None and threads < 1:
        raise GridveilError(f"threads: {threads} must be 1 or more")
    if options.checkpoint is not None:
        raise GridveilError("a checkpoint holds one run; restore the draws one by one to use it")
    bands = cost_bands(network, costs, beta)
    layout = build_layout(network, [band.intervals for band in bands])

    vectors = [draw.T.ravel() for draw in draws]
    with stop_on_interrupt() as stop:
        if not draws:
            runs = []
        elif chosen_device(options.device, len(draws) * len(layout.rate)) is Device.CUDA:
            runs = run_together(layout, vectors, options, stop, progress)
        else:
            runs = _on_threads(layout, vectors, options, threads, stop, progress)
    return [
        _found(network, draw, bands, layout, run, options)
        for draw, run in zip(draws, runs, strict=True)
    ]


def _on_threads(
    layout: Layout,
    draws: Sequence[FloatArray],
    options: AgentOptions,
    threads: int | None,
    stop: threading.Event,
    progress: Callable[[int], None] | None,
) -> list[AgentRun]:
    """Run many draws on the cores, one to a thread."""
    compile_agents(layout, draws[0], options)
    options = replace(options, device=Device.CPU)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        tasks = [pool.submit(run_agents, layout, draw, options, stop, False) for draw in draws]
        for done, _ in enumerate(as_completed(tasks), 1):
            if progress is not None:
                progress(done)
    return [task.result() for task in tasks]


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


def agreed(
    layout: Layout, state: State, loads: int
) -> tuple[FloatArray, FloatArray, OperatingPoint]:
    """Return what the agents came to: their loads p and q and outputs, and the buses' voltages."""
    p, q = state.x[: 2 * loads].reshape(2, -1)
    outputs = state.x[2 * loads :][: 2 * layout.generators].reshape(2, -1)
    return p, q, OperatingPoint(*consensus(layout, state), *outputs)


def _found(
    network: Network,
    noisy: FloatArray,
    bands: tuple[Band, ...],
    layout: Layout,
    run: AgentRun,
    options: AgentOptions,
) -> Found:
    """Return what the agents came to, polished if wanted: P_RBL once more, started from there."""
    p, q, point = agreed(layout, run.state, len(network.loads))
    status = _believed(network.with_loads(p, q), point, run.status, options.tolerance)
    if not options.polish or run.status in (Status.STOPPED, Status.FAILED):
        return Found(status, p, q, point, bands, 0, run.iterations, agents=run)
    reached = Attempt(run.status, p, q, point, run.iterations)
    best, solves, _ = nearest_loads(network, noisy, bands, None, (), reached)
    return Found(best.status, best.p, best.q, best.point, bands, solves, run.iterations, agents=run)


def _believed(network: Network, point: OperatingPoint, status: Status, tolerance: float) -> Status:
    """Believe that agents converged only if limits are kept as well as their tolerance explains.

    Voltages that are off by the tolerance put a bus's balance off by Σ|y| times as much.
    """
    if status is not Status.CONVERGED:
        return status
    admittance = np.abs(network.lines.y_ff) + np.abs(network.lines.y_tt)
    stiffness = np.zeros(len(network.buses))
    np.add.at(stiffness, network.lines.from_bus, admittance)
    np.add.at(stiffness, network.lines.to_bus, admittance)
    allowed = _SLACK * tolerance * (1.0 + float(stiffness.max(initial=0.0)))
    kept = violations(network, point).largest <= max(allowed, FEASIBILITY_TOLERANCE)
    return status if kept else Status.INFEASIBLE
