"""Runs the agents of a network until they agree, are told to stop, or run out of iterations."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np

from gridveil.admm.checkpoint import fingerprint, load_checkpoint, save_checkpoint
from gridveil.admm.compiled import ENGINE
from gridveil.admm.history import History, empty_history, joined
from gridveil.admm.iteration import COLUMNS, HOLD, advance
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions, Progress
from gridveil.admm.policy import Policy
from gridveil.admm.result import AgentRun
from gridveil.admm.start import start_state
from gridveil.admm.state import State
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.costs import Costs
from gridveil.opf.status import Status

_CALL_SECONDS = 0.05
"""How long one call of compiled code should take: how soon a run notices that it should stop."""
_FIRST_CALL = 10
_LINES_FOR_THREADS = 1000
"""From how many lines on a single run uses all threads."""
_all_threads = threading.Lock()
_PROCESS = os.getpid()


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
    compile_agents(layout, noisy, options)
    problem = fingerprint(layout, noisy, options.policy)
    resumed = load_checkpoint(options.checkpoint, problem) if options.checkpoint else None
    state, history = resumed or (start_state(layout, noisy, options.policy), empty_history())
    state.iteration[1] = _calm(history, options.tolerance)
    pieces, before, iterations = [history], len(history), len(history)
    if options.checkpoint:  # before any work is done that could not be saved
        save_checkpoint(options.checkpoint, problem, state, history)
    seconds, count, saved = 0.0, _FIRST_CALL, time.monotonic()
    with _threads(layout, alone) as threaded:
        while (status := _ending(pieces[-1], iterations, seconds, state, options, stop)) is None:
            count = min(count, options.max_iterations - iterations)
            started = time.perf_counter()
            piece = _advance(layout, noisy, costs, state, options, count, threaded)
            taken = time.perf_counter() - started
            pieces.append(piece)
            iterations, seconds = iterations + len(piece), seconds + taken
            count = int(np.clip(count * _CALL_SECONDS / taken, 1, 10 * count))
            if options.progress is not None:
                options.progress(_progress(iterations, piece))
            if options.checkpoint and time.monotonic() - saved > options.checkpoint_seconds:
                _save(options, problem, state, pieces)
                saved = time.monotonic()
    if options.checkpoint:
        _save(options, problem, state, pieces)
    return AgentRun(status, state, joined(pieces), seconds, iterations - before)


def compile_agents(layout: Layout, noisy: FloatArray, options: AgentOptions) -> None:
    """Compile what a run needs, or take it from the cache; say so if it takes a while."""
    if not ENGINE.is_ready:
        options.say("compiling the agents, once for this version: about 15 seconds …")
    state = start_state(layout, noisy, options.policy)
    rows, outputs = np.empty((0, COLUMNS)), np.empty((0, layout.generators))
    advance(layout, noisy, state, False, options.tolerance, False, rows, outputs)
    ENGINE.complete()


def _ending(
    last: History,
    iterations: int,
    seconds: float,
    state: State,
    options: AgentOptions,
    stop: threading.Event,
) -> Status | None:
    """Return why a run ends here, or None if it goes on."""
    if len(last) and not np.isfinite(last.primal[-1] + last.dual[-1]):
        return Status.FAILED
    if state.iteration[1] >= HOLD:
        return Status.CONVERGED
    if iterations >= options.max_iterations:
        return Status.ITERATION_LIMIT
    if stop.is_set():
        return Status.STOPPED
    return Status.TIME_LIMIT if seconds >= options.time_limit else None


def _calm(history: History, tolerance: float) -> float:
    """Return how many of the last iterations had both residuals within a tolerance."""
    loud = np.flatnonzero(np.maximum(history.primal, history.dual) > tolerance)
    return float(len(history) - 1 - loud[-1] if len(loud) else len(history))


def _save(options: AgentOptions, problem: str, state: State, pieces: list[History]) -> None:
    """Write a checkpoint; a full disk must not cost the run."""
    pieces[:] = [joined(pieces)]
    assert options.checkpoint is not None
    try:
        save_checkpoint(options.checkpoint, problem, state, pieces[0])
    except GridveilError as error:
        options.say(f"{error}; the run goes on without it")


def _advance(
    layout: Layout,
    noisy: FloatArray,
    costs: Costs,
    state: State,
    options: AgentOptions,
    count: int,
    threaded: bool,
) -> History:
    """Do at most so many iterations; return their history."""
    rows, outputs = np.empty((count, COLUMNS)), np.empty((count, layout.generators))
    done = advance(
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
    return History(primal, dual, rho, objective, costs(outputs[:done]).sum(axis=1))


@contextmanager
def _threads(layout: Layout, alone: bool) -> Iterator[bool]:
    """Tell whether to use all threads: for large networks, and for one run at a time.

    Not in a forked process, whose parent may have used threads: they do not survive a fork.
    """
    large = len(layout.rate) >= _LINES_FOR_THREADS and numba.get_num_threads() > 1
    wanted = alone and large and os.getpid() == _PROCESS
    if not (wanted and _all_threads.acquire(blocking=False)):
        yield False
        return
    try:
        yield True
    finally:
        _all_threads.release()


def _progress(iteration: int, last: History) -> Progress:
    return Progress(
        iteration, float(last.primal[-1]), float(last.dual[-1]), float(last.objective[-1])
    )
