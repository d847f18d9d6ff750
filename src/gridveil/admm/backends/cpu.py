"""The CPU backend: one draw on the cores of this machine."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np

from gridveil.admm.compiled import ENGINE
from gridveil.admm.draw import Draw
from gridveil.admm.history import History
from gridveil.admm.initial_state import initial_states
from gridveil.admm.iteration import COLUMNS, advance
from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.admm.state import State
from gridveil.device import Device

_LINES_FOR_THREADS = 1000
"""Number of lines from which a single run uses all threads."""
_all_threads = threading.Lock()
_PROCESS = os.getpid()


class CpuBackend:
    """Iterates one draw, with all threads or one."""

    device = Device.CPU

    def __init__(
        self,
        layout: Layout,
        draw: Draw,
        state: State,
        options: AgentOptions,
        threaded: bool,
    ) -> None:
        """Continue from a state, which is changed in place."""
        self._layout, self._draw, self._state = layout, draw, state
        self._paper_rule = options.policy is Policy.PAPER
        self._tolerance, self._threaded = options.tolerance, threaded

    def advance(self, count: int) -> list[History]:
        """Do at most so many iterations; return their history."""
        rows = np.empty((count, COLUMNS))
        done = advance(
            self._layout,
            self._draw,
            self._state,
            self._paper_rule,
            self._tolerance,
            self._threaded,
            rows,
        )
        return [History(*rows[:done].T)]

    def within_tolerance_count(self, draw: int) -> float:
        """Return for how many consecutive iterations the draw has been within the tolerance."""
        del draw
        return float(self._state.within_tolerance_count[0])

    def state(self, draw: int) -> State:
        """Return the current state."""
        del draw
        return self._state


def compile_agents(layout: Layout, draw: Draw, options: AgentOptions) -> None:
    """Compile the agents, or load them from the cache; notify the user if it takes a while."""
    if not ENGINE.is_ready:
        options.notify("compiling the agents, once for this version: about 20 seconds …")
    (state,) = initial_states(layout, [draw], options.policy, Start.FLAT)
    advance(layout, draw, state, False, options.tolerance, False, np.empty((0, COLUMNS)))
    ENGINE.complete()


@contextmanager
def all_threads(layout: Layout, alone: bool) -> Iterator[bool]:
    """Claim all threads for a run, and give whether it has them.

    Only a large network gets them, and one run at a time. A forked process never does: threads that
    its parent may have used do not survive a fork.
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
