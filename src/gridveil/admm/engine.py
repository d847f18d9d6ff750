"""Runs the agents of a network until they agree, are told to stop, or run out of iterations."""

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from gridveil.admm.backends.base import Machine
from gridveil.admm.backends.cpu import CpuMachine, compile_agents, threads
from gridveil.admm.backends.cuda.session import batch_size, gpu_machine
from gridveil.admm.checkpoint import fingerprint, load_checkpoint, save_checkpoint
from gridveil.admm.device import Device, chosen_device
from gridveil.admm.history import History, empty_history, joined
from gridveil.admm.initial_state import start_states
from gridveil.admm.iteration import HOLD
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions, Progress
from gridveil.admm.result import AgentRun
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.opf.status import Status

_CALL_SECONDS = 0.05
"""How long one call of compiled code should take: how soon a run notices that it should stop."""
_FIRST_CALL = 10


def run_agents(
    layout: Layout,
    noisy: FloatArray,
    options: AgentOptions,
    stop: threading.Event,
    alone: bool = True,
) -> AgentRun:
    """Run the agents for noisy loads (p of all, then q), until `stop` is set at the latest.

    On a CPU, one that runs `alone` may use all threads.
    """
    on_gpu = chosen_device(options.device, len(layout.rate)) is Device.CUDA
    compile_agents(layout, noisy, options)
    problem = fingerprint(layout, noisy, options.policy)
    resumed = load_checkpoint(options.checkpoint, problem) if options.checkpoint else None
    if resumed is None:
        (state,) = start_states(layout, [noisy], options.policy, options.start)
        history = empty_history()
    else:
        state, history = resumed
    state.iteration[1] = _calm(history, options.tolerance)
    if options.checkpoint:  # before any work is done that could not be saved
        save_checkpoint(options.checkpoint, problem, state, history)

    def save(machine: Machine, history: History) -> None:
        """Write a checkpoint; a full disk must not cost the run."""
        if options.checkpoint is None:
            return
        try:
            save_checkpoint(options.checkpoint, problem, machine.state(0), history)
        except GridveilError as error:
            options.say(f"{error}; the run goes on without it")

    if on_gpu:
        with gpu_machine(layout, [noisy], [state], options) as machine:
            return _run(machine, [history], options, stop, save)[0]
    with threads(layout, alone) as threaded:
        cores = CpuMachine(layout, noisy, state, options, threaded)
        return _run(cores, [history], options, stop, save)[0]


def run_together(
    layout: Layout,
    draws: Sequence[FloatArray],
    options: AgentOptions,
    stop: threading.Event,
    progress: Callable[[int], None] | None = None,
) -> list[AgentRun]:
    """Run the agents for many draws side by side on a GPU; `progress` gets how many are done."""
    compile_agents(layout, draws[0], options)
    runs: list[AgentRun] = []
    size = batch_size(layout, len(draws))
    for first in range(0, len(draws), size):
        batch = draws[first : first + size]
        states = start_states(layout, batch, options.policy, options.start)
        histories = [empty_history() for _ in batch]
        if stop.is_set():
            begun = zip(states, histories, strict=True)
            runs += [AgentRun(Status.STOPPED, *one, 0.0, 0, Device.CUDA) for one in begun]
            continue

        def tell(ended: int, before: int = first) -> None:
            if progress is not None:
                progress(before + ended)

        with gpu_machine(layout, batch, states, options) as machine:
            runs += _run(machine, histories, options, stop, tell=tell)
    return runs


def _run(
    machine: Machine,
    histories: Sequence[History],
    options: AgentOptions,
    stop: threading.Event,
    save: Callable[[Machine, History], None] | None = None,
    tell: Callable[[int], None] | None = None,
) -> list[AgentRun]:
    """Iterate until every draw has ended; `save` is for a single one.

    `tell` gets how many have, each time some do.
    """
    draws = range(len(histories))
    pieces = [[history] for history in histories]
    before = len(histories[0])
    ended: dict[int, tuple[Status, float]] = {}
    iterations, seconds, count, saved = before, 0.0, _FIRST_CALL, time.monotonic()
    while True:
        known = len(ended)
        for draw in draws:
            status = _ending(
                pieces[draw][-1], iterations, seconds, machine.calm(draw), options, stop
            )
            if draw not in ended and status is not None:
                ended[draw] = status, seconds
        if tell is not None and len(ended) > known:
            tell(len(ended))
        if len(ended) == len(draws):
            break
        count = min(count, options.max_iterations - iterations)
        started = time.perf_counter()
        stretch = machine.advance(count)
        taken = time.perf_counter() - started
        for draw in draws:
            if draw not in ended:
                pieces[draw].append(stretch[draw])
        iterations, seconds = iterations + max(map(len, stretch)), seconds + taken
        count = int(np.clip(count * _CALL_SECONDS / taken, 1, 10 * count))
        if options.progress is not None:
            running = [piece for piece in stretch if len(piece)]
            options.progress(_progress(iterations, running))
        if save is not None and time.monotonic() - saved > options.checkpoint_seconds:
            pieces[0] = [joined(pieces[0])]
            save(machine, pieces[0][0])
            saved = time.monotonic()
    runs = []
    for draw in draws:
        status, seconds = ended[draw]
        history = joined(pieces[draw])
        if save is not None:
            save(machine, history)
        done = len(history) - before
        runs.append(AgentRun(status, machine.state(draw), history, seconds, done, machine.device))
    return runs


def _ending(
    last: History,
    iterations: int,
    seconds: float,
    calm: float,
    options: AgentOptions,
    stop: threading.Event,
) -> Status | None:
    """Return why a run ends here, or None if it goes on."""
    if len(last) and not np.isfinite(last.primal[-1] + last.dual[-1]):
        return Status.FAILED
    if calm >= HOLD:
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


def _progress(iteration: int, running: Sequence[History]) -> Progress:
    """Tell where the draw stands that is furthest from its goal."""
    worst = max(running, key=lambda piece: max(piece.primal[-1], piece.dual[-1]))
    return Progress(
        iteration, float(worst.primal[-1]), float(worst.dual[-1]), float(worst.objective[-1])
    )
