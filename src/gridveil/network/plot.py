"""A map of a network, drawn with Matplotlib; Matplotlib is an extra."""

from typing import TYPE_CHECKING

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.errors import GridveilError
from gridveil.network.components import Buses, Generators, Lines, Loads
from gridveil.network.positions import positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABELLED_UP_TO = 60
"""Buses up to which their numbers are shown."""
_LINE, _EDGE, _LOAD, _GENERATOR = "#9aa7b5", "#5b6b7f", "#0072b2", "#d55e00"
"""Colours that colour-blind readers tell apart."""


def plot_components(
    name: str,
    buses: Buses,
    loads: Loads,
    generators: Generators,
    lines: Lines,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw buses and lines, and mark the buses with a load and with a generator.

    Args:
        name: The title.
        buses: A dot each: blue with a load, white without.
        loads: Only which buses have one is shown.
        generators: An orange ring around the bus.
        lines: A straight line each; parallel ones cover each other.
        ax: The axes to draw in; None makes new ones.
    """
    axes = new_axes() if ax is None else ax
    place = positions(buses, lines)
    has_load, has_generator = np.zeros((2, len(buses)), bool)
    has_load[loads.bus] = True
    has_generator[generators.bus] = True
    labelled = len(buses) <= _LABELLED_UP_TO
    size = 150.0 if labelled else np.clip(9000.0 / len(buses), 4.0, 90.0)
    stroke = min(1.5, 0.13 * np.sqrt(size))

    ends = place[np.stack([lines.from_bus, lines.to_bus])]
    axes.plot(*ends.transpose(2, 0, 1), color=_LINE, linewidth=0.7 * stroke, zorder=1)
    for label, at, area, colour, edge in (
        ("generator", has_generator, 2.1 * size, "white", _GENERATOR),
        ("load", has_load, size, _LOAD, _LOAD),
        ("bus without a load", ~has_load, size, "white", _EDGE),
    ):
        if at.any():
            x, y = place[at].T
            axes.scatter(x, y, area, colour, edgecolors=edge, linewidths=stroke, label=label)
    if labelled:
        _label(axes, place, buses, has_load)
    axes.set_title(name)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.05)
    legend = axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, frameon=False, borderaxespad=0.0
    )
    for handle in filter(None, legend.legend_handles):
        handle.set(sizes=[60.0], linewidths=1.5)
    return axes


def new_axes() -> "Axes":
    """Return new Matplotlib axes.

    Raises:
        GridveilError: Matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError:
        raise GridveilError(
            "Matplotlib is not installed; pip install 'gridveil[notebook]'"
        ) from None
    return pyplot.subplots(figsize=(8.0, 7.0), layout="constrained")[1]


def _label(axes: "Axes", place: FloatArray, buses: Buses, has_load: BoolArray) -> None:
    """Write the number of each bus into its dot."""
    for number, (x, y), blue in zip(buses.number.tolist(), place, has_load, strict=True):
        text = str(number)
        axes.text(
            x,
            y,
            text,
            color="white" if blue else "black",
            fontsize=7.0 if len(text) < 4 else 4.5,
            ha="center",
            va="center",
            zorder=3,
        )
