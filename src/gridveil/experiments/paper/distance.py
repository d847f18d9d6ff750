"""The distance figure: how far agents and the central solver move the noisy loads."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gridveil.experiments.figure_style import WAY_COLORS, new_figure
from gridveil.experiments.paper.sweep_summary import mean, ways
from gridveil.experiments.run import Row


def draw(lines: Sequence[Row]) -> Figure:
    """Draw the settings of the sweep."""
    cases = list(dict.fromkeys(line["case"] for line in lines))
    figure, panels = new_figure(1, len(cases), width=4.0 * len(cases), height=3.6)
    for axes, case in zip(panels, cases, strict=True):
        some = [line for line in lines if line["case"] == case]
        settings = list(dict.fromkeys((line["alpha"], line["beta"]) for line in some))
        for i, way in enumerate(ways(lines)):
            values = [
                next(
                    line["displacement"] for line in some
                    if (line["alpha"], line["beta"], line["way"]) == (*setting, way)
                )
                for setting in settings
            ]  # fmt: skip
            axes.bar(
                np.arange(len(settings)) + 0.27 * (i - 1),
                values,
                0.25,
                color=WAY_COLORS[way],
                label=way,
            )
        axes.set_xticks(
            range(len(settings)), [f"α = {a:g}\nβ = {b:g}" for a, b in settings], fontsize=8
        )
        axes.set_title(case.removeprefix("nesta_"), fontsize=10)
    panels[0].set_ylabel("L2 distance to the noisy loads, p.u.")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def findings(lines: Sequence[Row]) -> list[str]:
    """Return what was measured, in sentences."""
    sentences = []
    for case in dict.fromkeys(line["case"] for line in lines):
        parts = []
        for way in ways(lines)[1:]:
            some = [line for line in lines if line["case"] == case and line["way"] == way]
            off = max(abs(line["displacement"] - line["central_displacement"]) for line in some)
            parts.append(
                f"{way} moves loads by {mean(some, 'displacement'):.3g} p.u. on average, the "
                f"central solver by {mean(some, 'central_displacement'):.3g} (largest difference "
                f"of a setting {off:.1e}), and ends {mean(some, 'distance_to_central'):.1e} p.u. "
                "from its solution"
            )
        sentences.append(f"{case.removeprefix('nesta_')}: {'; '.join(parts)}.")
    return sentences
