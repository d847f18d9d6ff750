"""Whether there is a GPU to use, and what to do when it fails: an answer, never a crash."""

import importlib.util
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridveil.admm.layout import Layout
from gridveil.admm.options import AgentOptions
from gridveil.admm.state import State
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError

if TYPE_CHECKING:
    from gridveil.admm.backends.cuda.backend import GpuMachine

_EXTRA = "pip install 'gridveil[cuda]'"
_CPU = "--device cpu (device='cpu' in Python) does without a GPU"
_ROOM = 0.9
"""The share of the free memory to fill."""
_MOST_DRAWS = 65_535
"""At once: so many rows a grid of blocks can have."""
_OLD_DRIVER = (
    "INSUFFICIENT_DRIVER", "UNSUPPORTED_PTX_VERSION", "SYSTEM_DRIVER_MISMATCH",
    "COMPAT_NOT_SUPPORTED_ON_DEVICE", "Unsupported .version", '" not found',
)  # fmt: skip
"""The last two are a compiler's and a library's word for it."""
_OLD_GPU = ("INVALID_IMAGE", "NO_BINARY_FOR_GPU", "compute capability")
_NO_GPU = ("NO_DEVICE", "INVALID_DEVICE", "DEVICE_UNAVAILABLE")
_LIBRARIES = ("numba.cuda", "numba_cuda", "cuda.")


def why_no_gpu() -> str | None:
    """Return why no GPU can be used here, and what to do about it; None if one can."""
    if importlib.util.find_spec("numba_cuda") is None:
        return f"agents on a GPU need an extra: {_EXTRA}; {_CPU}"
    try:
        from numba import cuda

        if cuda.is_available():
            _try_out()
            return None
        problem = cuda.cuda_error()
    except Exception as error:  # whatever a broken driver or installation makes of it
        return what_to_do(error)
    if problem is None:
        return f"the compiler for GPUs was not found: {_EXTRA} brings it; {_CPU}"
    return _advice(problem) or f"no NVIDIA GPU can be used here; {_CPU} ({_one_line(problem)})"


def batch_size(layout: Layout, draws: int) -> int:
    """Return how many of so many draws fit onto the GPU at once; at least one."""
    from numba import cuda

    from gridveil.admm.backends.cuda.backend import bytes_for_all, bytes_per_draw
    from gridveil.admm.backends.cuda.graph import cuda_is_simulated

    if cuda_is_simulated():
        return draws
    with _told_as_advice():
        free = cuda.current_context().get_memory_info().free
    fitting = int((_ROOM * free - bytes_for_all(layout)) / bytes_per_draw(layout))
    return max(1, min(draws, fitting, _MOST_DRAWS))


@contextmanager
def gpu_machine(
    layout: Layout,
    draws: Sequence[FloatArray],
    states: Sequence[State],
    options: AgentOptions,
) -> Iterator["GpuMachine"]:
    """Give draws to the GPU; turn what goes wrong there into an error that says what to do."""
    with _told_as_advice(options.checkpoint):
        from gridveil.admm.backends.cuda.backend import GpuMachine

        machine = GpuMachine(layout, draws, states, options)
        try:
            yield machine
        except BaseException:
            with suppress(Exception):  # of a GPU that is lost, say: the first error counts
                machine.close()
            raise
        machine.close()


@contextmanager
def _told_as_advice(checkpoint: Path | str | None = None) -> Iterator[None]:
    """Turn an error of the libraries for GPUs into one that says what to do."""
    try:
        yield
    except Exception as error:
        told = type(error).__module__.startswith(_LIBRARIES) or str(error).startswith("Function ")
        if not told:
            raise
        onward = "" if checkpoint is None else f"; either goes on from {checkpoint}"
        raise GridveilError(what_to_do(error) + onward) from error


def what_to_do(error: Exception) -> str:
    """Return what a user can do about a failure of the GPU."""
    return _advice(error) or (
        "the GPU failed, it may have been lost or reset: start again in a new process; "
        f"{_CPU} ({_one_line(error)})"
    )


@cache
def _trial() -> Any:
    """Return the least kernel there is."""
    from numba import cuda

    def write(target: Any) -> None:
        target[0] = 1.0

    return cuda.jit(write)


def _try_out() -> None:
    """Compile for the GPU and launch: an old driver, or a GPU that is lost, shows only then."""
    from numba import cuda

    target = cuda.device_array(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that so little leaves a GPU idle
        _trial()[1, 1](target)
    cuda.synchronize()


def _advice(problem: object) -> str | None:
    """Return what to do about a failure that is understood."""
    text = _one_line(problem)
    if "OUT_OF_MEMORY" in text:
        return f"the GPU is out of memory: close what else uses it, do fewer draws; {_CPU}"
    if any(name in text for name in _OLD_DRIVER):
        return (
            "the NVIDIA driver is too old for the CUDA that is installed: update it, "
            f"pip install 'gridveil[cuda12]' for a driver of CUDA 12; {_CPU} ({text})"
        )
    if any(name in text for name in _OLD_GPU):
        return (
            "this GPU is too old for the CUDA that is installed: pip install 'gridveil[cuda12]' "
            f"for older ones; {_CPU} ({text})"
        )
    if any(name in text for name in _NO_GPU):
        return f"no NVIDIA GPU can be used here; {_CPU} ({text})"
    return None


def _one_line(problem: object) -> str:
    return " ".join(str(problem).split())
