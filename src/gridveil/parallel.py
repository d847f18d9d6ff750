"""Numbered tasks on all cores, in processes of their own."""

from collections.abc import Callable, Iterator
from typing import Any

from joblib import Parallel, delayed  # type: ignore[import-untyped]

from gridveil.errors import GridveilError


def in_parallel(
    tasks: list[tuple[int, Callable[..., Any], tuple[Any, ...]]], workers: int
) -> Iterator[tuple[int, Any]]:
    """Give the results of numbered tasks as they finish, from so many processes."""
    if workers == 0 or workers < -1:
        raise GridveilError(f"workers: {workers} must be 1 or more, or -1 for one per core")
    if len(tasks) == 1 or workers == 1:
        for task in tasks:
            yield _numbered(*task)
        return
    pool = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1)
    yield from pool(delayed(_numbered)(*task) for task in tasks)


def _numbered(
    number: int, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> tuple[int, Any]:
    return number, function(*arguments)
