"""Whether this machine has a GPU that can be used, and advice where it has none or it fails."""

import importlib.util
import warnings
from functools import cache
from typing import Any

_EXTRA = "pip install 'gridveil[cuda]'"
_CPU = "--device cpu (device='cpu' in Python) does without a GPU"
_OLD_DRIVER = (
    "INSUFFICIENT_DRIVER", "UNSUPPORTED_PTX_VERSION", "SYSTEM_DRIVER_MISMATCH",
    "COMPAT_NOT_SUPPORTED_ON_DEVICE", "Unsupported .version", '" not found',
)  # fmt: skip
"""The last two are texts of a compiler and of a library."""
_OLD_GPU = ("INVALID_IMAGE", "NO_BINARY_FOR_GPU", "compute capability")
_NO_GPU = ("NO_DEVICE", "INVALID_DEVICE", "DEVICE_UNAVAILABLE")


def why_no_gpu() -> str | None:
    """Return why no GPU can be used here, with advice; None if one can."""
    if importlib.util.find_spec("numba_cuda") is None:
        return f"agents on a GPU need an extra: {_EXTRA}; {_CPU}"
    try:
        from numba import cuda

        if cuda.is_available():
            _run_smallest_kernel()
            return None
        problem = cuda.cuda_error()
    except Exception as error:  # whatever a broken driver or installation raises
        return advice_on(error)
    if problem is None:
        return f"the compiler for GPUs was not found: {_EXTRA} brings it; {_CPU}"
    return (
        _known_advice(problem) or f"no NVIDIA GPU can be used here; {_CPU} ({_one_line(problem)})"
    )


def advice_on(error: Exception) -> str:
    """Return what a user can do about a failure of the GPU."""
    return _known_advice(error) or (
        "the GPU failed, it may have been lost or reset: start again in a new process; "
        f"{_CPU} ({_one_line(error)})"
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


def _known_advice(problem: object) -> str | None:
    """Return what to do about a failure of a known kind."""
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
