"""A map of a released network: its loads by size, its lines by loading. Matplotlib is an extra."""

from typing import TYPE_CHECKING

import numpy as np

from gridveil.network.plot import new_axes
from gridveil.network.positions import positions
from gridveil.opf.operating_point import complex_flows
from gridveil.publication.case_file import PublishedCase

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = (
    ("below 70 % of its rating, or none", 0.0, 0.7, "#9aa7b5"),
    ("above 70 %", 0.7, 0.95, "#e69f00"),
    ("above 95 %", 0.95, np.inf, "#d55e00"),
)
"""Loadings of lines, each with a colour that colour-blind readers tell apart."""
_LOAD, _EDGE = "#0072b2", "#5b6b7f"
_LARGEST, _SMALLEST = 420.0, 12.0
"""Areas of dots, in points²."""


def plot_release(published: PublishedCase, ax: "Axes | None" = None) -> "Axes":
    """Draw released loads by their size and lines by their loading.

    Args:
        published: The released network with its operating point.
        ax: The axes to draw in; None makes new ones.
    """
    from matplotlib.collections import LineCollection

    axes = new_axes() if ax is None else ax
    network, point = published.network, published.point
    lines, place = network.lines, positions(network.buses, network.lines)
    flow = np.max(np.abs(complex_flows(network, point)), axis=0, initial=0.0)
    loading = np.where(np.isfinite(lines.rate), flow / lines.rate, 0.0)
    ends = place[np.stack([lines.from_bus, lines.to_bus], axis=1)]
    for label, low, high, colour in _LEVELS:
        some = (loading >= low) & (loading < high)
        if some.any():
            width = 1.0 if low == 0 else 2.2
            axes.add_collection(
                LineCollection(
                    list(ends[some]), colors=colour, linewidths=width, label=f"line {label}"
                )
            )
    size = np.hypot(*network.bus_load())
    loaded, room = size > 0, min(1.0, 60 / len(size))
    area = room * (_SMALLEST + (_LARGEST - _SMALLEST) * size / max(size.max(initial=0.0), 1e-12))
    for some, dots, face, edge, label in (
        (~loaded, np.full(len(size), room * 30), "white", _EDGE, "bus without a load"),
        (loaded, area, _LOAD, _LOAD, "load"),
    ):
        x, y = place[some].T
        axes.scatter(x, y, s=dots[some], c=face, edgecolors=edge, label=label, zorder=2)
    axes.set_title(f"{network.name}: released loads, and lines by their loading")
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.05)
    axes.autoscale_view()
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False)
    return axes
