"""The starting points of the agents: a flat network, or a power flow of the noisy loads."""

from enum import StrEnum

_LINES_FOR_FLOW = 1000
"""Number of lines from which a power flow saves more iterations than it costs."""


class Start(StrEnum):
    """The copies before the first iteration."""

    FLAT = "flat"
    """Voltages of 1, no angles: the only start of agents that run apart."""
    FLOW = "flow"
    """Outputs and angles of a linear power flow of the noisy loads (dc_flow.py)."""
    AUTO = "auto"
    """A power flow for large networks and for those with phase shifts, flat for others."""


def starts_flat(start: Start, lines: int, shifted: bool) -> bool:
    """Whether a network starts flat that has so many lines and, or not, phase shifts."""
    small = lines < _LINES_FOR_FLOW and not shifted
    return start is Start.FLAT or (start is Start.AUTO and small)
