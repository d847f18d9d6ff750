"""Charts as SVG text, drawn with the page's own colours, each readable by hover and keyboard.

The text of a shape's `data-tip` is shown below the chart when it is pointed at or focused. Charts
of too many shapes for that get no tips: their shapes are merged, one path for each colour.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.printable import excerpt
from gridveil.publication.report.html import escape
from gridveil.publication.report.merged_shapes import segments, squares, stairs

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 14, 40
HOT = 0.95
"""The loading of a line from which it is drawn as nearly full."""
WARM = 0.7
"""The loading from which it stands out."""
_SMALL_NODE = 3.0
"""Radius of the bus with the largest load on a map of many."""
_MOST_POINTS = 400
"""Points of a curve that are drawn and can be read."""
_LONGEST_NAME = 24
"""Characters of a name beside a bar."""
_TALL = 520
"""Height of a map."""
_FINER = 2
"""Units of a map of merged shapes in one of another map: lines are as much thinner."""

Tips = Sequence[str]
"""What is read at each shape."""


@dataclass(frozen=True)
class Curve:
    """A named line of a chart; its style is a class of the page's style sheet."""

    name: str
    values: FloatArray
    style: str


@dataclass(frozen=True)
class Scale:
    """Between numbers and pixels."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel of a number."""
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = (float(np.log10(max(x, 1e-300))) for x in (value, low, high))
        return self.start + (value - low) / ((high - low) or 1.0) * (self.end - self.start)


def curves(label: str, axis: str, lines: Sequence[Curve], logarithmic: bool) -> str:
    """Draw curves over iterations; a crosshair follows the pointer and the arrow keys."""
    count = len(lines[0].values)
    shown = _shown(count)
    every = np.concatenate([line.values[shown] for line in lines])
    if logarithmic:
        every = every[every > 0]
        powers = np.floor(np.log10(every.min())), np.ceil(np.log10(every.max()))
        low, high = 10.0 ** powers[0], 10.0 ** max(powers[1], powers[0] + 1)
        step = int(max(1, np.ceil((powers[1] - powers[0]) / 6)))
        ticks = 10.0 ** np.arange(powers[0], powers[1] + 1, step)
    else:
        low, high = _with_room(every)
        ticks = round_ticks(low, high)
    x = Scale(0, max(count - 1, 1), LEFT, WIDTH - RIGHT)
    y = Scale(float(low), float(high), HEIGHT - BOTTOM, TOP, logarithmic)
    parts = [*axes_of(x, y, round_ticks(0, count - 1), ticks, "iteration", axis)]
    for line in lines:
        path = " ".join(
            f"{x(i):.1f},{y(max(float(line.values[i]), float(low))):.1f}" for i in shown
        )
        parts.append(f'<polyline class="curve {line.style}" points="{path}"/>')
    for position, i in enumerate(shown):
        reading = ", ".join(f"{line.name} {line.values[i]:.3g}" for line in lines)
        half = (x(shown[min(position + 1, len(shown) - 1)]) - x(shown[max(position - 1, 0)])) / 2
        parts.append(
            f'<rect class="slice" x="{x(i) - half / 2:.1f}" y="{TOP}" width="{max(half, 1):.1f}" '
            f'height="{HEIGHT - TOP - BOTTOM}" data-tip="iteration {i + 1}: {escape(reading)}"/>'
        )
    return f'<p class="legend">{_legend(lines)}</p>{svg(label, parts)}'


def curve_ticks(values: FloatArray) -> FloatArray:
    """Return the numbers at the axis of a curve that is not logarithmic."""
    return round_ticks(*_with_room(values[_shown(len(values))]))


def _shown(count: int) -> IntArray:
    """Return which points of a curve are drawn."""
    return np.unique(np.linspace(0, count - 1, min(count, _MOST_POINTS)).astype(int))


