"""From where the agents set out: a flat network, or a power flow of the noisy loads."""

from enum import StrEnum

_LINES_FOR_FLOW = 1000
"""From how many lines on angles take so long to find each other that a power flow pays."""


class Start(StrEnum):
    """What the copies are before the first iteration."""

    FLAT = "flat"
    """Voltages of 1, no angles: what parties that run apart can do."""
    FLOW = "flow"
    """Outputs and angles of a linear power flow of the noisy loads (dc_flow.py)."""
    AUTO = "auto"
    """A power flow for large networks."""


def starts_flat(start: Start, lines: int) -> bool:
    """Whether a network of so many lines sets out flat."""
    return start is Start.FLAT or (start is Start.AUTO and lines < _LINES_FOR_FLOW)
