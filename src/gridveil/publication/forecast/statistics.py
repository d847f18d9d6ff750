"""How a figure of one release spreads over simulated releases, and how likely an event is."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

_LOW, _HIGH = 0.05, 0.95


@dataclass(frozen=True)
class Spread:
    """A figure of one release: its median over simulated ones, and where nine of ten will lie.

    The ends are quantiles for further releases: of 20 values, 5 % of new ones are expected below
    the position 0.05·21 in their order (Weibull's). Of fewer than 19 values, the ends are the least
    and the largest one.

    Example:
        >>> Spread.of(range(1, 100))
        Spread(median=50.0, low=5.0, high=95.0)
    """

    median: float
    low: float
    """The 5 % quantile."""
    high: float
    """The 95 % quantile."""

    @classmethod
    def of(cls, values: ArrayLike) -> "Spread | None":
        """Return the spread of values; those that are not finite say nothing, None without any."""
        numbers = np.asarray(values, dtype=float)
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return None
        median, low, high = np.quantile(numbers, (0.5, _LOW, _HIGH), method="weibull").tolist()
        return cls(median, low, high)

    def holds(self, value: float) -> bool:
        """Whether a value lies between the ends."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Chance:
    """How often something happened in simulated releases, with a 90 % interval of its probability.

    The interval is Clopper and Pearson's, which holds with at least that confidence.

    Example:
        >>> Chance.of(0, 20).low, round(Chance.of(0, 20).high, 2)
        (0.0, 0.14)
    """

    happened: int
    trials: int
    low: float
    high: float

    @classmethod
    def of(cls, happened: int, trials: int) -> "Chance":
        """Return the chance of what happened so many times."""
        failed = trials - happened
        low = float(betaincinv(happened, failed + 1, _LOW)) if happened else 0.0
        high = float(betaincinv(happened + 1, failed, _HIGH)) if failed else 1.0
        return cls(happened, trials, low, high)
