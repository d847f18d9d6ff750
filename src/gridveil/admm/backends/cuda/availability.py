"""Whether this machine has a GPU that can be used, and advice where it has none or it fails."""

import importlib.util
import warnings
from functools import cache
from typing import Any

from gridveil.device import EXTRA, ON_CPU, known_advice, one_line


def why_no_gpu() -> str | None:
    """Return why no GPU can be used here, with advice; None if one can."""
    if importlib.util.find_spec("numba_cuda") is None:
        return f"agents on a GPU need an extra: {EXTRA}; {ON_CPU}"
    try:
        from numba import cuda

        if cuda.is_available():
            _run_smallest_kernel()
            return None
        problem = cuda.cuda_error()
    except Exception as error:  # whatever a broken driver or installation raises
        return advice_on(error)
    if problem is None:
        return f"the compiler for GPUs was not found: {EXTRA} brings it; {ON_CPU}"
    return (
        known_advice(problem) or f"no NVIDIA GPU can be used here; {ON_CPU} ({one_line(problem)})"
    )


def advice_on(error: Exception) -> str:
    """Return what a user can do about a failure of the GPU."""
    return known_advice(error) or (
        "the GPU failed, it may have been lost or reset: start again in a new process; "
        f"{ON_CPU} ({one_line(error)})"
    )


@cache
def _smallest_kernel() -> Any:
    """Return a kernel that writes one number."""
    from numba import cuda

    def write(target: Any) -> None:
        target[0] = 1.0

    return cuda.jit(write)


def _run_smallest_kernel() -> None:
    """Compile for the GPU and launch: only then does an old driver or a lost GPU raise an error."""
    from numba import cuda

    target = cuda.device_array(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that one thread uses little of a GPU
        _smallest_kernel()[1, 1](target)
    cuda.synchronize()
