"""Where the agents run: on the cores of this machine, or on its GPU."""

from enum import StrEnum

from gridveil.errors import GridveilError

_LINES_FOR_GPU = 1000
"""From how many lines on, of all draws together, a GPU is worth its start."""


class Device(StrEnum):
    """What iterates."""

    CPU = "cpu"
    CUDA = "cuda"
    """An NVIDIA GPU; needs the extra `gridveil[cuda]`."""
    AUTO = "auto"
    """The GPU if there is one that can be used, and enough work for it."""


def chosen_device(wanted: Device, lines: int) -> Device:
    """Return where to run so many lines of all draws; refuse a GPU that is not there."""
    if wanted is Device.CPU or (wanted is Device.AUTO and lines < _LINES_FOR_GPU):
        return Device.CPU
    # Numba's CUDA takes a while to import: only who needs it waits.
    from gridveil.admm.backends.cuda.session import why_no_gpu

    problem = why_no_gpu()
    if problem is None:
        return Device.CUDA
    if wanted is Device.AUTO:
        return Device.CPU
    raise GridveilError(f"device cuda: {problem}")
