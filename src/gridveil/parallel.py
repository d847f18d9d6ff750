"""Numbered tasks on all cores, in processes of their own that end with the one that began them."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from joblib import Parallel, delayed  # type: ignore[import-untyped]

from gridveil.errors import GridveilError

_WATCH_SECONDS = 1.0
"""How long a process may outlive a parent that was killed."""


def in_parallel(
    tasks: list[tuple[int, Callable[..., Any], tuple[Any, ...]]], workers: int
) -> Iterator[tuple[int, Any]]:
    """Give the results of numbered tasks as they finish, from so many processes."""
    if workers == 0 or workers < -1:
        raise GridveilError(f"workers: {workers} must be 1 or more, or -1 for one per core")
    if len(tasks) == 1 or workers == 1:
        for number, function, arguments in tasks:
            yield number, function(*arguments)
        return
    pool = Parallel(
        n_jobs=workers,
        backend="loky",
        return_as="generator_unordered",
        batch_size=1,
        initializer=_end_with,  # before the first task: a worker may wait for one for ever
        initargs=(os.getpid(),),
    )
    yield from pool(delayed(_numbered)(*task) for task in tasks)


def _numbered(
    number: int, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[int, Any]:
    """Run a task in a worker."""
    return number, function(*arguments)


def _end_with(parent: int) -> None:
    """End this process when its parent is gone: a killed one leaves its workers behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
