"""What an audit plays against: a mechanism by name, or what hides so much of a load.

The loads are the audit's own, of no network. So p.u. are those of a base of 100 MVA, the floor of a
relative distance is that of networks with large loads where nothing else is said, and a rating is
one that the audit is told.
"""

from fractions import Fraction

import numpy as np

from gridveil.defaults import EPSILON, FLOOR, MECHANISM
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.calibration import Number
from gridveil.privacy.choice import noise_choice
from gridveil.privacy.hide import HiddenIn, Hide
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.rated_laplace import RatedLaplace
from gridveil.privacy.mechanisms.registry import make_mechanism
from gridveil.privacy.ratings import PublicRatings

BASE_MVA = Fraction(100)
_FLOOR_MVA = Fraction(FLOOR)
_TOLD = "chosen for the audit, for loads of its own"


def audit_bounds() -> PublicBounds:
    """Return public bounds for loads of the audit's own, which no network has."""
    low, high = np.array([[-1.0, -1.0]]), np.array([[2.0, 2.0]])
    return PublicBounds(low, high, _TOLD)


def audited_mechanism(
    mechanism: str | None,
    calibration: str,
    epsilon: Number | None = None,
    hide: Hide | str | None = None,
    alpha: Number | None = None,
    floor: Number | None = None,
    rating: Number | None = None,
) -> Mechanism:
    """Return the mechanism that is asked for, as a release of a network would choose it.

    Args:
        mechanism: A name of the registry; None goes by what is hidden.
        calibration: Of a mechanism that has several.
        epsilon: The ε that is claimed.
        hide: "10%" of a load, "5MVA", or "20%rating".
        alpha: A distance α in p.u., for mechanisms that have one.
        floor: For hide in per cent: the load in MVA below which it turns into a fixed amount.
        rating: For hide in per cent of a rating: the rating of the audit's loads, in MVA.
    """
    e = EPSILON if epsilon is None else epsilon
    hidden = None if hide is None else Hide.parse(hide)
    is_rated = hidden is not None and hidden.unit is HiddenIn.RATING
    if mechanism == RatedLaplace.name:
        if not is_rated:
            raise GridveilError(f"mechanism {mechanism!r}: say --hide 10%rating, and --rating")
        mechanism = None
    if (rating is not None) != is_rated:
        raise GridveilError("--hide 20%rating and --rating, in MVA, need each other")
    if is_rated and hidden is not None and rating is not None:
        ratings = PublicRatings.of([rating], _TOLD)
        return RatedLaplace.of(e, hidden.amount, ratings, BASE_MVA, mechanism or MECHANISM)
    if mechanism is None and hidden is None:
        mechanism = MECHANISM
    choice = noise_choice(mechanism, hidden, alpha, floor, calibration=calibration)
    name, distance, x0 = choice.resolved_at(BASE_MVA, _FLOOR_MVA)
    return make_mechanism(
        name, e, distance, calibration=calibration, bounds=audit_bounds(), floor=x0
    )
