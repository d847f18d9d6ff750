"""The devices that compute: the cores of this machine, or its GPU; and advice where a GPU fails.

Agents (admm/backends/cuda/) and the interior-point method (opf/interior_point/cuda/) run on a GPU
by libraries of their own. What a device means, and what to do about a failure, is the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

from gridveil.errors import GridveilError

EXTRA = "pip install 'gridveil[cuda]'"
ON_CPU = "--device cpu (device='cpu' in Python) does without a GPU"
_OLD_DRIVER = (
    "insufficientdriver", "unsupportedptxversion", "systemdrivermismatch",
    "compatnotsupportedondevice", "unsupported.version", '"notfound',
)  # fmt: skip
"""The last two are texts of a compiler and of a library."""
_OLD_GPU = (
    "invalidimage", "nobinaryforgpu", "nokernelimage", "computecapability", "invalidgpuarch",
)  # fmt: skip
_NO_GPU = ("nodevice", "invaliddevice", "deviceunavailable", "devicesunavailable", "libcuda.so")


class Device(StrEnum):
    """Where agents run, and where the interior-point method solves."""

    CPU = "cpu"
    GPU = "gpu"
    """An NVIDIA GPU; needs the extra `gridveil[cuda]`."""
    AUTO = "auto"
    """The GPU if there is one that can be used, and enough work for it."""

    @classmethod
    def _missing_(cls, value: object) -> "Device | None":
        """Understand the name that the GPU had up to 0.3."""
        return cls.GPU if value == "cuda" else None


class DeviceError(GridveilError):
    """A GPU that cannot be used, or that failed."""


class DeviceWarning(UserWarning):
    """A GPU could not be used, and the CPU did its work."""


_CHOSEN: ContextVar[Device] = ContextVar("device", default=Device.CPU)


def as_device(device: Device | str) -> Device:
    """Return a device by its name.

    Raises:
        GridveilError: There is none of this name.

    Example:
        >>> as_device("gpu")
        <Device.GPU: 'gpu'>
    """
    try:
        return Device(device)
    except ValueError:
        raise GridveilError(f"device: {device!r} is none of {', '.join(Device)}") from None


def current_device() -> Device:
    """Return the device chosen for what runs now; the CPU if nothing was said."""
    return _CHOSEN.get()


@contextmanager
def on_device(device: Device | str | None) -> Iterator[None]:
    """Choose the device of everything that runs inside; None leaves the choice as it is."""
    token = _CHOSEN.set(_CHOSEN.get() if device is None else as_device(device))
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def known_advice(problem: object) -> str | None:
    """Return what to do about a failure of a GPU of a known kind, by the texts of libraries."""
    text = one_line(problem)
    squeezed = text.lower().replace("_", "").replace(" ", "")
    if "outofmemory" in squeezed:
        return f"the GPU is out of memory: close what else uses it, do fewer draws; {ON_CPU}"
    if any(name in squeezed for name in _OLD_DRIVER):
        return (
            "the NVIDIA driver is too old for the CUDA that is installed: update it, "
            f"pip install 'gridveil[cuda12]' for a driver of CUDA 12; {ON_CPU} ({text})"
        )
    if any(name in squeezed for name in _OLD_GPU):
        return (
            "this GPU is too old for the CUDA that is installed: pip install 'gridveil[cuda12]' "
            f"for older ones; {ON_CPU} ({text})"
        )
    if any(name in squeezed for name in _NO_GPU):
        return f"no NVIDIA GPU can be used here; {ON_CPU} ({text})"
    return None


def one_line(problem: object) -> str:
    """Return a text of a library as one line."""
    return " ".join(str(problem).split())
