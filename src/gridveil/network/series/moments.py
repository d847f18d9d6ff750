"""Times of a source as seconds of UTC: offsets, named time zones, daylight saving.

A clock that is set back shows an hour twice: of two rows of a load with the same local time the
first is the earlier. A clock that is set forward skips an hour, in which there is no row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from gridveil.arrays import BoolArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.series.shapes import zone_of

HOUR = 3600
_EPOCH = datetime(1970, 1, 1)
_ADVICE = (
    "times are written 2025-01-31T13:00Z, 2025-01-31T13:00+01:00, or without an offset and with "
    "--time-zone (time_zone in Python)"
)


@dataclass(frozen=True)
class Clock:
    """How the times of a source are meant."""

    time_zone: str | None = None
    """Of times without an offset, as "Europe/Berlin" or "UTC"."""
    start: str | None = None
    """When the step 0 begins, where times are whole numbers of steps."""
    step_minutes: int = 60
    """How long such a step is."""


def moments(
    cells: pa.Array,
    clock: Clock,
    place: Callable[[int], str],
    load: IntArray | None = None,
) -> IntArray:
    """Return the time of each row in seconds since 1970-01-01 00:00 UTC.

    Args:
        cells: Timestamps, texts or whole numbers of steps.
        clock: How they are meant.
        place: Where a row stands.
        load: Which load each row is about; None where each is about all.

    Raises:
        GridveilError: A time is missing, cannot be understood, does not exist, or comes twice.
    """
    if cells.null_count:
        row = int(np.flatnonzero(cells.is_null().to_numpy(zero_copy_only=False))[0])
        raise GridveilError(f"{place(row)}: the time is missing")
    load = np.zeros(len(cells), dtype=np.int64) if load is None else load
    seconds, is_local = _read(cells, clock, place)
    again = _occurrence(load, seconds)
    if not is_local:
        _refuse_doubled(again > 0, seconds, place)
        return seconds
    if clock.time_zone is None:
        raise GridveilError(
            f"{place(0)}: the time has no offset from UTC; say where the clock stood that showed "
            "it, with --time-zone Europe/Berlin or --time-zone UTC (time_zone in Python)"
        )
    return _to_utc(seconds, again, zone_of(clock.time_zone), place)


def utc_text(seconds: int) -> str:
    """Return a time of UTC as text.

    Example:
        >>> utc_text(1735689600)
        '2025-01-01T00:00Z'
    """
    text = str(np.datetime64(seconds, "s"))
    return f"{text.removesuffix(':00')}Z"


def _read(cells: pa.Array, clock: Clock, place: Callable[[int], str]) -> tuple[IntArray, bool]:
    """Return times in seconds, and whether they are those of a local clock."""
    kind = cells.type
    if pa.types.is_integer(kind):
        return _from_steps(np.asarray(cells, dtype=np.int64), clock, place), False
    if pa.types.is_timestamp(kind):
        whole = pc.cast(pc.floor_temporal(cells, unit="second"), pa.timestamp("s", kind.tz))
        if not pc.all(pc.equal(pc.cast(whole, kind), cells)).as_py():
            raise GridveilError(f"{place(0)}: times must be whole seconds")
        return np.asarray(pc.cast(whole, pa.int64()), dtype=np.int64), kind.tz is None
    if pa.types.is_date(kind):
        raise GridveilError(f"{place(0)}: days alone; every hour needs a row. {_ADVICE}")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _from_texts(cells, clock, place)
    raise GridveilError(f"{place(0)}: the times are neither timestamps nor texts; {_ADVICE}")


def _from_texts(
    cells: pa.Array, clock: Clock, place: Callable[[int], str]
) -> tuple[IntArray, bool]:
    coded = pc.utf8_trim_whitespace(cells).dictionary_encode()
    rows = coded.indices.to_numpy(zero_copy_only=False)
    texts = coded.dictionary.to_pylist()
    if all(text.isascii() and text.isdigit() and len(text) < 8 for text in texts):
        steps = np.array([int(text) for text in texts], dtype=np.int64)
        return _from_steps(steps[rows], clock, place), False
    found = [_parsed(text) for text in texts]
    if None in found:
        row = int(np.flatnonzero(rows == found.index(None))[0])
        raise GridveilError(f"{place(row)}: the time cannot be understood; {_ADVICE}")
    times = [time for time in found if time is not None]
    local = [time.tzinfo is None for time in times]
    if len(set(local)) > 1:
        row = int(np.flatnonzero(rows == local.index(not local[0]))[0])
        raise GridveilError(
            f"{place(row)}: some times have an offset from UTC and some do not; give all one"
        )
    seconds = [_seconds(time) for time in times]
    return np.array(seconds, dtype=np.int64)[rows], local[0]


def _from_steps(steps: IntArray, clock: Clock, place: Callable[[int], str]) -> IntArray:
    """Return the times of numbered steps."""
    if clock.start is None:
        raise GridveilError(
            f"{place(0)}: the times are numbers of steps; say when step 0 begins, with start="
            "'2025-01-01T00:00Z' of load_series, and step_minutes if a step is no hour"
        )
    if clock.step_minutes < 1:
        raise GridveilError("step_minutes: at least 1")
    return np.asarray(start_seconds(clock) + 60 * clock.step_minutes * steps)


def start_seconds(clock: Clock) -> int:
    """Return when the step 0 begins.

    Raises:
        GridveilError: It is no time, or one without an offset and without a time zone.
    """
    time = _parsed(clock.start or "")
    if time is None:
        raise GridveilError(f"start: {_ADVICE}")
    if time.tzinfo is None and clock.time_zone is None:
        raise GridveilError("start: a time with an offset from UTC is needed, or time_zone")
    if time.tzinfo is None:
        local = np.array([_seconds(time)], dtype=np.int64)
        nothing = np.zeros(1, dtype=np.int64)
        zone = zone_of(clock.time_zone or "UTC")
        return int(_to_utc(local, nothing, zone, lambda _: "start")[0])
    return _seconds(time)


def _parsed(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.microsecond == 0 else None


def _seconds(time: datetime) -> int:
    offset = time.utcoffset() or timedelta()
    return round((time.replace(tzinfo=None) - offset - _EPOCH).total_seconds())


def _occurrence(load: IntArray, seconds: IntArray) -> IntArray:
    """Return of each row how many rows before it have its load and its time."""
    rows = np.arange(len(seconds))
    order = np.lexsort((rows, seconds, load))
    is_new = np.ones(len(rows), dtype=bool)
    same = (np.diff(seconds[order]) == 0) & (np.diff(load[order]) == 0)
    is_new[1:] = ~same
    begins = np.maximum.accumulate(np.where(is_new, rows, 0))
    again = np.empty(len(rows), dtype=np.int64)
    again[order] = rows - begins
    return again


def _to_utc(
    local: IntArray, again: IntArray, zone: ZoneInfo, place: Callable[[int], str]
) -> IntArray:
    """Return times of a local clock in UTC; of two that it shows twice the first is earlier."""
    different, rows = np.unique(local, return_inverse=True)
    offsets = np.array([_offsets(zone, time) for time in different.tolist()]).reshape(-1, 3)
    first, second, exists = offsets[rows].T
    if not exists.all():
        row = int(np.flatnonzero(exists == 0)[0])
        raise GridveilError(
            f"{place(row)}: {utc_text(int(local[row]))[:-1]} does not exist in {zone.key}, where "
            "clocks were set forward; drop this row if it was only filled in, or name the zone "
            "the clock kept to, as UTC or Etc/GMT-1 for one hour ahead of UTC"
        )
    _refuse_doubled((again > 1) | ((again == 1) & (first == second)), local, place)
    return np.asarray(local - np.where(again == 0, first, second), dtype=np.int64)


def _offsets(zone: ZoneInfo, local: int) -> tuple[int, int, int]:
    """Return how far ahead of UTC a clock is the first and the second time it shows a time.

    The third is whether it ever shows it.
    """
    time = _EPOCH + timedelta(seconds=local)
    found = [_ahead(time.replace(tzinfo=zone, fold=fold)) for fold in (0, 1)]
    utc = time - timedelta(seconds=found[0])
    back = utc + timedelta(seconds=_ahead(_as_utc(utc).astimezone(zone)))
    return found[0], found[1], int(back == time)


def _as_utc(time: datetime) -> datetime:
    return time.replace(tzinfo=ZoneInfo("UTC"))


def _ahead(time: datetime) -> int:
    return round((time.utcoffset() or timedelta()).total_seconds())


def _refuse_doubled(
    doubled: BoolArray | Any, seconds: IntArray, place: Callable[[int], str]
) -> None:
    if doubled.any():
        row = int(np.flatnonzero(doubled)[0])
        raise GridveilError(
            f"{place(row)}: the time {utc_text(int(seconds[row]))[:-1]} comes twice; each load has "
            "one row an hour. Where a clock was set back, write times with their offsets, or name "
            "the clock's --time-zone"
        )
