"""One draw on the cores of this machine."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np

from gridveil.admm.compiled import ENGINE
from gridveil.admm.device import Device
from gridveil.admm.history import History
from gridveil.admm.initial_state import start_states
from gridveil.admm.iteration import COLUMNS, advance
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.admm.state import State
from gridveil.arrays import FloatArray

_LINES_FOR_THREADS = 1000
"""From how many lines on a single run uses all threads."""
_all_threads = threading.Lock()
_PROCESS = os.getpid()


class CpuMachine:
    """Iterates one draw, with all threads or one."""

    device = Device.CPU

    def __init__(
        self,
        layout: Layout,
        noisy: FloatArray,
        state: State,
        options: AgentOptions,
        threaded: bool,
    ) -> None:
        """Take a run up where it stands; its state is changed in place."""
        self._layout, self._noisy, self._state = layout, noisy, state
        self._as_the_paper = options.policy is Policy.PAPER
        self._tolerance, self._threaded = options.tolerance, threaded

    def advance(self, count: int) -> list[History]:
        """Do at most so many iterations; return their history."""
        rows = np.empty((count, COLUMNS))
        done = advance(
            self._layout,
            self._noisy,
            self._state,
            self._as_the_paper,
            self._tolerance,
            self._threaded,
            rows,
        )
        return [History(*rows[:done].T)]

    def calm(self, draw: int) -> float:
        """Return how many of the last iterations had both residuals within the tolerance."""
        del draw
        return float(self._state.iteration[1])

    def state(self, draw: int) -> State:
        """Return where the run stands."""
        del draw
        return self._state


def compile_agents(layout: Layout, noisy: FloatArray, options: AgentOptions) -> None:
    """Compile what a run needs, or take it from the cache; say so if it takes a while."""
    if not ENGINE.is_ready:
        options.say("compiling the agents, once for this version: about 20 seconds …")
    (state,) = start_states(layout, [noisy], options.policy, Start.FLAT)
    advance(layout, noisy, state, False, options.tolerance, False, np.empty((0, COLUMNS)))
    ENGINE.complete()


@contextmanager
def threads(layout: Layout, alone: bool) -> Iterator[bool]:
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
