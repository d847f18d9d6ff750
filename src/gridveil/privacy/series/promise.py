"""What the release of a load series promises each load: which two series nobody can tell apart."""

import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from gridveil.errors import GridveilError
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.hide import HiddenIn, Hide
from gridveil.privacy.metric import Metric
from gridveil.privacy.ratings import PublicRatings

DAY = 24
"""The hours of a window of the promise `day`."""


class SeriesPromiseKind(Enum):
    """Which series are neighbours."""

    ENERGY = "energy"
    DAY = "day"
    WINDOW = "window"


@dataclass(frozen=True)
class SeriesPromise:
    """A promise about the series of each load, with α the amount that is hidden.

    - energy: two series are neighbours if Σ_t (|ΔP_t| + |ΔQ_t|) is at most α times one hour;
    - day: if they differ by at most α in each of some 24 consecutive hours, and nowhere else;
    - window: if they differ by at most α in each hour of the release.

    Example:
        >>> from gridveil.privacy.series.promise import SeriesPromise
        >>> SeriesPromise.of("day", 2, "5%rating").hidden()
        'Any change of a load by up to 5 % of its rating in each of any 24 consecutive hours'
    """

    kind: SeriesPromiseKind
    epsilon: Fraction
    hide: Hide
    """A share of each load's rating, or MVA; for `energy` times one hour."""

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise GridveilError("epsilon: must be above 0; 1 is usual, smaller is more private")
        if self.hide.unit is HiddenIn.LOAD:
            raise GridveilError(
                f"hide: {self.hide} of a load changes from hour to hour, and with what is to be "
                "hidden; a series hides a share of the rating, as 5%rating, or MVA, as 5MVA"
            )

    @classmethod
    def of(
        cls, kind: SeriesPromiseKind | str, epsilon: Number, hide: Hide | str
    ) -> "SeriesPromise":
        """Return the promise that is asked for.

        Args:
            kind: "energy", "day" or "window".
            epsilon: The budget ε.
            hide: "5%rating", "5MVA"; for `energy` that much for one hour.

        Raises:
            GridveilError: There is no such promise.
        """
        try:
            found = SeriesPromiseKind(kind)
        except ValueError:
            names = ", ".join(one.value for one in SeriesPromiseKind)
            raise GridveilError(f"promise {kind!r}: there are {names}") from None
        return cls(found, exact(epsilon, "epsilon"), Hide.parse(hide))

    @property
    def metric(self) -> Metric:
        """What its distance α is measured in: energy in MVAh, the others in MVA in each hour."""
        return Metric.ENERGY if self.kind is SeriesPromiseKind.ENERGY else Metric.ABSOLUTE

    def window_hours(self, hours: int) -> int:
        """Return within how many consecutive hours of a release neighbours differ.

        Args:
            hours: The hours of the release.
        """
        return DAY if self.kind is SeriesPromiseKind.DAY else hours

    def alphas(
        self, loads: int, base_mva: Number, ratings: PublicRatings | None = None
    ) -> tuple[Fraction, ...]:
        """Return α of each load in p.u. (for `energy` in p.u. times one hour), exact.

        Args:
            loads: How many there are.
            base_mva: The base of per unit.
            ratings: Their public ratings; needed where a share of them is hidden.

        Raises:
            GridveilError: There are no ratings, or as many as of another network.
        """
        base = exact(base_mva, "base")
        if self.hide.unit is HiddenIn.MVA:
            return (self.hide.amount / base,) * loads
        if ratings is None:
            raise GridveilError(f"--hide {self.hide}: needs --ratings, the public ratings of loads")
        if len(ratings.mva) != loads:
            raise GridveilError(f"ratings of {len(ratings.mva)} loads for a network of {loads}")
        return tuple(self.hide.amount * rating / base for rating in ratings.mva)

    def sentence(self) -> str:
        """Return the promise as its owner reads it, and as the certificate states it."""
        factor = math.exp(self.epsilon) if self.epsilon < 700 else math.inf
        return (
            f"{self.hidden()} is hidden: seeing the release changes the odds of such a change by "
            f"a factor of at most {factor:.3g} (ε = {float(self.epsilon):g}, δ = 0)."
        )

    def hidden(self) -> str:
        """Return what is hidden, as the subject of a sentence."""
        if self.kind is SeriesPromiseKind.ENERGY:
            return (
                f"Any change of a load, in whatever hours, that adds up to {self._amount(' x 1 h')}"
            )
        each = (
            "each of any 24 consecutive hours"
            if self.kind is SeriesPromiseKind.DAY
            else "every hour of the release"
        )
        return f"Any change of a load by up to {self._amount('')} in {each}"

    def _amount(self, times: str) -> str:
        amount = self.hide.amount
        if self.hide.unit is HiddenIn.RATING:
            return f"{float(100 * amount):g} % of its rating{times.replace(' x ', ' times ')}"
        return f"{float(amount):g} MVA{'h' if times else ''}"
