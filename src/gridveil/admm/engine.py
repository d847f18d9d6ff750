"""Runs the agents of a network until they converge, reach a limit or are asked to stop."""

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np

from gridveil.admm.backends.base import Backend
from gridveil.admm.backends.cpu import CpuBackend, all_threads, compile_agents
from gridveil.admm.backends.cuda.session import batch_size, cuda_backend
from gridveil.admm.checkpoint import fingerprint, load_checkpoint, save_checkpoint
from gridveil.admm.device import chosen_device
from gridveil.admm.draw import Draw
from gridveil.admm.history import History, concatenated, empty_history
from gridveil.admm.initial_state import carried_state, initial_states
from gridveil.admm.iteration import ITERATIONS_WITHIN_TOLERANCE
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions, Progress
from gridveil.admm.result import AgentRun
from gridveil.admm.state import State
from gridveil.device import Device
from gridveil.errors import GridveilError
from gridveil.opf.status import Status

_CALL_SECONDS = 0.05
"""How long one call of the backend should take: within that time a run notices a request to stop.
"""
_FIRST_CALL = 10
"""Iterations of the first call."""


def run_agents(
    layout: Layout,
    draw: Draw,
    options: AgentOptions,
    stop: threading.Event,
    alone: bool = True,
    before: State | None = None,
) -> AgentRun:
    """Run the agents for one draw.

    Args:
        layout: The agents.
        draw: The noisy loads and their weights.
        options: Their options.
        stop: Asks the run to stop once it is set.
        alone: Whether the run may use all threads of a CPU.
        before: Where the same agents ended for other loads, which is where they start.
    """
    on_gpu = chosen_device(options.device, len(layout.rate)) is Device.GPU
    compile_agents(layout, draw, options)
    problem = fingerprint(layout, draw, options.policy)
    resumed = load_checkpoint(options.checkpoint, problem) if options.checkpoint else None
    if resumed is None:
        if before is None:
            (state,) = initial_states(layout, [draw], options.policy, options.start)
        else:
            state = carried_state(layout, before, options.policy)
        history = empty_history()
    else:
        state, history = resumed
    state.within_tolerance_count[0] = _within_tolerance_count(history, options.tolerance)
    if options.checkpoint:  # before any work is done that could not be saved
        save_checkpoint(options.checkpoint, problem, state, history)

    def save(backend: Backend, history: History) -> None:
        """Write a checkpoint; a full disk must not end the run."""
        if options.checkpoint is None:
            return
        try:
            save_checkpoint(options.checkpoint, problem, backend.state(0), history)
        except GridveilError as error:
            options.notify(f"{error}; the run goes on without it")

    if on_gpu:
        with cuda_backend(layout, [draw], [state], options) as gpu:
            return _run(gpu, [history], options, stop, save)[0]
    with all_threads(layout, alone) as threaded:
        cores = CpuBackend(layout, draw, state, options, threaded)
        return _run(cores, [history], options, stop, save)[0]


def run_together(
    layout: Layout,
    draws: Sequence[Draw],
    options: AgentOptions,
    stop: threading.Event,
    progress: Callable[[int], None] | None = None,
) -> list[AgentRun]:
    """Run the agents for many draws side by side on a GPU.

    Args:
        layout: The agents.
        draws: The noisy loads of every draw, and their weights.
        options: Their options.
        stop: Asks the runs to stop once it is set.
        progress: Called with the number of draws that have finished.
    """
    compile_agents(layout, draws[0], options)
    runs: list[AgentRun] = []
    size = batch_size(layout, len(draws))
    for first in range(0, len(draws), size):
        batch = draws[first : first + size]
        states = initial_states(layout, batch, options.policy, options.start)
        histories = [empty_history() for _ in batch]
        if stop.is_set():
            not_run = zip(states, histories, strict=True)
            runs += [AgentRun(Status.STOPPED, *one, 0.0, 0, Device.GPU) for one in not_run]
            continue

        def on_finished(finished: int, before: int = first) -> None:
            if progress is not None:
                progress(before + finished)

        with cuda_backend(layout, batch, states, options) as backend:
            runs += _run(backend, histories, options, stop, on_finished=on_finished)
    return runs


