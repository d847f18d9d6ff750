"""SIGTERM ends a process in order: channels are closed and child processes ended."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNAL_STATUS = 128
"""Exit status of a process ended by a signal, by convention, is this plus its number."""


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """While a block runs in the main thread, let SIGTERM raise SystemExit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _exit(number: int, frame: object) -> None:
    del frame
    raise SystemExit(_SIGNAL_STATUS + number)
