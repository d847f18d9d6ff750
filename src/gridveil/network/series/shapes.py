"""Made-up profiles: what households, shops, offices and industry draw hour by hour.

The shapes are invented: bumps over the hours of a day, weaker at weekends, stronger in winter or
summer. No measurement went into them, so that they are public and a prior may use them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
from scipy.signal import lfilter

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries, load_keys

FIRST_HOUR = 482256
"""The hour in which examples begin: Monday, 2025-01-06 00:00 UTC."""
_YEAR_BEGINS, _YEAR = 482136, 8760
"""2025, over which every shape has the mean 1."""
_HIGHEST = 1.15
"""No example draws more than that times the load of the case, in P or in Q."""
_SIZES = ("1", "1.25", "1.6", "2", "2.5", "3.15", "4", "5", "6.3", "8")
"""Ratings are these times a power of ten, as those of transformers are."""
_SMALLEST = Fraction(1, 10)
_PERSISTENCE = {"weather": 0.985, "own": 0.7}
"""How much of a deviation is left after an hour."""
_DEVIATION = {"weather": 0.07, "own": 0.08}


@dataclass(frozen=True)
class Customers:
    """What one kind of customers draws: a base, and bumps over the hours of a working day."""

    name: str
    base: float
    bumps: tuple[tuple[float, float, float], ...]
    """The height of each, the hour it is centred at, and its width in hours."""
    saturday: float
    """How high the bumps are then, of those of a working day."""
    sunday: float
    season: float
    """How much more is drawn in the middle of January than on average; negative: in July."""
    weather: float
    """How much of the common deviation, which the weather brings, is felt."""

    def draw(self, local_hours: IntArray, late: float | FloatArray = 0.0) -> FloatArray:
        """Return what they draw in hours of local time, in no unit yet.

        Args:
            local_hours: Hours since 1970-01-01 00:00, local time; a last axis may be loads.
            late: By how many hours all bumps are late.
        """
        day, hour = np.divmod(local_hours, 24)
        weekday = (day + 3) % 7  # 1970-01-01 was a Thursday
        factor = np.where(weekday == 5, self.saturday, np.where(weekday == 6, self.sunday, 1.0))
        total = np.zeros(np.broadcast(local_hours, late).shape)
        for height, centre, width in self.bumps:
            away = (hour - centre - late + 12) % 24 - 12
            total += height * np.exp(-((away / width) ** 2) / 2)
        season = 1 + self.season * np.cos(2 * np.pi * (day - 14) / 365.25)
        return np.asarray((self.base + factor * total) * season)


CUSTOMERS = (
    Customers("household", 0.35, ((0.35, 7.5, 1.5), (0.25, 13, 2.5), (0.75, 19.5, 2.2)),
              1.05, 1.1, 0.22, 1.0),
    Customers("shop", 0.3, ((0.6, 11, 2.6), (0.65, 16.5, 2.6)), 0.95, 0.25, 0.05, 0.6),
    Customers("office", 0.3, ((0.7, 10.5, 2.4), (0.6, 15, 2.2)), 0.25, 0.15, -0.1, 0.8),
    Customers("industry", 0.6, ((0.4, 9, 3.2), (0.35, 15, 3.4)), 0.5, 0.3, 0.03, 0.2),
)  # fmt: skip
"""The kinds of customers."""


def customer_shapes(first_hour: int, hours: int, time_zone: str = "UTC") -> FloatArray:
    """Return the public shape of every kind in CUSTOMERS, with the mean 1 over 2025.

    Args:
        first_hour: Hours since 1970-01-01 00:00 UTC.
        hours: How many.
        time_zone: Where the customers live, as "Europe/Berlin"; days and weekends are those there.

    Returns:
        An array of shape (kinds, hours).

    Raises:
        GridveilError: There is no such time zone.

    Example:
        >>> shapes = customer_shapes(FIRST_HOUR, 24)
        >>> shapes.shape, int(shapes[0].argmax())
        ((4, 24), 19)
    """
    local = local_hours(first_hour, hours, time_zone)
    return np.array([kind.draw(local) / _mean(kind) for kind in CUSTOMERS])


def local_hours(first_hour: int, hours: int, time_zone: str) -> IntArray:
    """Return hours of UTC as hours of local time since 1970-01-01 00:00, rounded down."""
    utc = np.arange(first_hour, first_hour + hours, dtype=np.int64)
    if time_zone == "UTC":
        return utc
    zone = zone_of(time_zone)
    offsets = (_offset(zone, hour) for hour in utc.tolist())
    return utc + np.fromiter(offsets, dtype=np.int64, count=hours)


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its name.

    Raises:
        GridveilError: There is none of that name.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    raise GridveilError(
        f"time zone {name!r}: there is none of that name; they are called as Europe/Berlin, "
        "America/New_York or UTC are"
    )


def example_series(
    network: Network, hours: int, seed: int, first_hour: int = FIRST_HOUR
) -> tuple[LoadSeries, tuple[Fraction, ...]]:
    """Make up profiles for every load of a network, and public ratings in MVA.

    Each load is a mixture of customers, drawn at random; their days begin a little earlier or
    later, the weather moves all together, and each has noise of its own. The loads of the case are
    about the peaks. More hours of the same seed continue the fewer.

    They are for trying things out. Profiles and ratings come from the loads of the case: where
    those are secret, neither is public.

    Args:
        network: The network.
        hours: How many, from 1.
        seed: What the random numbers come from.
        first_hour: Hours since 1970-01-01 00:00 UTC; customers live in UTC.

    Raises:
        GridveilError: There are no hours.

    Example:
        >>> from gridveil import load_case
        >>> series, ratings = example_series(load_case("case5_pjm"), hours=168, seed=1)
        >>> series.p.shape, [str(rating) for rating in ratings]
        ((168, 3), ['400', '400', '500'])
    """
    if hours < 1:
        raise GridveilError(f"hours: at least 1, not {hours}")
    once, weather, own = (
        np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(3)
    )
    loads = len(network.loads)
    shares = once.dirichlet([0.5] * len(CUSTOMERS), loads)
    late = np.clip(once.normal(0, 0.7, loads), -2, 2)
    reactive = once.uniform(0.3, 1.0, loads)
    local = np.arange(first_hour, first_hour + hours, dtype=np.int64)[:, None]
    common = _deviation(weather.standard_normal((hours, 1)), "weather")
    profile = np.zeros((hours, loads))
    for kind, share in zip(CUSTOMERS, shares.T, strict=True):
        profile += share * kind.draw(local, late) / _peak(kind) * (1 + kind.weather * common)
    p_noise, q_noise = np.moveaxis(own.standard_normal((hours, 2, loads)), 1, 0)
    active = np.clip(profile * (1 + _deviation(p_noise, "own")), 0.02, _HIGHEST)
    # Motors idle: the less active power falls, the less reactive power does.
    follows = profile**reactive * (1 + _deviation(q_noise, "own"))
    series = LoadSeries(
        first_hour,
        active * network.loads.p,
        np.clip(follows, 0.02, _HIGHEST) * network.loads.q,
        load_keys(network),
    )
    apparent = _HIGHEST * np.hypot(network.loads.p, network.loads.q) * network.base_mva
    return series, tuple(map(_rating, apparent.tolist()))


def _deviation(noise: FloatArray, kind: str) -> FloatArray:
    """Return deviations that last a while, from independent ones; time is the first axis."""
    stays = _PERSISTENCE[kind]
    fresh = np.sqrt(1 - stays**2)
    begins = (1 - fresh) * noise[:1]  # so that the first has the deviation of all
    lasting, _ = lfilter([fresh], [1, -stays], noise, axis=0, zi=begins)
    return np.asarray(_DEVIATION[kind] * lasting)


def _rating(apparent_mva: float) -> Fraction:
    """Return the smallest usual rating that is at least so much."""
    return next(size for size in _usual_sizes() if size >= apparent_mva)


def _usual_sizes() -> Iterable[Fraction]:
    power = _SMALLEST
    while True:
        yield from (power * Fraction(size) for size in _SIZES)
        power *= 10


@cache
def _mean(kind: Customers) -> float:
    return float(kind.draw(local_hours(_YEAR_BEGINS, _YEAR, "UTC")).mean())


@cache
def _peak(kind: Customers) -> float:
    return float(kind.draw(local_hours(_YEAR_BEGINS, _YEAR, "UTC")).max())


def _offset(zone: ZoneInfo, hour: int) -> int:
    """Return by how many hours local time is ahead of UTC, rounded down."""
    offset = datetime.fromtimestamp(3600 * hour, UTC).astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds() // 3600)
