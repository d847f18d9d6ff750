"""The cost figure: what the dispatch found costs, and what a fresh AC-OPF of the loads costs."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from gridveil.experiments.figure_style import PRINTED, WAY_COLORS, new_figure
from gridveil.experiments.paper.sweep_summary import ways
from gridveil.experiments.run import Row

_COLUMNS = (("cost_gap_dispatch", "-", "o"), ("cost_gap_optimal", "--", "s"))


def draw(lines: Sequence[Row]) -> Figure:
    """Draw the settings of the sweep."""
    settings = list(dict.fromkeys((line["case"], line["alpha"]) for line in lines))
    count = len(settings)
    across = min(count, 2)
    figure, panels = new_figure(-(-count // across), across, width=5.0 * across,
                                height=1.0 + 2.9 * -(-count // across))  # fmt: skip
    for axes, (case, alpha) in zip(panels, settings, strict=True):
        for way in ways(lines):
            some = [
                line for line in lines
                if (line["case"], line["alpha"], line["way"]) == (case, alpha, way)
            ]  # fmt: skip
            betas = [100 * line["beta"] for line in some]
            for column, stroke, mark in _COLUMNS:
                axes.plot(
                    betas,
                    [100 * line[column] for line in some],
                    stroke + mark,
                    color=WAY_COLORS[way],
                    markersize=4,
                    label=f"{way}, {'dispatch' if stroke == '-' else 'AC-OPF'}",
                )
        axes.fill_between(betas, [-b for b in betas], betas, color=PRINTED, alpha=0.12, label="±β")
        axes.invert_xaxis()
        axes.set_title(f"{case.removeprefix('nesta_')}, α = {alpha:g}", fontsize=10)
        axes.set_xlabel("β, %")
        axes.set_ylabel("cost difference, %")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    return figure


def findings(lines: Sequence[Row]) -> list[str]:
    """Return what was measured, in sentences."""
    sentences = []
    for case, alpha in dict.fromkeys((line["case"], line["alpha"]) for line in lines):
        parts = []
        for way in ways(lines):
            some = [
                line for line in lines
                if (line["case"], line["alpha"], line["way"]) == (case, alpha, way)
            ]  # fmt: skip
            within = sum(line["worst_cost_gap_dispatch"] <= line["beta"] + 1e-6 for line in some)
            optimal = max(line["worst_cost_gap_optimal"] for line in some)
            parts.append(
                f"{way}: dispatch within β in every draw at {within} of {len(some)} β, optimal "
                f"cost off by {100 * optimal:.2g} % at worst"
            )
        sentences.append(f"{case.removeprefix('nesta_')}, α = {alpha:g}: {'; '.join(parts)}.")
    return sentences
