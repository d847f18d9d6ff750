"""Functions of arrays recorded as CUDA graphs: hundreds of operations by one launch.

A function runs as it is the first time that it meets arrays of some shapes, so that all kernels
are compiled; the second time it is recorded; from then on the recording is replayed. Arrays go in
by copies to where the recording reads, unless they are at a fixed place themselves, where some
other recording has written them. Memory that recordings work in comes from a pool of their own,
which they share: between two replays nothing in it is needed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from gridveil.opf.interior_point.backend import Array, Reuse


class Recorded:
    """A function that is recorded and replayed; see `Backend.recorded`."""

    def __init__(self, function: Callable[..., Any], fixed: tuple[Any, ...], reuse: Reuse) -> None:
        self._function = partial(function, *fixed)
        self._name, self._reuse = function.__qualname__, reuse
        self._recordings: dict[Any, _Recording] = {}
        self._places: dict[Any, list[Any]] = {}
        """Where results of these shapes stand, whichever recording they are from."""
        self._last: tuple[tuple[Any, ...], _Recording] | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Return the function's result."""
        if self._last is not None and all(map(_is, arguments, self._last[0])):
            return self._last[1].launch()
        leaves: list[Any] = []
        form = _taken_apart(arguments, leaves)
        shapes = form, tuple((leaf.shape, leaf.dtype.char) for leaf in leaves)
        if (self._name, shapes) not in _COMPILED:
            _COMPILED.add((self._name, shapes))
            return self._function(*_put_together(form, iter(_there(leaves))))
        carried = len(_leaves_of(arguments[0])) if self._reuse is Reuse.CARRIED else 0
        others = leaves[carried:]
        key = shapes, tuple(id(leaf) if is_at_fixed_place(leaf) else 0 for leaf in others)
        recording = self._recordings.get(key)
        if recording is None:
            places = self._places.get(shapes)
            if places is None and carried:
                places = _in_main_pool(leaves[:carried])
            inputs = _inputs(leaves, (places or [])[:carried])
            recording = _Recording(self._function, form, inputs, places, self._reuse)
            self._recordings[key] = recording
            if self._reuse is not Reuse.NONE:
                self._places[shapes] = recording.outputs
        self._last = (arguments, recording) if recording.reads_only(leaves) else None
        return recording.replay(leaves)


def _is(one: Any, other: Any) -> bool:
    return one is other


class _Recording:
    """One recording: the graph, where it reads, and where it writes."""

    def __init__(
        self,
        function: Callable[..., Any],
        form: Any,
        inputs: list[Any],
        places: list[Any] | None,
        reuse: Reuse,
    ) -> None:
        self._inputs = inputs
        self._seen: list[Any] = [None] * len(inputs)
        self._stream, self._copied = process_stream(), reuse is Reuse.NONE
        arguments = _put_together(form, iter(self._inputs))
        self._graph, self._form, self.outputs = _captured(function, arguments, places)
        self._result = _put_together(self._form, iter(self.outputs))
        if not self._copied:
            for array in self.outputs:
                at_fixed_place(array)

    def reads_only(self, leaves: list[Any]) -> bool:
        """Whether the recording reads these very arrays, so that none needs to be copied."""
        return all(map(_is, self._inputs, leaves))

    def replay(self, leaves: list[Any]) -> Any:
        """Return what the function gives for arrays of the recorded shapes."""
        for place, (leaf, target) in enumerate(zip(leaves, self._inputs, strict=True)):
            if leaf is target or leaf is self._seen[place]:
                continue
            _copy(leaf, target, self._stream)
            # Numbers of instances, in memory, and arrays at fixed places change in place.
            changes = _is_in_memory(leaf) or is_at_fixed_place(leaf)
            self._seen[place] = None if changes or is_at_fixed_place(target) else leaf
        return self.launch()

    def launch(self) -> Any:
        """Return what the function gives for what stands where the recording reads."""
        self._graph.launch(self._stream)
        if self._copied:
            return _put_together(self._form, (output.copy() for output in self.outputs))
        return self._result


def _captured(
    function: Callable[..., Any], arguments: Any, places: list[Any] | None
) -> tuple[Any, Any, list[Any]]:
    """Return the graph of a function, the form of its result, and where its arrays stand."""
    import cupy

    stream = process_stream()
    inside: list[Any] = []
    with cupy.cuda.using_allocator(memory_of_recordings().malloc):
        stream.begin_capture()
        try:
            form = _taken_apart(function(*arguments), inside)
            outputs = places or _in_main_pool(inside)
            for target, source in zip(outputs, inside, strict=True):
                cupy.copyto(target, source)
        finally:
            graph = stream.end_capture()
    return graph, form, outputs


def _inputs(leaves: list[Any], carried: list[Any]) -> list[Any]:
    """Return where a recording reads arrays: at their fixed places, or where they are copied to."""
    own = [leaf for leaf in leaves[len(carried) :] if not is_at_fixed_place(leaf)]
    copies = iter(_in_main_pool(own))
    others = (leaf if is_at_fixed_place(leaf) else next(copies) for leaf in leaves[len(carried) :])
    return [*carried, *others]


def _in_main_pool(arrays: list[Any]) -> list[Any]:
    """Return empty arrays like these in memory that no recording works in."""
    import cupy

    with cupy.cuda.using_allocator(cupy.get_default_memory_pool().malloc):
        return [cupy.empty(array.shape, array.dtype) for array in arrays]


_COMPILED: set[Any] = set()
"""Functions and shapes that ran in this process, whose kernels are therefore compiled."""
_AT_FIXED_PLACES: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Arrays that are written again and again at the same place, by identity."""


def at_fixed_place(array: Array) -> Array:
    """Note that an array is written again and again, so that recordings read it where it is."""
    _AT_FIXED_PLACES[id(array)] = array
    return array


def is_at_fixed_place(array: Any) -> bool:
    """Whether recordings read this very array where it is."""
    return _AT_FIXED_PLACES.get(id(array)) is array


def _leaves_of(value: Any) -> list[Any]:
    leaves: list[Any] = []
    _taken_apart(value, leaves)
    return leaves


def _is_in_memory(array: Any) -> bool:
    return isinstance(array, np.ndarray)


def _copy(leaf: Any, target: Array, stream: Any) -> None:
    """Copy an array, from memory too, to where a recording reads it."""
    import cupy

    if _is_in_memory(leaf):
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
        parts = [_taken_apart(getattr(value, name), leaves) for name in _names(type(value))]  # type: ignore[arg-type]
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
def _names(kind: type) -> tuple[str, ...]:
    return tuple(spec.name for spec in fields(kind))


@cache
def process_stream() -> Any:
    """Return the stream of all our work: graphs cannot be recorded on the default one."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


@cache
def memory_of_recordings() -> Any:
    """Return the pool that recordings work in; it may be emptied when there are none."""
    import cupy

    return cupy.cuda.MemoryPool()


@contextmanager
def on_stream() -> Iterator[None]:
    """Run what is inside on the stream of all our work."""
    with process_stream():
        yield
