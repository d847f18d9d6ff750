"""The motivating figure: how often noisy loads and restored loads are AC-feasible."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gridveil.experiments.figure_style import FAST, NOISY, new_figure
from gridveil.experiments.paper.sweep_summary import mean
from gridveil.experiments.run import Row


def draw(lines: Sequence[Row]) -> Figure:
    """Draw the settings of the sweep."""
    alphas = list(dict.fromkeys(line["alpha"] for line in lines))
    figure, (error, share) = new_figure(1, 2, width=9.0, height=3.6)
    bars = (
        (error, ("noise_l1", "error_l1"), 1.0, "average L1 error of a load, p.u."),
        (share, ("share_noisy_feasible", "share_ac_feasible"), 100.0, "AC-feasible networks, %"),
    )
    for axes, columns, scale, label in bars:
        for i, (column, color, name) in enumerate(
            zip(columns, (NOISY, FAST), ("noise alone", "ours"), strict=True)
        ):
            values = [
                scale * mean([line for line in lines if line["alpha"] == alpha], column)
                for alpha in alphas
            ]
            places = np.arange(len(alphas)) + 0.4 * (i - 0.5)
            drawn = axes.bar(places, values, 0.38, color=color, label=name)
            axes.bar_label(drawn, fmt="{:.3g}", fontsize=7)
        axes.set_xticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
        axes.set_xlabel("α, p.u.")
        axes.set_ylabel(label)
    error.legend(frameon=False)
    return figure


def findings(lines: Sequence[Row]) -> list[str]:
    """Return what was measured, in sentences."""
    networks = len({line["case"] for line in lines})
    sentences = [f"{networks} networks, {lines[0]['draws']} draws each at every α."]
    for alpha in dict.fromkeys(line["alpha"] for line in lines):
        some = [line for line in lines if line["alpha"] == alpha]
        sentences.append(
            f"α = {alpha:g}: noise alone leaves {mean(some, 'share_noisy_feasible'):.1%} "
            f"AC-feasible, ours {mean(some, 'share_ac_feasible'):.1%}, with a largest violation of "
            f"{max(line['worst_violation'] for line in some):.0e} p.u. and an optimal cost off by "
            f"{100 * max(line['worst_cost_gap_optimal'] for line in some):.3g} % at worst."
        )
    return sentences