def _with_room(values: FloatArray) -> tuple[float, float]:
    """Return the ends of an axis for values."""
    room = 0.05 * (float(np.ptp(values)) or abs(float(values[0])) or 1.0)
    return float(values.min()) - room, float(values.max()) + room


def bands(
    label: str, names: Sequence[str], gaps: FloatArray, beta: float, tips: Sequence[str]
) -> str:
    """Draw each generator's cost relative to O*, against its band of ±β."""
    most = max(float(np.abs(gaps).max(initial=0.0)), beta) * 1.15 or 1.0
    row = 18
    height = TOP + row * len(names) + BOTTOM
    left = 110
    x = Scale(-most, most, left, WIDTH - RIGHT)
    parts = [
        f'<rect class="band" x="{x(-beta):.1f}" y="{TOP}" width="{x(beta) - x(-beta):.1f}" '
        f'height="{row * len(names)}"/>',
        f'<line class="axis" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>',
    ]
    for i, (name, gap, tip) in enumerate(zip(names, gaps, tips, strict=True)):
        at = TOP + row * (i + 0.5)
        parts += [
            f'<text class="tick end" x="{left - 8}" y="{at + 4:.1f}">{escape(name)}</text>',
            f'<line class="stem" x1="{x(0):.1f}" x2="{x(gap):.1f}" y1="{at:.1f}" y2="{at:.1f}"/>',
            f'<circle class="dot" cx="{x(gap):.1f}" cy="{at:.1f}" r="5" data-tip="{escape(tip)}"/>',
        ]
    for value in (-beta, 0.0, beta):
        parts.append(
            f'<text class="tick middle" x="{x(value):.1f}" y="{height - BOTTOM + 18}">'
            f"{value:+.2%}</text>"
        )
    return svg(label, parts, height)


def bars(label: str, axis: str, values: FloatArray, limit: float, tips: Tips | None) -> str:
    """Draw sorted bars, such as the loading of lines, against a limit; merged without tips."""
    top = max(float(values.max(initial=0.0)), limit) * 1.05
    x = Scale(0, max(len(values), 1), LEFT, WIDTH - RIGHT)
    y = Scale(0, top, HEIGHT - BOTTOM, TOP)
    ticks = np.linspace(0, limit, 5)
    parts = [
        *axes_of(x, y, np.array([]), ticks, "lines, the most loaded first", axis),
        *(
            _merged_bars(x, y, values, HOT * limit)
            if tips is None
            else _bars(x, y, values, HOT * limit, tips)
        ),
        f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(limit):.1f}" '
        f'y2="{y(limit):.1f}"/>',
    ]
    return svg(label, parts, is_read=tips is not None)


def _bars(x: Scale, y: Scale, values: FloatArray, hot: float, tips: Tips) -> list[str]:
    width = max(x(1) - x(0) - 0.6, 0.6)
    return [
        f'<rect class="{"bar hot" if value > hot else "bar"}" x="{x(i):.2f}" y="{y(value):.1f}" '
        f'width="{width:.2f}" height="{y(0) - y(value):.1f}" data-tip="{escape(tip)}"/>'
        for i, (value, tip) in enumerate(zip(values, tips, strict=True))
    ]


def _merged_bars(x: Scale, y: Scale, values: FloatArray, hot: float) -> list[str]:
    """Return a shape for each colour, with a step for each pixel; both end where they should."""
    count, parts = int((values > hot).sum()), []
    for style, first, end in (("bar hot", 0, count), ("bar", count, len(values))):
        pixels = round(x(end) - x(first)) + 1
        steps = np.unique(np.linspace(first, end, min(end - first, pixels) + 1).astype(int))
        tops = np.array([y(float(values[i])) for i in steps[:-1]])
        if len(tops):
            data = stairs(np.array([x(float(i)) for i in steps]), tops, y(0))
            parts.append(_path(style, data))
    return parts


