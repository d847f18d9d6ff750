"""A public prior of load series: shapes that are known before any load is looked at.

A prior says what series of loads are like, in shares of their ratings: a mean for every hour, and
how series deviate from it. It comes from made-up customers or from a user's public profiles.
Nothing in it may come from the loads that are protected.

Days are the unit. A series of N days is an array (N, 24), and a cosine transform along the days has
it by how fast something changes from day to day: frequency 0 is what all days have in common, the
highest is what differs from each day to the next. Deviations of different frequencies are taken as
independent; those of one frequency have a covariance of 24 × 24 hours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import dct, idct
from scipy.signal import lfilter

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.network.series.shapes import CUSTOMERS, Customers

DAY = 24
CUSTOMERS_IN_PRIOR = 96
_PERSISTENCE, _DEVIATION = (0.985, 0.7), (0.07, 0.10)
"""How much of a deviation is left after an hour, and how large it is: of weather, and a load's own.
"""
_PEAKS = (0.25, 1.0)
"""Between which shares of the rating the peaks of customers are."""
_RATIOS = (0.05, 0.6)
"""Between which numbers Q/P of customers is."""
_NEIGHBOURS = 1
"""Covariances of a frequency are averaged with so many on either side."""
_OWN_SHARE = 0.15
"""The part of a covariance's diagonal that is added to it, since there are few samples."""


@dataclass(frozen=True, eq=False)
class Prior(ArrayRecord):
    """Public series in shares of ratings, and what they say of others.

    Example:
        >>> prior = Prior.generated(482256, 48)
        >>> prior.p.shape, prior.days
        ((96, 48), 2)
    """

    p: FloatArray
    """Active power of each sample in each hour, of shape (samples, hours)."""
    q: FloatArray
    source: str
    """Where they come from, for the certificate."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p.shape != self.q.shape or self.p.ndim != 2 or len(self.p) < 2:
            raise GridveilError("a prior needs P and Q of at least two public series, hour by hour")
        if not (np.isfinite(self.p).all() and np.isfinite(self.q).all()):
            raise GridveilError("a prior needs a finite number in every hour")

    @classmethod
    def generated(
        cls,
        first_hour: int,
        hours: int,
        *,
        kinds: Sequence[Customers] = CUSTOMERS,
        customers: int = CUSTOMERS_IN_PRIOR,
        seed: int = 0,
    ) -> "Prior":
        """Return the prior of made-up customers.

        Args:
            first_hour: Hours since 1970-01-01 00:00 UTC.
            hours: How many.
            kinds: Which kinds of customers the samples are mixtures of.
            customers: How many samples.
            seed: What their random numbers come from.
        """
        p, q = made_up_customers(first_hour, hours, kinds, customers, seed)
        return cls(p, q, f"{customers} made-up customers (seed {seed})")

    @property
    def hours(self) -> int:
        """How many hours it is about."""
        return int(self.p.shape[1])

    @property
    def days(self) -> int:
        """How many days, the last one perhaps in part."""
        return -(-self.hours // DAY)

    @cached_property
    def spectrum(self) -> "Spectrum":
        """What it says of P and Q."""
        return Spectrum.of(self.p, self.q)


@dataclass(frozen=True, eq=False)
class Spectrum(ArrayRecord):
    """Means and covariances of P and Q by frequency along the days: 24 hours of P, then 24 of Q."""

    mean: FloatArray
    """Of shape (days, 48)."""
    covariance: FloatArray
    """Of shape (days, 48, 48)."""

    @classmethod
    def of(cls, p: FloatArray, q: FloatArray) -> "Spectrum":
        """Return what samples say, each of shape (samples, hours)."""
        each = np.concatenate([to_days(p), to_days(q)], axis=-1)
        mean = each.mean(axis=0)
        apart = each - mean
        raw = np.einsum("sfh,sfg->fhg", apart, apart, optimize=True) / (len(each) - 1)
        covariance = _with_neighbours(raw)
        variance = np.einsum("fhh->fh", covariance).reshape(-1, 2, DAY)
        own = np.repeat(variance.mean(axis=-1), DAY, axis=-1)
        return cls(mean, covariance + _OWN_SHARE * own[:, :, None] * np.eye(2 * DAY))


def _with_neighbours(raw: FloatArray) -> FloatArray:
    """Return the mean of each frequency's covariance and those next to it; the first stays."""
    found = raw.copy()
    for f in range(1, len(raw)):
        found[f] = raw[max(1, f - _NEIGHBOURS) : f + _NEIGHBOURS + 1].mean(axis=0)
    return found


def to_days(series: FloatArray) -> FloatArray:
    """Return series, of shape (..., hours), transformed along their days: (..., days, 24).

    Hours that the last day lacks are those of the day before, or of the mean of the series.
    """
    hours = series.shape[-1]
    lacking = -hours % DAY
    if lacking:
        known = series[..., hours - DAY : hours - DAY + lacking] if hours >= DAY else None
        if known is None:
            known = np.repeat(series.mean(axis=-1, keepdims=True), lacking, axis=-1)
        series = np.concatenate([series, known], axis=-1)
    return np.asarray(dct(series.reshape(*series.shape[:-1], -1, DAY), axis=-2, norm="ortho"))


def from_days(transformed: FloatArray, hours: int) -> FloatArray:
    """Return series of so many hours from their transforms."""
    days = idct(transformed, axis=-2, norm="ortho")
    return np.asarray(days.reshape(*days.shape[:-2], -1)[..., :hours])


def made_up_customers(
    first_hour: int, hours: int, kinds: Sequence[Customers], customers: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return P and Q of made-up customers in shares of their ratings, each (customers, hours)."""
    random = np.random.default_rng(seed)
    local = np.arange(first_hour, first_hour + hours)[:, None]
    late = np.clip(random.normal(0, 1.0, customers), -3, 3)
    shares = random.dirichlet([0.5] * len(kinds), customers)
    week = np.arange(7 * DAY)[:, None]
    weather = _deviation(random.standard_normal((hours, 1)), 0)
    profile = np.zeros((hours, customers))
    for kind, share in zip(kinds, shares.T, strict=True):
        drawn = kind.draw(local, late) / kind.draw(week).max()
        profile += share * drawn * (1 + kind.weather * weather)
    own = _deviation(random.standard_normal((2, hours, customers)).transpose(1, 0, 2), 1)
    p = np.clip(profile * (1 + own[:, 0]), 0.02, None) * random.uniform(*_PEAKS, customers)
    ratio, follows = random.uniform(*_RATIOS, customers), random.uniform(0.3, 1.0, customers)
    q = p**follows * p.max(axis=0) ** (1 - follows) * ratio * (1 + own[:, 1])
    return np.asarray(p.T), np.asarray(q.T)


def _deviation(noise: FloatArray, which: int) -> FloatArray:
    """Return deviations that last a while, from independent ones; time is the first axis."""
    stays = _PERSISTENCE[which]
    fresh = np.sqrt(1 - stays**2)
    lasting, _ = lfilter([fresh], [1, -stays], noise, axis=0, zi=(1 - fresh) * noise[:1])
    return np.asarray(_DEVIATION[which] * lasting)
