"""Progress of a long command on standard error: a live line, plain lines for a log, or nothing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import Enum

from rich.status import Status

from gridveil.admm.options import Progress
from gridveil.cli.output import error_console

_PLAIN_SECONDS = 5.0
"""Seconds between two lines about the agents in a plain log."""


class Mode(Enum):
    """What a command shows of its progress."""

    LIVE = "live"
    PLAIN = "plain"
    QUIET = "quiet"


class Display:
    """Shows phases and the agents' progress on standard error."""

    def __init__(self, mode: Mode, max_iterations: int, live: Status | None) -> None:
        """Show in a mode; `live` is the line to update, if there is one."""
        self._mode, self._live, self._max_iterations = mode, live, max_iterations
        self._start = self._last_line = time.monotonic()
        self._first: tuple[float, int] | None = None

    def phase(self, name: str) -> None:
        """Show that a phase begins."""
        self._first, self._last_line = None, time.monotonic()
        self._show(f"{name} …")
        self._log(name)

    def agents(self, now: Progress) -> None:
        """Show iteration and residuals of the agents, and the longest time they may still take.

        Time counts from the first iterations on: what was compiled before them does not.
        """
        since, first = self._first = self._first or (time.monotonic(), now.iteration)
        spent, done = time.monotonic() - since, now.iteration - first
        left = f"{spent / done * (self._max_iterations - now.iteration):.0f} s" if done else "…"
        text = (
            f"fidelity phase: iteration {now.iteration}, primal {now.primal:.1e}, dual "
            f"{now.dual:.1e}, at most {left} left"
        )
        self._show(text)
        if time.monotonic() - self._last_line >= _PLAIN_SECONDS:
            self._last_line = time.monotonic()
            self._log(text)

    def hours(self, done: int, of: int, seconds_left: float) -> None:
        """Show how many hours of a series are restored, and how long the others may take."""
        text = f"fidelity phase: {done:,} of {of:,} hours, about {_time(seconds_left)} left"
        self._show(text)
        if time.monotonic() - self._last_line >= _PLAIN_SECONDS:
            self._last_line = time.monotonic()
            self._log(text)

    def notice(self, text: str) -> None:
        """Print a notice, unless in quiet mode."""
        if self._mode is not Mode.QUIET:
            error_console.print(text, highlight=False)

    def _show(self, text: str) -> None:
        if self._live is not None:
            self._live.update(text)

    def _log(self, text: str) -> None:
        if self._mode is Mode.PLAIN:
            seconds = time.monotonic() - self._start
            error_console.print(f"{seconds:7.1f} s  {text}", highlight=False, soft_wrap=True)


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes / 60:.1f} h"


@contextmanager
def display(mode: Mode, max_iterations: int) -> Iterator[Display]:
    """Show progress while a block runs."""
    live = error_console.status("starting …") if mode is Mode.LIVE else None
    with live or nullcontext():
        yield Display(mode, max_iterations, live)
