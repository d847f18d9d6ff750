"""The two policies for the penalties ρ."""

from enum import StrEnum


class Policy(StrEnum):
    """How the penalties change; see penalties.py."""

    FAST = "fast"
    """Residual balancing, group by group."""
    PAPER = "paper"
    """One ρ for all, by the paper's rule."""
