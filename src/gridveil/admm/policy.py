"""The two ways to choose the penalties ρ."""

from enum import StrEnum


class Policy(StrEnum):
    """How the penalties change; see penalties.py."""

    FAST = "fast"
    PAPER = "paper"
