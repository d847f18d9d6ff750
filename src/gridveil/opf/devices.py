"""Where the interior-point method solves, and what happens where a GPU fails.

A GPU chosen by name is tried before anything else is done, so that what is missing is told at once.
`auto` does without one that cannot be used, and says so. A GPU that fails during a solve ends it
with advice. After noise was drawn nothing may end so, or a draw would be lost: then the CPU steps
in, and so it does for `auto`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TypeVar
from warnings import warn

from gridveil.device import ON_CPU, Device, DeviceError, DeviceWarning, current_device, known_advice
from gridveil.opf.interior_point.backend import Backend
from gridveil.opf.interior_point.cpu.backend import CPU

T = TypeVar("T")

_GPU_FROM, _GPU_FROM_TOGETHER = 5_000, 50_000
"""Buses from which the device `auto` is a GPU: of one program, and of all that are solved together.
"""
_LIBRARIES = ("cupy", "cupyx", "cupy_backends")
_MUST_END: ContextVar[bool] = ContextVar("must_end", default=False)


@contextmanager
def cpu_steps_in() -> Iterator[None]:
    """Solve on the CPU, with a warning, what a GPU fails to solve inside, also one by name."""
    token = _MUST_END.set(True)
    try:
        yield
    finally:
        _MUST_END.reset(token)


def check_device() -> None:
    """Refuse a GPU that was chosen by name and cannot be used.

    Raises:
        DeviceError: Its text says what is missing, and how to get it.
    """
    if current_device() is Device.GPU:
        problem = _why_no_gpu()
        if problem is not None:
            raise DeviceError(f"device gpu: {problem}")


def solved_on_device(solve: Callable[[Backend], T], buses: int, programs: int = 1) -> T:
    """Return what solving gives where programs of a network of this size are solved.

    Args:
        solve: Solves on a backend; on a second one if a GPU, the first, fails.
        buses: Buses of the network.
        programs: How many programs are solved together.
    """
    backend = _backend(buses, programs)
    if isinstance(backend, CPU):
        return solve(backend)
    try:
        return solve(backend)
    except Exception as error:
        if not is_failure_of_gpu(error):
            raise
        advice = _advice_on(error)
    if current_device() is Device.GPU and not _MUST_END.get():
        raise DeviceError(f"device gpu: {advice}")
    warn(f"solved on the CPU, since {advice}", DeviceWarning, stacklevel=2)
    return solve(CPU())


def device_for(buses: int, programs: int) -> Device:
    """Return where so many programs are solved together, CPU or GPU: to be decided once for all."""
    return Device.CPU if isinstance(_backend(buses, programs), CPU) else Device.GPU


def is_failure_of_gpu(error: BaseException) -> bool:
    """Whether an error is one of the libraries for GPUs."""
    kinds = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return isinstance(error, DeviceError) or bool(kinds & set(_LIBRARIES))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that a GPU has too little memory left."""
    return is_failure_of_gpu(error) and isinstance(error, MemoryError)


def _backend(buses: int, programs: int) -> Backend:
    device = current_device()
    least = _GPU_FROM if programs == 1 else _GPU_FROM_TOGETHER
    if device is Device.CPU or (device is Device.AUTO and buses * programs < least):
        return CPU()
    problem = _why_no_gpu()
    if problem is None:
        # CuPy takes a while to import: only who needs it waits.
        from gridveil.opf.interior_point.cuda.backend import GPU

        return GPU()
    if device is Device.GPU and not _MUST_END.get():
        raise DeviceError(f"device gpu: {problem}")
    warn(f"solved on the CPU: {problem}", DeviceWarning, stacklevel=3)
    return CPU()


@cache
def _why_no_gpu() -> str | None:
    """Return why no GPU can be used in this process, with advice; None if one can."""
    from gridveil.opf.interior_point.cuda.availability import why_no_gpu

    return why_no_gpu()


def _advice_on(error: Exception) -> str:
    """Return what to do about a failure during a solve; no text of the error but known ones."""
    if isinstance(error, DeviceError):
        return str(error)
    if isinstance(error, MemoryError):
        return str(known_advice("out of memory"))
    kind = type(error).__name__
    return (
        f"the GPU failed ({kind}), it may have been lost or reset: start again in a new process; "
        f"{ON_CPU}"
    )
