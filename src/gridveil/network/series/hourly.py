"""Profiles at any moments as whole hours of UTC without a gap; shorter steps averaged."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, BoolArray, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.series.moments import HOUR, utc_text


@dataclass(frozen=True, eq=False, repr=False)
class Profiles(ArrayRecord):
    """P and Q of loads at moments, in MW and MVAr; some may be missing."""

    moments: IntArray
    """Seconds since 1970-01-01 00:00 UTC, each once, in order."""
    p: FloatArray
    """Of shape (moments, loads)."""
    q: FloatArray
    is_there: BoolArray
    """Whether there is a row for a load at a moment, of shape (moments, loads)."""


@dataclass(frozen=True, eq=False, repr=False)
class Hourly(ArrayRecord):
    """P and Q of loads in consecutive hours, in MW and MVAr."""

    first_hour: int
    p: FloatArray
    q: FloatArray


def hourly(profiles: Profiles, source: str, call: Callable[[int], str], average: bool) -> Hourly:
    """Return profiles hour by hour.

    Args:
        profiles: The profiles.
        source: How to call where they come from.
        call: How to call a load.
        average: Whether shorter steps are averaged.

    Raises:
        GridveilError: An hour is missing, steps are longer or irregular, or shorter and not to be
            averaged.
    """
    step = _step(profiles.moments, source, average)
    _refuse_gaps(profiles, step, source, call)
    per_hour, moments = HOUR // step, profiles.moments
    begins, ends = int(moments[0]), int(moments[-1]) + step
    if begins % HOUR or ends % HOUR:
        raise GridveilError(
            f"{source}: from {utc_text(begins)} to {utc_text(ends)} are no whole hours of UTC; cut "
            "off what is before the first and after the last"
        )
    shape = (-1, per_hour, profiles.p.shape[1])
    means = (values.reshape(shape).mean(axis=1) for values in (profiles.p, profiles.q))
    p, q = (profiles.p, profiles.q) if per_hour == 1 else means
    return Hourly(begins // HOUR, p, q)


def _step(moments: IntArray, source: str, average: bool) -> int:
    """Return how far moments are apart, which divides an hour."""
    if len(moments) == 1:
        step = HOUR
    else:
        apart = np.diff(moments)
        step = int(apart.min())
        if (apart % step).any():
            row = int(np.flatnonzero(apart % step)[0])
            raise GridveilError(
                f"{source}: times are irregular after {utc_text(int(moments[row]))}; one row an "
                "hour is needed"
            )
    if step > HOUR:
        raise GridveilError(
            f"{source}: a row every {step / HOUR:g} hours; one an hour is needed. What is in "
            "between is not made up: take the data from where they have it"
        )
    if step == HOUR and (moments % HOUR).any():
        raise GridveilError(
            f"{source}: its hours do not begin with those of UTC (the first begins at "
            f"{utc_text(int(moments[0]))}); half hours can be averaged to them, with --average"
        )
    if HOUR % step or (moments % step).any():
        raise GridveilError(
            f"{source}: steps of {step / 60:g} minutes do not divide the hours of UTC; average "
            "them to hours where the data come from"
        )
    if step < HOUR and not average:
        raise GridveilError(
            f"{source}: a row every {step / 60:g} minutes; hours are released. --average (average "
            "in Python) takes the mean of each hour"
        )
    return step


def _refuse_gaps(profiles: Profiles, step: int, source: str, call: Callable[[int], str]) -> None:
    """Refuse moments without any row, and loads without one at some moment."""
    moments = profiles.moments
    apart = np.diff(moments)
    if (apart > step).any():
        row = int(np.flatnonzero(apart > step)[0])
        absent = int((apart // step - 1).sum())
        first = utc_text(int(moments[row]) + step)
        raise GridveilError(
            f"{source}: no row for {first}{_others(absent - 1)}; every hour needs one. Is it one "
            "that a clock showed twice when it was set back? Both then need a row"
        )
    if not profiles.is_there.all():
        row, load = (int(found[0]) for found in np.nonzero(~profiles.is_there))
        absent = int((~profiles.is_there).sum())
        raise GridveilError(
            f"{source}: no row for {call(load)} at {utc_text(int(moments[row]))}"
            f"{_others(absent - 1)}; every load needs one in every hour"
        )


def _others(count: int) -> str:
    return "" if not count else " and one other" if count == 1 else f" and {count} others"
