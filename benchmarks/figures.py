"""What the figures of the documentation have in common."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#5b6b7f"
mpl.rcParams.update({"svg.hashsalt": "gridveil", "font.size": 10, "svg.fonttype": "none"})


def save(figure: plt.Figure, name: str) -> None:
    """Write docs/NAME.svg, the same bytes for the same figure."""
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
