"""Draws of fresh processes, and of forks of one: what a mechanism's noise has in common there.

A copy of the mechanism is sent to each process, which draws, then forks twice; each fork draws.
Forking happens there and not here, where other threads may hold locks.
"""

import io
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import IntArray
from gridveil.privacy.mechanisms.base import Mechanism, checked_draw

PATIENCE = 120
"""How long a process may take, in seconds."""
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from gridveil.privacy.audit.fresh import serve; serve()"
)

_Started = subprocess.CompletedProcess[bytes]


@dataclass(frozen=True)
class Draws:
    """Draws of two fresh processes, and of two forks of one of them where forks are possible."""

    processes: tuple[IntArray, IntArray]
    forks: tuple[IntArray, IntArray] | None


class FreshProcesses:
    """Two fresh processes that draw while something else is done."""

    def __init__(self, mechanism: Mechanism, load: IntArray, rows: int) -> None:
        self._pool = ThreadPoolExecutor(2)
        self._runs: list[Future[_Started]] = []
        self._why_not = ""
        try:
            import cloudpickle  # a mechanism's class may stand in a script or in a function

            task = cloudpickle.dumps((mechanism, load, rows))
        except Exception as error:  # whatever the code of another package raises
            self._why_not = f"the mechanism cannot be pickled ({type(error).__name__})"
            return
        if not sys.executable:
            self._why_not = "there is no Python to start"
            return
        path = json.dumps([os.path.abspath(entry) for entry in sys.path])  # noqa: PTH100
        self._runs = [self._pool.submit(_run, path.encode() + b"\n" + task) for _ in range(2)]

    def draws(self) -> tuple[Draws | None, str]:
        """Return the draws, and which plays must be left out and why."""
        if self._why_not:
            return None, f"two processes, two forks: {self._why_not}"
        try:
            found = [_read(run.result()) for run in self._runs]
        except _FailedError as error:
            return None, f"two processes, two forks: {error}"
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            why = f"a fresh process did not answer ({type(error).__name__})"
            return None, f"two processes, two forks: {why}"
        processes, forks = (found[0][0], found[1][0]), found[0][1:]
        if len(forks) < 2:
            return Draws(processes, None), "two forks: a process could not be forked"
        return Draws(processes, (forks[0], forks[1])), ""

    def close(self) -> None:
        """Wait for the processes to end."""
        self._pool.shutdown()


class _FailedError(Exception):
    """A fresh process drew nothing."""


@contextmanager
def fresh_processes(mechanism: Mechanism, load: IntArray, rows: int) -> Iterator[FreshProcesses]:
    """Start fresh processes that draw a load many times; they have ended when this ends."""
    processes = FreshProcesses(mechanism, load, rows)
    try:
        yield processes
    finally:
        processes.close()


def _run(task: bytes) -> _Started:
    command = [sys.executable, "-c", _START]
    return subprocess.run(command, input=task, capture_output=True, check=False, timeout=PATIENCE)


def _read(run: _Started) -> IntArray:
    if run.returncode != 0:
        said = run.stderr.decode(errors="replace").strip().splitlines()
        raise _FailedError(f"a fresh process failed ({said[-1] if said else run.returncode})")
    return np.asarray(np.load(io.BytesIO(run.stdout), allow_pickle=False))


def serve() -> None:
    """Draw, fork, and write the draws to standard output: what a fresh process does."""
    results = os.dup(1)
    os.dup2(2, 1)  # a mechanism that prints must not spoil the results
    mechanism, load, rows = pickle.load(sys.stdin.buffer)
    loads = np.tile(load, (rows, 1))
    draws = [checked_draw(mechanism, loads)]
    if hasattr(os, "fork"):
        forks = [_in_a_fork(mechanism, loads) for _ in range(2)]
        draws += [drawn for drawn in forks if drawn is not None]
    data = io.BytesIO()
    np.save(data, np.stack(draws))
    with os.fdopen(results, "wb") as pipe:
        pipe.write(data.getvalue())


def _in_a_fork(mechanism: Mechanism, loads: IntArray) -> IntArray | None:
    """Return the draw of a fork of this process, which is ended if it takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(PATIENCE // 4)
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(checked_draw(mechanism, loads).tobytes())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    return np.frombuffer(data, np.int64).reshape(loads.shape) if status == 0 else None
