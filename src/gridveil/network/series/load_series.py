"""The loads of a network hour by hour, in per unit: as protected as raw loads are.

Hours are whole hours of UTC. Each has a number: the hours since 1970-01-01 00:00 UTC, by which the
ledger knows it too.
"""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network

Times = NDArray[np.datetime64]


@dataclass(frozen=True, eq=False, repr=False)
class LoadSeries(ArrayRecord):
    """P and Q of every load in consecutive hours, in the order of `network.loads`.

    No text form shows a value, as with `Loads`.

    Example:
        >>> from gridveil import load_case
        >>> from gridveil.network.series.shapes import example_series
        >>> series, ratings = example_series(load_case("case5_pjm"), hours=24, seed=1)
        >>> series
        LoadSeries(3 loads, 24 hours from 2025-01-06T00:00Z)
        >>> series.keys
        ('bus 2', 'bus 3', 'bus 4')
    """

    first_hour: int
    """Hours since 1970-01-01 00:00 UTC."""
    p: FloatArray
    """Active power in p.u. of the network's base, of shape (hours, loads)."""
    q: FloatArray
    keys: tuple[str, ...]
    """By which the owner, and the ledger, know each load."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What a reader did with the source, in sentences."""

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = (len(self.p), len(self.keys))
        if not self.hours or self.p.shape != shape or self.q.shape != shape:
            raise GridveilError(
                f"a series needs P and Q of every load in every hour: {len(self.keys)} loads, but "
                f"arrays of {self.p.shape} and {self.q.shape}"
            )
        if not (np.isfinite(self.p).all() and np.isfinite(self.q).all()):
            raise GridveilError("every load must be a finite number in every hour")
        twice = [key for key, count in Counter(self.keys).items() if count > 1]
        if twice:
            raise GridveilError(f"{twice[0]} is there twice")

    def __repr__(self) -> str:
        return (
            f"LoadSeries({len(self.keys)} loads, {self.hours} hours from "
            f"{hour_text(self.first_hour)})"
        )

    @property
    def hours(self) -> int:
        """How many hours it has."""
        return len(self.p)

    @property
    def times(self) -> Times:
        """When each hour begins, in UTC."""
        return hour_times(self.first_hour, self.hours)

    def at(self, hour: int) -> tuple[FloatArray, FloatArray]:
        """Return P and Q of all loads in one hour, as `Network.with_loads` takes them.

        Args:
            hour: 0 is the first.
        """
        return self.p[hour], self.q[hour]

    def between(self, start: int, stop: int) -> "LoadSeries":
        """Return the hours from `start` to before `stop`; 0 is the first.

        Raises:
            GridveilError: There are no such hours.
        """
        if not 0 <= start < stop <= self.hours:
            raise GridveilError(f"hours {start} to {stop}: the series has 0 to {self.hours}")
        part = slice(start, stop)
        return LoadSeries(
            self.first_hour + start, self.p[part], self.q[part], self.keys, self.notes
        )


def load_keys(network: Network) -> tuple[str, ...]:
    """Return the keys of a network's loads in service, in their order."""
    return tuple(load.key for load in network.load_identities)


def hour_times(first_hour: int, hours: int) -> Times:
    """Return when each of consecutive hours begins, in UTC.

    Example:
        >>> hour_times(0, 2)
        array(['1970-01-01T00:00:00', '1970-01-01T01:00:00'],
              dtype='datetime64[s]')
    """
    numbers = np.arange(first_hour, first_hour + hours, dtype=np.int64)
    return numbers.astype("datetime64[h]").astype("datetime64[s]")


def hour_text(hour: int) -> str:
    """Return the beginning of an hour as text.

    Example:
        >>> hour_text(482136)
        '2025-01-01T00:00Z'
    """
    return f"{np.datetime64(hour, 'h').astype('datetime64[m]')}Z"
