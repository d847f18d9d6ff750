"""What every release of a series states in the same words, for who makes it and who checks it."""

from typing import Final

from gridveil.privacy.guarantee import NOT_COVERED
from gridveil.privacy.series.promise import SeriesPromise, SeriesPromiseKind
from gridveil.publication.statements import (
    TARGET_PRIVATE,
    invariants,
    private_source,
    uncovered,
)

HABITS: Final = (
    "habits: what a load does day after day is not hidden, only what differs within the promise; "
    "its usual profile and its mean can be learnt, the better the longer the release"
)
METRICS: Final = {
    SeriesPromiseKind.ENERGY: "Σ_t |ΔP_t| + |ΔQ_t|, the L1 distance between two series of the load",
    SeriesPromiseKind.DAY: "the largest |ΔP_t| + |ΔQ_t| of any hour of 24 consecutive ones",
    SeriesPromiseKind.WINDOW: "the largest |ΔP_t| + |ΔQ_t| of any hour of the release",
}
_UNITS: Final = {
    SeriesPromiseKind.ENERGY: "over all hours of the release",
    SeriesPromiseKind.DAY: "within any 24 consecutive hours",
    SeriesPromiseKind.WINDOW: "in all hours of the release",
}
_RAMPS: Final = ("ramp limits of generators", "public by declaration: the file ramps.csv")


def series_unit(kind: SeriesPromiseKind) -> str:
    """Say what the unit of protection is."""
    return f"one load: its active and its reactive power {_UNITS[kind]}"


def series_statement(promise: SeriesPromise) -> str:
    """Say that a folder is private as a whole, and what that means."""
    return (
        "Private as a whole: nothing in this folder was computed from raw loads but through the "
        f"mechanism. {promise.sentence()}"
    )


def series_not_covered() -> list[str]:
    """Return what the promise does not cover."""
    return [HABITS, *uncovered(NOT_COVERED, TARGET_PRIVATE, 0.0)]


def series_invariants(
    target: str,
    source: str,
    ratings: str,
    has_consumers: bool,
    power_factor: float | None,
    has_ramps: bool,
) -> tuple[tuple[str, str], ...]:
    """Return what a release keeps and does not protect, each with where it comes from.

    Args:
        target: What generators are held to; empty where it is nothing.
        source: Where that comes from.
        ratings: Where the ratings of loads were published; empty where none are used.
        has_consumers: Whether loads are declared consumers.
        power_factor: The lowest that they are declared to have.
        has_ramps: Whether generators have ramp limits.
    """
    found = invariants(TARGET_PRIVATE, source, (), has_consumers, power_factor, ratings, target)
    return (*found, _RAMPS) if has_ramps else found


def target_source(has_costs: bool) -> str:
    """Say where hourly costs or dispatches come from."""
    return f"of each hour, {private_source(0.0, is_proportional=not has_costs)}"
