"""The figure of a sweep's summary: a row of panels for each case."""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from gridveil.experiments.figure_style import new_figure
from gridveil.experiments.summary import SETTING

_NUMBERS = ("alpha", "beta", "epsilon")
_PANELS = (
    ("displacement", "moved from the noisy loads, p.u. (L2)", 1.0),
    ("error_l1", "error of a load, p.u. (L1, mean)", 1.0),
    ("worst_gap_optimal", "optimal cost off by, % (worst)", 100.0),
    ("noisy_feasible", "noise alone AC-feasible, %", 100.0),
)


def summary_figure(lines: Sequence[dict[str, Any]]) -> Figure:
    """Draw the lines of `summarise` over the number that takes most values: α, β or ε."""
    numbers = [name for name in _NUMBERS if lines[0][name] is not None]
    across = max(numbers, key=lambda name: len({line[name] for line in lines}))
    varying = [
        name
        for name in SETTING
        if name not in ("case", across) and len({line[name] for line in lines}) > 1
    ]
    cases = list(dict.fromkeys(line["case"] for line in lines))
    figure, panels = new_figure(
        len(cases), len(_PANELS), width=3.4 * len(_PANELS), height=0.7 + 2.5 * len(cases)
    )
    for i, case in enumerate(cases):
        some = [line for line in lines if line["case"] == case]
        for axes, (column, label, scale) in zip(panels[i * len(_PANELS) :], _PANELS, strict=False):
            for name in dict.fromkeys(_label(line, varying) for line in some):
                points = sorted(
                    (line[across], scale * line[column])
                    for line in some
                    if _label(line, varying) == name and line[column] is not None
                )
                if points:
                    axes.plot(*zip(*points, strict=True), "o-", markersize=4, label=name)
            axes.set_title(label, fontsize=9)
            axes.set_xlabel(across)
        panels[i * len(_PANELS)].set_ylabel(case)
    handles, labels = panels[0].get_legend_handles_labels()
    if varying:
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _label(line: dict[str, Any], varying: Sequence[str]) -> str:
    """Return the settings that distinguish a curve from the others."""
    settings = [
        f"{name} {line[name]:g}" if isinstance(line[name], float) else str(line[name])
        for name in varying
        if line[name] is not None
    ]
    return ", ".join(settings)
