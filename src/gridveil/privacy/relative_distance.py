"""Relative distances: which can be meant, and how the ledger counts those of other floors.

A register counts relative distances with the floor of its first release. `docs/ledger-rules.md`
proves that a distance with another floor is at most `floor_factor` times as large.
"""

from fractions import Fraction

from gridveil.errors import GridveilError

LEAST, MOST = Fraction(1, 10_000), Fraction(1)
"""Relative distances that can be meant: 0.01 % to 100 %."""


def check_relative_distance(distance: Fraction) -> None:
    """Refuse a relative distance that cannot be meant."""
    if LEAST <= distance <= MOST:
        return
    asked = float(distance)
    what = (
        "two values that differ by more could be told apart, which protects next to nothing"
        if distance < LEAST
        else "more than the whole load"
    )
    hint = f" Was {asked / 100:g} meant, which is {asked:g} %?" if MOST < distance <= 100 else ""
    raise GridveilError(
        f"distance: {asked:g} is {100 * asked:g} % of a load: {what}. Nothing was drawn.{hint} A "
        f"relative distance is from {float(LEAST):g} to {float(MOST):g}; 0.1 is 10 %"
    )


def floor_factor(floor: Fraction, counted: Fraction) -> Fraction:
    """Return how many times as large a distance with one floor is as with the other, at most."""
    if floor == counted:
        return Fraction(1)
    return Fraction(5, 4) if floor > counted else Fraction(13, 10) * counted / floor


def relative_distance_at(distance: Fraction, floor: Fraction, counted: Fraction | None) -> Fraction:
    """Return the distance at which a release with this floor is charged where another one counts.

    Args:
        distance: That of the release.
        floor: Its floor, in MVA.
        counted: The floor that a ledger counts with; None where this release says which.
    """
    return distance if counted is None else distance / floor_factor(floor, counted)
