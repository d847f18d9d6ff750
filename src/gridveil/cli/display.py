"""How a long command shows where it stands: a live line, plain lines for a log, or nothing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from enum import Enum

from rich.status import Status

from gridveil.admm.options import Progress
from gridveil.cli.output import error_console

_PLAIN_SECONDS = 5.0
"""How often a plain log gets a line about the agents."""


class Mode(Enum):
    """How much is shown."""

    LIVE = "live"
    PLAIN = "plain"
    QUIET = "quiet"


class Display:
    """Tells phases and the agents' progress on standard error."""

    def __init__(self, mode: Mode, max_iterations: int, live: Status | None) -> None:
        """Show in a mode; `live` is the line to update, if there is one."""
        self._mode, self._live, self._max_iterations = mode, live, max_iterations
        self._began = self._phase_began = self._told = time.monotonic()

    def phase(self, name: str) -> None:
        """Tell that a phase begins."""
        self._phase_began = self._told = time.monotonic()
        self._show(f"{name} …")
        self._log(name)

    def agents(self, now: Progress) -> None:
        """Tell how the agents are getting on, and how long they may take at most."""
        spent = time.monotonic() - self._phase_began
        left = spent / now.iteration * (self._max_iterations - now.iteration)
        text = (
            f"fidelity phase: iteration {now.iteration}, primal {now.primal:.1e}, dual "
            f"{now.dual:.1e}, at most {left:.0f} s left"
        )
        self._show(text)
        if time.monotonic() - self._told >= _PLAIN_SECONDS:
            self._told = time.monotonic()
            self._log(text)

    def say(self, text: str) -> None:
        """Tell something that must not be missed, unless asked to be quiet."""
        if self._mode is not Mode.QUIET:
            error_console.print(text, highlight=False)

    def _show(self, text: str) -> None:
        if self._live is not None:
            self._live.update(text)

    def _log(self, text: str) -> None:
        if self._mode is Mode.PLAIN:
            seconds = time.monotonic() - self._began
            error_console.print(f"{seconds:7.1f} s  {text}", highlight=False, soft_wrap=True)


@contextmanager
def display(mode: Mode, max_iterations: int) -> Iterator[Display]:
    """Show progress while a block runs."""
    live = error_console.status("starting …") if mode is Mode.LIVE else None
    with live or nullcontext():
        yield Display(mode, max_iterations, live)
