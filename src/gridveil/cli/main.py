"""Runs the `gridveil` command: exit codes, messages for a user's mistakes, and Ctrl-C."""

import atexit
import gc
import os
import signal
import sys


def main() -> None:
    """Run the command line; a user's mistake becomes a message, never a traceback."""
    # Else Python collects the garbage of compilers before it ends, for a second or more.
    atexit.register(gc.freeze)
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
