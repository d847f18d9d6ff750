"""The style of all figures of experiments: colours, fonts, and their rendering as PNG and PDF."""

import io
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GREY, BLACK, PURPLE = (
    "#0072b2", "#d55e00", "#009e73", "#5b6b7f", "#1c2530", "#aa4499",
)  # fmt: skip
PAPER, FAST, CENTRAL, PRINTED, ORIGINAL, NOISY = BLUE, ORANGE, GREEN, GREY, BLACK, PURPLE
WAY_COLORS = {"central": CENTRAL, "policy paper": PAPER, "policy fast": FAST, "bilevel": PURPLE}
"""Colours of the ways of restoring loads."""
_STYLE: Any = {"font.size": 9.5, "pdf.fonttype": 42, "axes.formatter.useoffset": False}


def new_figure(
    rows: int, columns: int, width: float, height: float, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row; sizes in inches."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharey=sharey)
    flat = [axes for row in panels for axes in row]
    for axes in flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, flat


def rendered(figure: Figure) -> dict[str, bytes]:
    """Return a figure as PNG and as PDF, the same bytes for the same figure."""
    images = {}
    with rc_context(_STYLE):
        for suffix, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, dpi=130, metadata=metadata)
            images[suffix] = buffer.getvalue()
    return images
