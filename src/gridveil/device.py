"""The devices that compute: the cores of this machine, or its GPU."""

from enum import StrEnum

from gridveil.errors import GridveilError


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