def budget_bars(label: str, names: Sequence[str], shares: FloatArray, tips: Sequence[str]) -> str:
    """Draw a bar for each name, up to the share of its budget that is spent; 1 is all of it."""
    row, left = 18, 170
    height = TOP + row * len(names) + BOTTOM
    x = Scale(0, max(float(shares.max(initial=0.0)), 1.0), left, WIDTH - 2 * RIGHT)
    parts = []
    for value in np.linspace(0, 1, 5):
        parts += [
            f'<line class="{"limit" if value == 1 else "grid"}" x1="{x(value):.1f}" '
            f'x2="{x(value):.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>',
            f'<text class="tick middle" x="{x(value):.1f}" y="{height - BOTTOM + 18}">'
            f"{value:.0%}</text>",
        ]
    for i, (name, share, tip) in enumerate(zip(names, shares, tips, strict=True)):
        at = TOP + row * i
        style = "bar hot" if share > HOT else "bar"
        parts += [
            f'<text class="tick end" x="{left - 8}" y="{at + row / 2 + 4:.1f}">'
            f"{escape(excerpt(name, _LONGEST_NAME))}</text>",
            f'<rect class="{style}" x="{left}" y="{at + 3}" width="{max(x(share) - left, 1):.1f}" '
            f'height="{row - 6}" data-tip="{escape(tip)}"/>',
        ]
    return svg(label, parts, height)


def scatter(
    label: str, axes: tuple[str, str], x: FloatArray, sets: Sequence[Curve], tips: Tips | None
) -> str:
    """Draw points over common x values, with the diagonal of equal ones; merged without tips."""
    every = np.concatenate([x, *(points.values for points in sets)])
    room = 0.05 * (float(np.ptp(every)) or 1.0)
    low, high = float(every.min()) - room, float(every.max()) + room
    across = Scale(low, high, LEFT, WIDTH - RIGHT)
    up = Scale(low, high, HEIGHT - BOTTOM, TOP)
    ticks = round_ticks(low, high)
    parts = [
        *axes_of(across, up, ticks, ticks, *axes),
        f'<line class="limit" x1="{across(low):.1f}" y1="{up(low):.1f}" x2="{across(high):.1f}" '
        f'y2="{up(high):.1f}"/>',
    ]
    for points in sets:
        if tips is None:
            pairs = zip(x.tolist(), points.values.tolist(), strict=True)
            at = np.array([(across(raw), up(value)) for raw, value in pairs])
            parts.append(_path(f"point {points.style}", squares(at, np.full(len(x), 4.0))))
            continue
        for at, value, tip in zip(x, points.values, tips, strict=True):
            parts.append(
                f'<circle class="point {points.style}" cx="{across(float(at)):.1f}" '
                f'cy="{up(float(value)):.1f}" r="4" data-tip="{escape(tip)}"/>'
            )
    chart = svg(label, parts, is_read=tips is not None)
    return f'<p class="legend">{_legend(sets)}</p>{chart}'


def network_graph(
    label: str,
    place: FloatArray,
    ends: FloatArray,
    loading: FloatArray,
    size: FloatArray,
    tips: tuple[Tips, Tips] | None,
) -> str:
    """Draw lines by their loading and buses by the size of their load.

    Tips are of buses and lines; without any, shapes are merged.
    """
    margin = 20
    at = margin + place * (np.array([WIDTH, _TALL]) - 2 * margin)
    pairs = ends.astype(np.int64)
    if tips is None:
        return _merged_graph(label, at * _FINER, pairs, loading, size)
    parts = []
    for (start, end), heat, tip in zip(pairs, loading, tips[1], strict=True):
        style = "hot" if heat > HOT else "warm" if heat > WARM else "cool"
        parts.append(
            f'<line class="wire {style}" x1="{at[start, 0]:.1f}" y1="{at[start, 1]:.1f}" '
            f'x2="{at[end, 0]:.1f}" y2="{at[end, 1]:.1f}" data-tip="{escape(tip)}"/>'
        )
    base = 9.0 if len(place) <= 60 else 7.0 if len(place) <= 200 else _SMALL_NODE
    largest = float(size.max(initial=0.0)) or 1.0
    for (x, y), amount, tip in zip(at, size, tips[0], strict=True):
        style = "node load" if amount > 0 else "node"
        radius = base * (0.35 + 0.65 * (amount / largest) ** 0.5)
        parts.append(
            f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" '
            f'data-tip="{escape(tip)}"/>'
        )
    return svg(label, parts, _TALL)


