"""The load scatter: where original, noisy and restored loads lie."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gridveil.admm.policy import Policy
from gridveil.experiments.figure_style import FAST, NOISY, ORIGINAL, PAPER, new_figure
from gridveil.experiments.paper.audits import audit_finding
from gridveil.experiments.paper.definitions import Definition
from gridveil.experiments.paper.draws import Draw, draws
from gridveil.experiments.paper.figure_result import FigureResult
from gridveil.experiments.run import Row
from gridveil.experiments.study import Study


def run_figure(definition: Definition, study: Study) -> FigureResult:  # noqa: ARG001
    """Run the draws of the figure and return its result."""
    found = list(draws(study))
    settings = [draw.row(policy) for draw in found for policy in draw.agents]
    rows = [{**row, **load} for draw in found for row, load in _loads(draw)]
    return FigureResult(rows, _drawing(found), (*map(_finding, found), audit_finding(settings)))


def _loads(draw: Draw) -> list[tuple[Row, Row]]:
    """Return a row for every load and policy: the setting, and where the load went, in p.u."""
    original, noisy = draw.network.loads, draw.noisy
    rows = []
    for policy, found in draw.agents.items():
        setting = draw.row(policy)
        ours, central = found.network.loads, draw.central.network.loads
        for i, bus in enumerate(draw.network.load_buses):
            load = {
                "bus": bus,
                "p_original": float(original.p[i]),
                "q_original": float(original.q[i]),
                "p_noisy": float(noisy.p[i]),
                "q_noisy": float(noisy.q[i]),
                "p_restored": float(ours.p[i]),
                "q_restored": float(ours.q[i]),
                "p_central": float(central.p[i]),
                "q_central": float(central.q[i]),
            }
            rows.append((setting, load))
    return rows


def _drawing(found: Sequence[Draw]) -> Figure:
    """Draw all loads above, and below the crowd of the smaller ones."""
    figure, panels = new_figure(2, len(found), width=5.2 * len(found), height=7.6)
    for i, draw in enumerate(found):
        original = draw.network.loads.values
        noisy = np.stack([draw.noisy.p, draw.noisy.q], axis=1)
        paper, fast = (draw.agents[p].network.loads.values for p in (Policy.PAPER, Policy.FAST))
        for axes in (panels[i], panels[i + len(found)]):
            axes.plot(*original.T, "o", color=ORIGINAL, markerfacecolor="none", label="original")
            axes.plot(*noisy.T, "x", color=NOISY, markersize=5, label="noisy")
            axes.plot(*paper.T, "s", color=PAPER, markerfacecolor="none", ms=5, label="paper")
            axes.plot(*fast.T, ".", color=FAST, markersize=5, label="fast")
            axes.set_xlabel("P, p.u.")
            axes.set_ylabel("Q, p.u.")
        sound = "" if draw.task.mechanism != "piecewise" else f", {_noise(draw)}"
        panels[i].set_title(f"α = {draw.task.alpha:g}{sound}", fontsize=10)
        low, high = np.quantile(np.concatenate([original, noisy]), [0.05, 0.8], axis=0)
        room = 0.3 * (high - low)
        panels[i + len(found)].set_xlim(low[0] - room[0], high[0] + room[0])
        panels[i + len(found)].set_ylim(low[1] - room[1], high[1] + room[1])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _noise(draw: Draw) -> str:
    return "as printed" if draw.task.calibration == "paper" else "sound"


def _finding(draw: Draw) -> str:
    original = draw.network.loads.values
    noise = np.abs(np.stack([draw.noisy.p, draw.noisy.q], axis=1) - original).sum(axis=1).mean()
    parts = [
        f"policy {policy}: moved {found.displacement:.2e} p.u. from the noisy ones (L2), "
        f"{found.distance_to(draw.central):.1e} from the central solution, "
        f"{np.abs(found.network.loads.values - original).sum(axis=1).mean():.2e} from the original "
        "(L1, mean of a load)"
        for policy, found in draw.agents.items()
    ]
    kind = f" ({_noise(draw)})" if draw.task.mechanism == "piecewise" else ""
    return f"α = {draw.task.alpha:g}{kind}: noise {noise:.2e} p.u. a load (L1); {'; '.join(parts)}."
