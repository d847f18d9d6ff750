"""What every release states in the same words, for who makes it and for who checks it.

Nothing here is computed from a network: these are the texts, names and rules that both sides need.
"""

from typing import Final

LOADS_COLUMNS: Final = ("bus", "p_mw", "q_mvar")
"""The columns of the table of loads."""
_ROUNDING = 1e-6
"""How far, relatively, a kept gap may exceed β through rounding."""

COSTS_PUBLISHED, COSTS_DERIVED, COSTS_BOUGHT = "published", "derived", "bought"
"""Where the public costs O* come from."""


def invariants(provenance: str, source: str) -> tuple[tuple[str, str], ...]:
    """Return what a release keeps and does not protect, each with where it comes from."""
    return (
        ("which buses have a load", "public by declaration: the list of load buses"),
        (
            "topology, impedances, limits, costs, comments and all else in the case file",
            "public by declaration: the source file, but for its loads and its solution",
        ),
        (
            "the generators' costs O*, within beta",
            f"published: {source}" if provenance == COSTS_PUBLISHED else source,
        ),
    )


def keeps_beta(gap: float, beta: float) -> bool:
    """Whether a gap is within β, but for rounding."""
    return gap <= beta + _ROUNDING
