"""Ctrl-C where it must not interrupt at once: held until a block ends, or a request to stop."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_stopping: list[threading.Event] = []
"""The events of the runs that end by themselves when asked to."""


@contextmanager
def stop_on_interrupt() -> Iterator[threading.Event]:
    """Give an event that the first Ctrl-C sets; the second interrupts as usual.

    For runs whose result so far shall not be lost. Only the main thread receives Ctrl-C; elsewhere
    the event is never set.
    """
    stop = threading.Event()

    def handle() -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    _stopping.append(stop)
    try:
        with _handled_by(handle):
            yield stop
    finally:
        _stopping.remove(stop)


@contextmanager
def held_interrupts() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C sets; it interrupts as usual once the block has ended.

    For code of other languages that calls back: an exception in a callback would be lost there.
    """
    held = threading.Event()
    try:
        with _handled_by(held.set):
            yield held
    finally:
        if held.is_set():
            signal.raise_signal(signal.SIGINT)


def stops_by_itself() -> bool:
    """Return whether Ctrl-C has asked a run to stop, or would ask it, that saves its result."""
    return bool(_stopping)


@contextmanager
def _handled_by(handle: Callable[[], None]) -> Iterator[None]:
    """Handle Ctrl-C in a way of its own, unless it is ignored or another thread's."""
    previous = signal.getsignal(signal.SIGINT)
    is_ours = callable(previous) or previous is signal.SIG_DFL
    if not is_ours or threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(_signal: int, _frame: FrameType | None) -> None:
        handle()

    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
