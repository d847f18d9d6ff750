"""The devices that run the agents: the cores of this machine, or its GPU."""

from enum import StrEnum

from gridveil.errors import GridveilError

_LINES_FOR_GPU = 1000
"""Number of lines, of all draws together, from which a GPU saves more time than it takes to set up.
"""


class Device(StrEnum):
    """Where the agents run."""

    CPU = "cpu"
    CUDA = "cuda"
    """An NVIDIA GPU; needs the extra `gridveil[cuda]`."""
    AUTO = "auto"
    """The GPU if there is one that can be used, and enough work for it."""


def chosen_device(wanted: Device, lines: int) -> Device:
    """Return the device for so many lines of all draws; refuse a GPU that cannot be used."""
    if wanted is Device.CPU or (wanted is Device.AUTO and lines < _LINES_FOR_GPU):
        return Device.CPU
    # Numba's CUDA takes a while to import: only who needs it waits.
    from gridveil.admm.backends.cuda.availability import why_no_gpu

    problem = why_no_gpu()
    if problem is None:
        return Device.CUDA
    if wanted is Device.AUTO:
        return Device.CPU
    raise GridveilError(f"device cuda: {problem}")