def _run(
    backend: Backend,
    histories: Sequence[History],
    options: AgentOptions,
    stop: threading.Event,
    save: Callable[[Backend, History], None] | None = None,
    on_finished: Callable[[int], None] | None = None,
) -> list[AgentRun]:
    """Iterate until every draw has finished.

    `save` writes the checkpoint of a single draw. `on_finished` is called with the number of
    finished draws whenever it has grown.
    """
    runs = _Runs(backend, histories, options)
    saved = time.monotonic()
    while True:
        if runs.find_finished(stop) and on_finished is not None:
            on_finished(runs.finished)
        if runs.finished == len(histories):
            break
        runs.advance()
        if options.progress is not None:
            options.progress(runs.progress())
        if save is not None and time.monotonic() - saved > options.checkpoint_seconds:
            save(backend, runs.history(0))
            saved = time.monotonic()
    if save is not None:
        save(backend, runs.history(0))
    return runs.results()


class _Runs:
    """The runs of a backend's draws: their histories so far, and how each of them ended."""

    def __init__(
        self, backend: Backend, histories: Sequence[History], options: AgentOptions
    ) -> None:
        """Begin with the histories up to the current states, all of one length."""
        self._backend, self._options = backend, options
        self._histories = [[history] for history in histories]
        self._latest: list[History] = list(histories)
        self._before = self._iterations = len(histories[0])
        self._seconds, self._count = 0.0, _FIRST_CALL
        self._ends: dict[int, tuple[Status, float]] = {}

    @property
    def finished(self) -> int:
        """The number of finished draws."""
        return len(self._ends)

    def find_finished(self, stop: threading.Event) -> bool:
        """Find out which draws have finished; return whether there are new ones."""
        known = len(self._ends)
        for draw, latest in enumerate(self._latest):
            if draw not in self._ends:
                status = self._status(draw, latest, stop)
                if status is not None:
                    self._ends[draw] = status, self._seconds
        return len(self._ends) > known

    def advance(self) -> None:
        """Call the backend once, for about _CALL_SECONDS."""
        count = min(self._count, self._options.max_iterations - self._iterations)
        started = time.perf_counter()
        self._latest = self._backend.advance(count)
        taken = time.perf_counter() - started
        for draw, latest in enumerate(self._latest):
            if draw not in self._ends:
                self._histories[draw].append(latest)
        self._iterations += max(map(len, self._latest))
        self._seconds += taken
        self._count = int(np.clip(count * _CALL_SECONDS / taken, 1, 10 * count))

    def progress(self) -> Progress:
        """Return the progress of the draw with the largest residual."""
        running = (latest for latest in self._latest if len(latest))
        worst = max(running, key=lambda latest: max(latest.primal[-1], latest.dual[-1]))
        return Progress(
            self._iterations,
            float(worst.primal[-1]),
            float(worst.dual[-1]),
            float(worst.objective[-1]),
        )

    def history(self, draw: int) -> History:
        """Return the whole history of a draw."""
        self._histories[draw] = [concatenated(self._histories[draw])]
        return self._histories[draw][0]

    def results(self) -> list[AgentRun]:
        """Return the results of all draws, which have finished."""
        return [self._result(draw) for draw in range(len(self._histories))]

    def _result(self, draw: int) -> AgentRun:
        status, seconds = self._ends[draw]
        history = self.history(draw)
        return AgentRun(
            status,
            self._backend.state(draw),
            history,
            seconds,
            len(history) - self._before,
            self._backend.device,
        )

    def _status(self, draw: int, latest: History, stop: threading.Event) -> Status | None:
        """Return why a draw ends here, or None if it continues."""
        if len(latest) and not np.isfinite(latest.primal[-1] + latest.dual[-1]):
            return Status.FAILED
        if self._backend.within_tolerance_count(draw) >= ITERATIONS_WITHIN_TOLERANCE:
            return Status.CONVERGED
        if self._iterations >= self._options.max_iterations:
            return Status.ITERATION_LIMIT
        if stop.is_set():
            return Status.STOPPED
        return Status.TIME_LIMIT if self._seconds >= self._options.time_limit else None


def _within_tolerance_count(history: History, tolerance: float) -> float:
    """Return how many of the last consecutive iterations were within a tolerance."""
    beyond = np.flatnonzero(np.maximum(history.primal, history.dual) > tolerance)
    return float(len(history) - 1 - beyond[-1] if len(beyond) else len(history))