def _merged_graph(
    label: str, at: FloatArray, ends: IntArray, loading: FloatArray, size: FloatArray
) -> str:
    """Draw a network as a path for each colour of lines and of buses, loaded lines above all."""
    is_hot, has_load = loading > HOT, size > 0
    is_warm = ~is_hot & (loading > WARM)
    sides = 2 * _FINER * _SMALL_NODE * (0.35 + 0.65 * np.sqrt(size / (size.max(initial=0.0) or 1)))

    def wires(style: str, some: BoolArray) -> str:
        return _path(f"wire {style}", segments(at[ends[some, 0]], at[ends[some, 1]]))

    parts = [
        wires("cool", ~is_hot & ~is_warm),
        _path("node", squares(at[~has_load], sides[~has_load])),
        _path("node load", squares(at[has_load], sides[has_load])),
        wires("warm", is_warm),
        wires("hot", is_hot),
    ]
    return svg(label, parts, _TALL * _FINER, WIDTH * _FINER, is_read=False)


def _path(style: str, data: str) -> str:
    return f'<path class="{style}" d="{data}"/>'


def _legend(sets: Sequence[Curve]) -> str:
    return "".join(f'<span class="key {one.style}">{escape(one.name)}</span>' for one in sets)


def axes_of(
    x: Scale, y: Scale, x_ticks: FloatArray, y_ticks: FloatArray, x_name: str, y_name: str
) -> list[str]:
    """Return the shapes of two axes with their names and the numbers at them."""
    parts = []
    for value in y_ticks:
        at = y(float(value))
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>',
            f'<text class="tick end" x="{LEFT - 8}" y="{at + 4:.1f}">{_tick(value)}</text>',
        ]
    for value in x_ticks:
        parts.append(
            f'<text class="tick middle" x="{x(float(value)):.1f}" y="{HEIGHT - BOTTOM + 16}">'
            f"{value:.0f}</text>"
        )
    parts += [
        f'<text class="tick end" x="{WIDTH - RIGHT}" y="{HEIGHT - 6}">{escape(x_name)}</text>',
        f'<text class="tick" x="4" y="{TOP - 2}">{escape(y_name)}</text>',
    ]
    return parts


def _tick(value: float) -> str:
    """Return a number as short as it can be read."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def round_ticks(low: float, high: float) -> FloatArray:
    """Return about five round numbers between two."""
    step = 10.0 ** np.floor(np.log10(max(high - low, 1e-12) / 4))
    for factor in (1, 2, 5, 10):
        if (high - low) / (factor * step) <= 6:
            step *= factor
            break
    ticks: FloatArray = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    return ticks + 0.0  # no −0


def svg(
    label: str,
    parts: Sequence[str],
    height: int = HEIGHT,
    width: int = WIDTH,
    *,
    is_read: bool = True,
) -> str:
    """Return shapes as a chart, which is read by pointer and arrow keys or is a mere picture."""
    shapes, size = "".join(parts), f'viewBox="0 0 {width} {height}"'
    if not is_read:
        return f'<svg {size} role="img" aria-label="{escape(label)}">{shapes}</svg>'
    return (
        f'<svg {size} role="group" tabindex="0" '
        f'aria-label="{escape(label)}. Arrow keys read the values.">{shapes}</svg>'
        '<p class="readout" aria-live="polite">Point at the chart, or focus it and use the arrow '
        "keys.</p>"
    )
