"""Runs the subcommands: a user's mistake becomes a message and an exit code, never a traceback."""

import io
import sys
import warnings
from collections.abc import Callable

from gridveil.cli.app import app
from gridveil.cli.exit_codes import MISTAKE, NOT_SOLVED
from gridveil.cli.interruption import ended_by_interrupt
from gridveil.cli.output import error_console
from gridveil.device import DeviceWarning
from gridveil.errors import GridveilError, NotSolvedError


def run() -> None:
    """Run the command that the arguments of the process name."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters
    warnings.showwarning = _shown_unless_of_device(warnings.showwarning)
    with ended_by_interrupt():
        try:
            app()
        except NotSolvedError as error:
            _exit(str(error), NOT_SOLVED)
        except GridveilError as error:
            _exit(str(error), MISTAKE)
        except OSError as error:  # a folder or file of the user's that nothing looked at before
            if error.filename is None or error.strerror is None:
                raise
            _exit(f"{error.filename}: {error.strerror}", MISTAKE)


def _shown_unless_of_device(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Return what shows warnings: those of devices as messages, others as usual."""

    def show(message: Warning | str, category: type[Warning], *place: object) -> None:
        if issubclass(category, DeviceWarning):
            error_console.print(str(message), style="yellow", highlight=False, soft_wrap=True)
        else:
            otherwise(message, category, *place)

    return show


def _exit(message: str, code: int) -> None:
    error_console.print("error:", style="bold red", end=" ")
    error_console.print(message, highlight=False, soft_wrap=True)
    sys.exit(code)
