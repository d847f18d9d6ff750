"""Charts of series as SVG text: profiles over time, and the mean week as a map."""

from collections.abc import Sequence

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.series.load_series import hour_text
from gridveil.publication.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Scale,
    axes_of,
    round_ticks,
    svg,
)
from gridveil.publication.report.html import escape

_MOST_POINTS = 800
"""Hours of a profile that are drawn; each stands for the highest of those beside it."""
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_FIRST_WEEKDAY = 3
"""1970-01-01 was a Thursday."""
_SMALL, _FEW_POINTS = 90, 300


def profile(label: str, axis: str, first_hour: int, values: FloatArray) -> str:
    """Draw a quantity hour by hour; a crosshair follows the pointer and the arrow keys.

    Args:
        label: What it is, in words.
        axis: Its unit.
        first_hour: Hours since 1970-01-01 00:00 UTC.
        values: One for each hour; NaN where there is none.
    """
    shown = _shown(values)
    if not len(shown):
        return ""
    x = Scale(0, max(len(values) - 1, 1), LEFT, WIDTH - RIGHT)
    y = Scale(*_with_room(values), HEIGHT - BOTTOM, TOP)
    parts = axes_of(x, y, np.array([]), profile_ticks(values), "time, UTC", axis)
    for hour in _marks(len(values)):
        parts.append(
            f'<text class="tick middle" x="{x(hour):.1f}" y="{HEIGHT - BOTTOM + 16}">'
            f"{hour_text(first_hour + hour)[5:10]}</text>"
        )
    parts.append(f'<polyline class="curve blue" points="{_points(x, y, shown, values)}"/>')
    width = max((WIDTH - LEFT - RIGHT) / len(shown), 1.0)
    for hour in shown.tolist():
        parts.append(
            f'<rect class="slice" x="{x(hour) - width / 2:.1f}" y="{TOP}" width="{width:.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}" data-tip="{hour_text(first_hour + hour)}: '
            f'{values[hour]:,.4g} {escape(axis)}"/>'
        )
    return svg(label, parts)


def small_profile(label: str, values: FloatArray) -> str:
    """Draw a quantity hour by hour, small and without readings."""
    shown = _shown(values, _FEW_POINTS)
    if not len(shown):
        return ""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    x = Scale(0, max(len(values) - 1, 1), 0, WIDTH)
    y = Scale(low, high, _SMALL - 4, 4)
    return (
        f'<svg viewBox="0 0 {WIDTH} {_SMALL}" role="img" aria-label="{escape(label)}">'
        f'<polyline class="curve blue" points="{_points(x, y, shown, values)}"/></svg>'
    )


def week_map(label: str, axis: str, first_hour: int, values: FloatArray) -> str:
    """Draw the mean of every hour of the week: larger dots are more.

    Args:
        label: What it is, in words.
        axis: Its unit.
        first_hour: Hours since 1970-01-01 00:00 UTC.
        values: One for each hour; NaN where there is none.
    """
    mean = mean_week(first_hour, values)
    row, height = 26, TOP + 26 * len(_DAYS) + BOTTOM
    low, high = float(np.nanmin(mean)), float(np.nanmax(mean))
    x = Scale(0, 24, LEFT, WIDTH - RIGHT)
    parts = []
    for day, name in enumerate(_DAYS):
        at = TOP + row * (day + 0.5)
        parts.append(f'<text class="tick end" x="{LEFT - 8}" y="{at + 4:.1f}">{name}</text>')
        for hour in np.flatnonzero(np.isfinite(mean[day])).tolist():
            share = (mean[day, hour] - low) / ((high - low) or 1.0)
            parts.append(
                f'<circle class="dot" cx="{x(hour + 0.5):.1f}" cy="{at:.1f}" '
                f'r="{2 + 9 * share:.1f}" data-tip="{name} {hour:02}:00 UTC: '
                f'{mean[day, hour]:,.4g} {escape(axis)}"/>'
            )
    parts += [
        f'<text class="tick middle" x="{x(hour + 0.5):.1f}" y="{height - BOTTOM + 16}">'
        f"{hour:02}</text>"
        for hour in range(0, 24, 3)
    ]
    return svg(label, parts, height)


def mean_week(first_hour: int, values: FloatArray) -> FloatArray:
    """Return the mean of each hour of the week, of shape (7, 24), UTC; NaN where there is none."""
    hours = first_hour + np.flatnonzero(np.isfinite(values))
    slot = (hours // 24 + _FIRST_WEEKDAY) % 7 * 24 + hours % 24
    sums = np.bincount(slot, values[np.isfinite(values)], 168)
    counts = np.bincount(slot, minlength=168)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, sums / counts, np.nan).reshape(7, 24)


def profile_ticks(values: FloatArray) -> FloatArray:
    """Return the numbers at the axis of a profile."""
    return round_ticks(*_with_room(values))


def _with_room(values: FloatArray) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.05 * ((high - low) or abs(high) or 1.0)
    return low - room, high + room


def _shown(values: FloatArray, most: int = _MOST_POINTS) -> IntArray:
    """Return which hours of a profile are drawn: the highest of each stretch."""
    known = np.flatnonzero(np.isfinite(values))
    if len(known) <= most:
        return known
    stretches = np.array_split(known, most)
    return np.array([part[np.argmax(values[part])] for part in stretches], dtype=np.int64)


def _points(x: Scale, y: Scale, shown: IntArray, values: FloatArray) -> str:
    return " ".join(f"{x(hour):.1f},{y(float(values[hour])):.1f}" for hour in shown.tolist())


def _marks(hours: int) -> Sequence[int]:
    """Return about eight hours to mark, whole days apart."""
    days = max(1, -(-hours // (24 * 8)))
    return range(0, hours, 24 * days)
