"""Which device runs the agents: the cores of this machine, or its GPU."""

from gridveil.device import Device, DeviceError, current_device

_LINES_FOR_GPU = 1000
"""Number of lines, of all draws together, from which a GPU saves more time than it takes to set up.
"""


def chosen_device(wanted: Device | None, lines: int) -> Device:
    """Return the device for so many lines of all draws; refuse a GPU that cannot be used.

    None wants the device chosen for everything.
    """
    wanted = current_device() if wanted is None else wanted
    if wanted is Device.CPU or (wanted is Device.AUTO and lines < _LINES_FOR_GPU):
        return Device.CPU
    # Numba's CUDA takes a while to import: only who needs it waits.
    from gridveil.admm.backends.cuda.availability import why_no_gpu

    problem = why_no_gpu()
    if problem is None:
        return Device.GPU
    if wanted is Device.AUTO:
        return Device.CPU
    raise DeviceError(f"device gpu: {problem}")
