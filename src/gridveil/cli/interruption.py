"""Ctrl-C ends a command within a second wherever it is, and says what it leaves behind.

As a rule Ctrl-C raises KeyboardInterrupt in the main thread. That can come late, while a solver or
a compiler of another language runs, or get lost in one of its callbacks. So a thread watches for
the signal and ends the process where the main thread has not ended in time. What must not be cut
in two survives that: the ledger is a database, and files appear whole or not at all.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from gridveil.cli.exit_codes import INTERRUPTED
from gridveil.interruption import stops_by_itself

_GRACE_SECONDS = 0.5
"""How long the main thread may take to end after Ctrl-C."""
_SHOW_CURSOR = "\x1b[?25h"
_END = b"\0"


@dataclass
class _Command:
    """The command that runs."""

    sentence: Callable[[], str] | None = None
    """Says what an interruption leaves behind."""
    hurried: bool = True
    """Whether it has to end in time."""
    interrupted: bool = False
    said: bool = False
    ended: threading.Event = field(default_factory=threading.Event)

    def say(self) -> None:
        """Say that it was interrupted, once."""
        if self.said:
            return
        self.said = True
        rest = "" if self.sentence is None else f": {self.sentence()}"
        cursor = _SHOW_CURSOR if sys.stderr.isatty() else ""
        print(f"{cursor}interrupted{rest}", file=sys.stderr, flush=True)


_command = _Command()


@contextmanager
def ended_by_interrupt() -> Iterator[None]:
    """Let Ctrl-C end the command that runs in the block: exit code 130, no traceback."""
    global _command
    command = _command = _Command()
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_signal: int, _frame: FrameType | None) -> None:
        if not command.interrupted:  # more of them would only interrupt the way out
            command.interrupted = True
            raise KeyboardInterrupt

    hook = sys.unraisablehook

    def without_interrupts(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            hook(unraisable)

    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    previous_fd = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    sys.unraisablehook = without_interrupts
    watcher = threading.Thread(target=_watch, args=(reading, command), daemon=True)
    watcher.start()
    previous = signal.getsignal(signal.SIGINT)
    try:
        if previous is signal.default_int_handler:  # else it is ignored, or another's
            signal.signal(signal.SIGINT, handle)
        yield
    except BaseException:
        if not command.interrupted:
            raise
        # Whatever it has become on the way: an import that is interrupted raises anything.
        command.say()
        # Else Python may still die of the signal: it remembers one that came during an exec.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        raise SystemExit(INTERRUPTED) from None
    finally:
        command.interrupted = True
        command.ended.set()
        signal.set_wakeup_fd(previous_fd)
        if previous is signal.default_int_handler:
            signal.signal(signal.SIGINT, previous)
        sys.unraisablehook = hook
        os.write(writing, _END)
        watcher.join()
        os.close(reading)
        os.close(writing)


@contextmanager
def leaving(sentence: Callable[[], str]) -> Iterator[None]:
    """Say what an interruption of the block leaves behind; the sentence may come from a thread."""
    command = _command
    command.sentence = sentence
    try:
        yield
    except KeyboardInterrupt:
        command.say()
        raise
    finally:
        command.sentence = None


@contextmanager
def unhurried() -> Iterator[None]:
    """Let the block take the time that ending in order takes: other members are waiting."""
    _command.hurried = False
    try:
        yield
    finally:
        _command.hurried = True


def _watch(reading: int, command: _Command) -> None:
    """End the process where Ctrl-C has not ended the command in time."""
    while (received := os.read(reading, 1)) != _END:
        is_interrupt = received == bytes([signal.SIGINT])
        if not is_interrupt or stops_by_itself() or not command.hurried:
            continue
        if command.ended.wait(_GRACE_SECONDS):
            continue
        command.say()
        sys.stdout.flush()
        os._exit(INTERRUPTED)
