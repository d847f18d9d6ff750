"""Runs the agents of a network until they agree, are told to stop, or run out of iterations."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np

from gridveil.admm.checkpoint import fingerprint, load_checkpoint, save_checkpoint
from gridveil.admm.compiled import is_cached, mark_cached
from gridveil.admm.history import History, empty_history
from gridveil.admm.iteration import COLUMNS, advance
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions, Progress
from gridveil.admm.policy import Policy
from gridveil.admm.result import AgentRun
from gridveil.admm.start import start_state
from gridveil.admm.state import State
from gridveil.arrays import FloatArray
from gridveil.network.costs import Costs
from gridveil.opf.status import Status

_CALL_SECONDS = 0.05
"""How long one call of compiled code should take: how soon a run notices that it should stop."""
_FIRST_CALL = 10
_LINES_FOR_THREADS = 1000
"""From how many lines on a single run uses all threads."""
_all_threads = threading.Lock()


def run_agents(
    layout: Layout,
    noisy: FloatArray,
    costs: Costs,
    options: AgentOptions,
    stop: threading.Event,
    alone: bool = True,
) -> AgentRun:
    """Run the agents for noisy loads (p of all, then q), until `stop` is set at the latest.

    One that runs `alone` may use all threads.
    """
    problem = fingerprint(layout, noisy, options.policy)
    resumed = load_checkpoint(options.checkpoint, problem) if options.checkpoint else None
    if not is_cached():
        options.say("compiling the agents, once for this version: about 15 seconds …")
    state, history = resumed or (start_state(layout, noisy, options.policy), empty_history())
    _advance(layout, noisy, costs, state, options, 0, threaded=False)  # compiles
    mark_cached()
    before, seconds, count = len(history), 0.0, _FIRST_CALL
    saved, status = time.monotonic(), None
    with _threads(layout, alone) as threaded:
        while status is None:
            if len(history) >= options.max_iterations:
                status = Status.ITERATION_LIMIT
            elif stop.is_set():
                status = Status.STOPPED
            elif seconds >= options.time_limit:
                status = Status.TIME_LIMIT
            else:
                count = min(count, options.max_iterations - len(history))
                started = time.perf_counter()
                more, converged = _advance(layout, noisy, costs, state, options, count, threaded)
                taken = time.perf_counter() - started
                history, seconds = history.extended(more), seconds + taken
                count = int(np.clip(count * _CALL_SECONDS / taken, 1, 10 * count))
                status = Status.CONVERGED if converged else None
                if options.progress is not None:
                    options.progress(_progress(history))
                if options.checkpoint and time.monotonic() - saved > options.checkpoint_seconds:
                    save_checkpoint(options.checkpoint, problem, state, history)
                    saved = time.monotonic()
    if options.checkpoint:
        save_checkpoint(options.checkpoint, problem, state, history)
    return AgentRun(status, state, history, seconds, len(history) - before)


def _advance(
    layout: Layout,
    noisy: FloatArray,
    costs: Costs,
    state: State,
    options: AgentOptions,
    count: int,
    threaded: bool,
) -> tuple[History, bool]:
    """Do at most so many iterations; return their history, and whether the last one converged."""
    rows, outputs = np.empty((count, COLUMNS)), np.empty((count, layout.generators))
    done, converged = advance(
        layout,
        noisy,
        state,
        options.policy is Policy.PAPER,
        options.tolerance,
        threaded,
        rows,
        outputs,
    )
    primal, dual, rho, objective = rows[:done].T
    cost = costs(outputs[:done]).sum(axis=1)
    return History(primal, dual, rho, objective, cost), converged


@contextmanager
def _threads(layout: Layout, alone: bool) -> Iterator[bool]:
    """Tell whether to use all threads: for large networks, and for one run at a time."""
    wanted = alone and len(layout.rate) >= _LINES_FOR_THREADS and numba.get_num_threads() > 1
    if not (wanted and _all_threads.acquire(blocking=False)):
        yield False
        return
    try:
        yield True
    finally:
        _all_threads.release()


def _progress(history: History) -> Progress:
    return Progress(
        len(history),
        float(history.primal[-1]),
        float(history.dual[-1]),
        float(history.objective[-1]),
    )
