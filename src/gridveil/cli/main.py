"""Runs the `gridveil` command: exit codes, messages for a user's mistakes, and Ctrl-C."""

import os
import signal
import sys


def main() -> None:
    """Run the command line; a user's mistake becomes a message, never a traceback."""
    # Nothing is done before all is loaded, so that until then Ctrl-C may end it at once.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from gridveil.cli.run import run

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    run()


def _leave(_signal: int, _frame: object) -> None:
    os.write(sys.stderr.fileno(), b"interrupted\n")
    os._exit(130)
