"""Which mechanism hides what an owner asked for: in per cent, in MVA, in p.u., or by ratings."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from gridveil.defaults import ALPHA, CALIBRATION, EPSILON, FLOOR, HIDE, MECHANISM
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.hide import HiddenIn, Hide
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.clamp import clamped
from gridveil.privacy.mechanisms.rated_laplace import RatedLaplace
from gridveil.privacy.mechanisms.registry import make_mechanism
from gridveil.privacy.mechanisms.relative_laplace import RelativeLaplace
from gridveil.privacy.plausible_distance import typical_load
from gridveil.privacy.ratings import RatingsLike, ratings_of

_FLOOR_SHARE = 30
"""The floor is at most this part of the size of a load."""
_LARGEST_FLOOR = Fraction(FLOOR)
_LEAST_FLOOR = Fraction(1, 10**6)


@dataclass(frozen=True)
class NoiseChoice:
    """What was asked for, checked against each other; see `plan_release` for each."""

    mechanism: str | None = None
    hide: Hide | None = None
    alpha: Number | None = None
    floor: Fraction | None = None
    """In MVA."""
    ratings: RatingsLike | None = None
    ratings_source: str = ""
    calibration: str = CALIBRATION
    bounds: PublicBounds | None = None

    def __post_init__(self) -> None:
        if self.hide is not None and self.alpha is not None:
            raise GridveilError("--hide, --alpha: both say what is hidden; drop one")
        unit = self._hidden.unit if self._hidden is not None else None
        if self.floor is not None and unit is not HiddenIn.LOAD:
            raise GridveilError("--floor: means something where --hide is in % of each load only")
        if (self.ratings or self.ratings_source) and unit is not HiddenIn.RATING:
            raise GridveilError("--ratings: mean something with --hide 20%rating only")
        if unit is HiddenIn.LOAD and self.mechanism not in (None, RelativeLaplace.name):
            raise GridveilError(
                f"--hide {self._hidden}: mechanism {self.mechanism!r} has no relative distance; "
                f"choose {RelativeLaplace.name}, or hide MVA or a share of ratings"
            )
        if unit is not HiddenIn.LOAD and self.mechanism == RelativeLaplace.name:
            raise GridveilError(f"mechanism {self.mechanism!r}: say --hide in % of each load")

    @property
    def _hidden(self) -> Hide | None:
        """What is hidden, if it was said so or nothing else was said."""
        nothing_else = self.alpha is None and self.mechanism in (None, RelativeLaplace.name)
        return Hide.parse(HIDE) if self.hide is None and nothing_else else self.hide

    def make(self, network: Network, epsilon: Number | None = None) -> Mechanism:
        """Return the mechanism, for ε = 1 if not said, clamped to bounds where there are any."""
        e, hidden = EPSILON if epsilon is None else epsilon, self._hidden
        if hidden is not None and hidden.unit is HiddenIn.RATING:
            base = exact(network.base_mva, "base")
            ratings = ratings_of(self.ratings, self.ratings_source, network)
            noise = self.mechanism or MECHANISM
            return clamped(RatedLaplace.of(e, hidden.amount, ratings, base, noise), self.bounds)
        name, alpha, floor = self.resolved(network)
        made = make_mechanism(
            name, e, alpha, calibration=self.calibration, bounds=self.bounds, floor=floor
        )
        return clamped(made, self.bounds)

    def scaled(self, factor: Fraction) -> "NoiseChoice":
        """Return the same with so many times the hidden change."""
        if self._hidden is not None:
            return replace(self, hide=self._hidden.times(factor))
        return replace(self, alpha=factor * exact(self.alpha or ALPHA, "alpha"))

    def resolved(self, network: Network) -> tuple[str, Fraction, Fraction | None]:
        """Return the mechanism's name, its distance, and the floor of a relative one, in p.u.

        Raises:
            GridveilError: Each load would have a distance of its own.
        """
        return self.resolved_at(exact(network.base_mva, "base"), default_floor(network))

    def resolved_at(
        self, base: Fraction, usual_floor: Fraction
    ) -> tuple[str, Fraction, Fraction | None]:
        """Return the same on a base in MVA, with the floor in MVA where none was said.

        Raises:
            GridveilError: Each load would have a distance of its own.
        """
        hidden = self._hidden
        if hidden is None:
            alpha = exact(ALPHA if self.alpha is None else self.alpha, "alpha")
            return self.mechanism or MECHANISM, alpha, None
        if hidden.unit is HiddenIn.LOAD:
            floor = usual_floor if self.floor is None else self.floor
            return RelativeLaplace.name, hidden.amount, floor / base
        if hidden.unit is HiddenIn.RATING:
            raise GridveilError(
                "--hide in % of ratings: parties have one distance for all loads; hide a part of "
                "each load, or MVA"
            )
        return self.mechanism or MECHANISM, hidden.amount / base, None


def noise_choice(
    mechanism: str | None = None,
    hide: Hide | str | None = None,
    alpha: Number | None = None,
    floor: Number | None = None,
    ratings: RatingsLike | None = None,
    calibration: str = CALIBRATION,
    bounds: PublicBounds | None = None,
    ratings_source: str = "",
) -> NoiseChoice:
    """Return what was asked for as data, or refuse what does not fit together."""
    return NoiseChoice(
        mechanism,
        None if hide is None else Hide.parse(hide),
        alpha,
        None if floor is None else _floor(floor),
        ratings,
        ratings_source,
        calibration,
        bounds,
    )


def default_floor(network: Network) -> Fraction:
    """Return the load in MVA below which a change in per cent turns into one of a fixed amount.

    It is 0.25 MVA, or less where public numbers tell that loads are small: the largest power of ten
    that is at most a thirtieth of the size of a load. A larger one than 0.25 MVA makes too many
    loads of some transmission networks negative (`benchmarks/noise_floor.py`).
    """
    fitting = fitting_floor(network)
    return _LARGEST_FLOOR if fitting is None else min(_LARGEST_FLOOR, fitting)


def fitting_floor(network: Network) -> Fraction | None:
    """Return the floor in MVA that fits the size of loads by public numbers; None without any."""
    typical = typical_load(network)
    if typical is None:
        return None
    return max(_LEAST_FLOOR, Fraction(10) ** math.floor(math.log10(typical / _FLOOR_SHARE)))


def _floor(floor: Number) -> Fraction:
    text = floor.strip() if isinstance(floor, str) else floor
    if isinstance(text, str) and text[-3:].lower() in ("mva", "kva"):
        hidden = Hide.parse(text)
        return hidden.amount
    value = exact(text, "floor")
    if value <= 0:
        raise GridveilError(f"floor: {floor} must be above 0, in MVA")
    return value
