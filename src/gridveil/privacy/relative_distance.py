"""Relative distances: which can be meant, and how the ledger counts those of other floors.

The ledger counts relative distances with a floor of 1 MVA. `docs/ledger-rules.md` proves that a
distance with another floor is at most `floor_factor` times as large.
"""

from fractions import Fraction

from gridveil.errors import GridveilError

LEDGER_FLOOR = Fraction(1)
"""In MVA: the floor with which the ledger counts relative distances."""
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


def floor_factor(floor_mva: Fraction) -> Fraction:
    """Return how many times as large a distance with this floor is as the ledger's, at most."""
    if floor_mva == LEDGER_FLOOR:
        return Fraction(1)
    if floor_mva > LEDGER_FLOOR:
        return Fraction(5, 4)
    return Fraction(13, 10) * LEDGER_FLOOR / floor_mva


def ledger_distance(distance: Fraction, floor_mva: Fraction) -> Fraction:
    """Return the distance at which the ledger charges a release with this distance and floor."""
    return distance / floor_factor(floor_mva)
