"""Functions of arrays recorded as CUDA graphs: hundreds of operations by one launch.

A function runs as it is the first time that it meets arrays of some shapes, so that all kernels
are compiled; the second time it is recorded; from then on the recording is replayed. What goes in
is copied to where the recording reads it, what comes out from where it writes. Memory that
recordings work in comes from a pool of their own, which they share: between two replays nothing in
it is needed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from gridveil.opf.interior_point.backend import Array


class Recorded:
    """A function that is recorded and replayed; see `Backend.recorded`."""

    def __init__(self, function: Callable[..., Any], fixed: tuple[Any, ...], carried: bool) -> None:
        self._function = partial(function, *fixed)
        self._name, self._carried = function.__qualname__, carried
        self._recordings: dict[Any, _Recording] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's result."""
        leaves: list[Any] = []
        form = _taken_apart(arguments, leaves)
        key = form, tuple((leaf.shape, leaf.dtype.char) for leaf in leaves)
        recording = self._recordings.get(key)
        if recording is None:
            if (self._name, key) not in _COMPILED:
                _COMPILED.add((self._name, key))
                return self._function(*_put_together(form, iter(_there(leaves))))
            recording = _Recording(self._function, form, _there(leaves), self._carried)
            self._recordings[key] = recording
        return recording.replay(leaves)


class _Recording:
    """One recording: the graph, where it reads, and where it writes."""

    def __init__(
        self, function: Callable[..., Any], form: Any, leaves: list[Any], carried: bool
    ) -> None:
        import cupy

        self._inputs = [cupy.empty(leaf.shape, leaf.dtype) for leaf in leaves]
        self._seen: list[Any] = [None] * len(leaves)
        arguments = _put_together(form, iter(self._inputs))
        self._outputs: list[Any] = []
        stream = process_stream()
        with cupy.cuda.using_allocator(_pool().malloc):
            stream.begin_capture()
            try:
                result = function(*arguments)
                self._form = _taken_apart(result, self._outputs)
                if carried:
                    for target, source in zip(self._inputs, self._outputs, strict=False):
                        cupy.copyto(target, source)
            finally:
                self._graph = stream.end_capture()
        self._stream = stream
        self._result = arguments[0] if carried else None
        if carried:
            count = len(self._outputs)
            _OVERWRITTEN.update(id(array) for array in self._inputs[:count])
            self._in_place = self._inputs[:count]

    def replay(self, leaves: list[Any]) -> Any:
        """Return what the function gives for arrays of the recorded shapes."""
        for place, (leaf, target) in enumerate(zip(leaves, self._inputs, strict=True)):
            if leaf is target or (leaf is self._seen[place] and id(leaf) not in _OVERWRITTEN):
                continue
            _copy(leaf, target, self._stream)
            # Arrays in memory are numbers of instances: they may change in place.
            self._seen[place] = None if isinstance(leaf, np.ndarray) else leaf
        self._graph.launch(self._stream)
        if self._result is not None:
            return self._result
        return _put_together(self._form, (output.copy() for output in self._outputs))

    def __del__(self) -> None:
        """Forget which arrays are overwritten."""
        _OVERWRITTEN.difference_update(id(array) for array in getattr(self, "_in_place", ()))


_COMPILED: set[Any] = set()
"""Functions and shapes that ran in this process, whose kernels are therefore compiled."""
_OVERWRITTEN: set[int] = set()
"""Identities of arrays that a replay overwrites, so that the same array may have other numbers."""


def _copy(leaf: Any, target: Array, stream: Any) -> None:
    """Copy an array, from memory too, to where a recording reads it."""
    import cupy

    if isinstance(leaf, np.ndarray):
        target.set(np.ascontiguousarray(leaf), stream=stream)
    elif leaf.flags.c_contiguous:
        target.data.copy_from_device_async(leaf.data, leaf.nbytes, stream=stream)
    else:
        cupy.copyto(target, leaf)


def _there(leaves: list[Any]) -> list[Array]:
    import cupy

    return [cupy.asarray(leaf) for leaf in leaves]


def _taken_apart(value: Any, leaves: list[Any]) -> Any:
    """Append the arrays of a value, and return its form without them."""
    if hasattr(value, "shape"):
        leaves.append(value)
        return None
    if isinstance(value, tuple):
        return tuple, tuple([_taken_apart(part, leaves) for part in value])
    if is_dataclass(value):
        parts = [_taken_apart(getattr(value, name), leaves) for name in _names(type(value))]
        return type(value), tuple(parts)
    raise TypeError(f"a recorded function takes arrays and records of them, not {type(value)}")


def _put_together(form: Any, leaves: Iterator[Any]) -> Any:
    """Return a value of this form with these arrays."""
    if form is None:
        return next(leaves)
    kind, parts = form
    made = tuple([_put_together(part, leaves) for part in parts])
    return made if kind is tuple else kind(*made)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(spec.name for spec in fields(kind))


@cache
def process_stream() -> Any:
    """Return the stream of all our work: graphs cannot be recorded on the default one."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


@cache
def _pool() -> Any:
    import cupy

    return cupy.cuda.MemoryPool()


@contextmanager
def on_stream() -> Iterator[None]:
    """Run what is inside on the stream of all our work."""
    with process_stream():
        yield
