"""The traces of one run: residuals, dispatch cost and ρ over the iterations, with both policies."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from gridveil.admm.penalties import BOOSTING_FROM
from gridveil.admm.policy import Policy
from gridveil.experiments.figure_style import FAST, PAPER, PRINTED, new_figure
from gridveil.experiments.paper.audits import audit_finding
from gridveil.experiments.paper.definitions import Definition
from gridveil.experiments.paper.draws import Draw, agent_run, draws
from gridveil.experiments.paper.figure_result import FigureResult
from gridveil.experiments.run import Row
from gridveil.experiments.study import Study

_ZOOM = 4400
_COLORS = {Policy.PAPER: PAPER, Policy.FAST: FAST}


def run_figure(definition: Definition, study: Study) -> FigureResult:  # noqa: ARG001
    """Run the draws of the figure and return its result."""
    draw = next(draws(study))
    settings = [draw.row(policy) for policy in draw.agents]
    return FigureResult(
        _rows(draw), _drawing(draw), (*_findings(draw, settings), audit_finding(settings))
    )


def _rows(draw: Draw) -> list[Row]:
    return [
        {
            **setting,
            "iteration": i + 1,
            "primal": float(history.primal[i]),
            "dual": float(history.dual[i]),
            "rho": float(history.rho[i]),
            "cost": float(history.cost[i]),
        }
        for policy, found in draw.agents.items()
        for setting, history in [(draw.row(policy), agent_run(found).history)]
        for i in range(len(history))
    ]


def _drawing(draw: Draw) -> Figure:
    figure, panels = new_figure(2, 2, width=10.0, height=6.6)
    (whole, zoom), (cost, rho) = panels[:2], panels[2:]
    for policy, color in _COLORS.items():
        history = agent_run(draw.agents[policy]).history
        steps = range(1, len(history) + 1)
        for axes in (whole, zoom) if policy is Policy.PAPER else (whole,):
            axes.semilogy(steps, history.primal, color=color, label=f"primal, policy {policy}")
            axes.semilogy(
                steps, history.dual, color=color, alpha=0.45, label=f"dual, policy {policy}"
            )
        cost.plot(steps, history.cost, color=color, label=f"policy {policy}")
        rho.semilogy(steps, history.rho, color=color, label=f"policy {policy}")
    zoom.set_xlim(_ZOOM, BOOSTING_FROM + 500)
    paper = agent_run(draw.agents[Policy.PAPER]).history
    late = [*paper.primal[_ZOOM:], *paper.dual[_ZOOM:]]
    zoom.set_ylim(min(late) / 2, max(late) * 2)
    cost.axhline(float(draw.central.costs.sum()), color=PRINTED, linestyle="--", label="O*")
    usual = paper.cost[200:]
    cost.set_ylim(min(usual) * 0.98, max(usual) * 1.02)
    titles = ("residuals", f"the same from iteration {_ZOOM:,} on", "cost, $/h", "ρ")
    for axes, title in zip(panels, titles, strict=True):
        axes.axvline(BOOSTING_FROM, color=PRINTED, linestyle=":")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("iteration")
        axes.legend(frameon=False, fontsize=8)
    return figure


def _findings(draw: Draw, settings: Sequence[Row]) -> list[str]:
    sentences = []
    for policy, row in zip(draw.agents, settings, strict=True):
        run = agent_run(draw.agents[policy])
        before = ""
        if policy is Policy.PAPER:
            primal = run.history.primal[BOOSTING_FROM - 1]
            before = f" (before boosting {primal:.1e}; the dotted line marks where it may begin)"
        optimal = row["cost_gap_optimal"]
        sentences.append(
            f"Policy {policy}: {run.iterations:,} iterations in {run.seconds:.2f} s; primal "
            f"{run.primal:.1e}{before}, dual {run.dual:.1e}; loads "
            f"{row['distance_to_central']:.1e} p.u. from the central ones; dispatch costs "
            f"{100 * row['cost_gap_dispatch']:+.2f} % against O*, "
            + ("no AC-OPF solution." if optimal is None else f"optimal {100 * optimal:+.2f} %.")
        )
    return sentences
