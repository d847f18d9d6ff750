"""The convergence tables: residuals before and after boosting, times, and the printed values."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from gridveil.admm.penalties import BOOSTING_FROM
from gridveil.admm.policy import Policy
from gridveil.experiments.figure_style import CENTRAL, FAST, PAPER, PRINTED, new_figure
from gridveil.experiments.paper.audits import audit_finding
from gridveil.experiments.paper.definitions import Definition, printed_name, printed_rows
from gridveil.experiments.paper.draws import Draw, agent_run, draws
from gridveil.experiments.paper.figure_result import FigureResult
from gridveil.experiments.run import Row
from gridveil.experiments.study import Study

_PANELS = (
    ("primal residual at the end, p.u.", "primal_end", "primal_boosted"),
    ("dual residual at the end", "dual_end", "dual_boosted"),
    ("seconds", "seconds", "minutes"),
)


def run_figure(definition: Definition, study: Study) -> FigureResult:
    """Run the draws of the table and return its result."""
    printed = printed_rows(definition)
    rows = [
        {**_row(draw, policy), **_printed(printed.get(printed_name(draw.task.case), {}))}
        for draw in draws(study)
        for policy in draw.agents
    ]
    return FigureResult(rows, _drawing(rows), _findings(rows))


def _row(draw: Draw, policy: Policy) -> Row:
    run = agent_run(draw.agents[policy])
    history = run.history
    before = BOOSTING_FROM - 1 if policy is Policy.PAPER else None
    return {
        **draw.row(policy),
        "iterations": run.iterations,
        "stopped_by_itself": run.status.solved,
        "primal_before_boosting": None if before is None else float(history.primal[before]),
        "primal_end": run.primal,
        "dual_before_boosting": None if before is None else float(history.dual[before]),
        "dual_end": run.dual,
        "rho_end": float(history.rho[-1]),
        "seconds": run.seconds,
        "device": run.device.value,
    }


def _printed(numbers: dict[str, float]) -> Row:
    columns = ("primal", "primal_boosted", "dual", "dual_boosted", "minutes")
    return {f"paper_{name}": numbers.get(name) for name in columns}


def _drawing(rows: Sequence[Row]) -> Figure:
    cases = list(dict.fromkeys(row["case"] for row in rows))
    figure, panels = new_figure(1, 3, width=10.5, height=1.2 + 0.26 * len(cases), sharey=True)
    for axes, (label, ours, theirs) in zip(panels, _PANELS, strict=True):
        scale = 60.0 if theirs == "minutes" else 1.0
        printed = [_first(rows, case)[f"paper_{theirs}"] for case in cases]
        axes.semilogx(
            [np.nan if value is None else scale * value for value in printed],
            range(len(cases)), "s", color=PRINTED, label="the paper, printed",
        )  # fmt: skip
        for calibration, policy, color, mark in _series(rows):
            values = [
                row[ours]
                for row in rows
                if row["policy"] == policy and row["calibration"] == calibration
            ]
            label_of = f"ours, policy {policy}"
            if color == CENTRAL:
                label_of += ", sound noise"
            face = "none" if mark == "D" else color
            axes.semilogx(
                np.maximum(values, 1e-12), range(len(cases)), mark,
                color=color, label=label_of, markerfacecolor=face,
            )  # fmt: skip
        axes.set_xlabel(label)
        axes.grid(axis="y", color="#e3e7ec", linewidth=0.6)
    panels[0].set_yticks(range(len(cases)), [case.removeprefix("nesta_") for case in cases])
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    return figure


def _series(rows: Sequence[Row]) -> list[tuple[str, str, str, str]]:
    """Return calibration, policy, colour and mark of what is drawn.

    With two calibrations the sound one is drawn once, for the fast policy.
    """
    calibrations = list(dict.fromkeys(row["calibration"] for row in rows))
    series = [(calibrations[0], "paper", PAPER, "o"), (calibrations[0], "fast", FAST, "o")]
    return series + [(other, "fast", CENTRAL, "D") for other in calibrations[1:]]


def _first(rows: Sequence[Row], case: str) -> Row:
    return next(row for row in rows if row["case"] == case)


def _findings(rows: Sequence[Row]) -> tuple[str, ...]:
    sentences = []
    minutes = sum(
        row["paper_minutes"] or 0.0 for row in {row["case"]: row for row in rows}.values()
    )
    for calibration in dict.fromkeys(row["calibration"] for row in rows):
        noise = "" if calibration == rows[0]["calibration"] else f" ({calibration} noise)"
        for policy in ("paper", "fast"):
            some = [r for r in rows if r["policy"] == policy and r["calibration"] == calibration]
            better = sum(
                r["paper_primal_boosted"] is not None
                and r["primal_end"] < r["paper_primal_boosted"]
                for r in some
            )
            stopped = sum(r["stopped_by_itself"] for r in some)
            sentences.append(
                f"Policy {policy}{noise}: the primal residual ends at "
                f"{_middle(some, 'primal_end')} (median; worst {_worst(some, 'primal_end')}), "
                f"below the printed one on {better} of {len(some)} networks; the dual one "
                f"at {_middle(some, 'dual_end')} (worst {_worst(some, 'dual_end')}). "
                + (f"{stopped} stop by themselves. " if policy == "fast" else "")
                + f"Distance to the central solution {_middle(some, 'distance_to_central')} p.u. "
                f"(worst {_worst(some, 'distance_to_central')}); true optimal-cost gap at worst "
                f"{_worst(some, 'cost_gap_optimal', 100)} %, with the bilevel method of our "
                f"releases {_worst(some, 'cost_gap_optimal_bilevel', 100)} %. All {len(some)} runs "
                f"take {sum(r['seconds'] for r in some):.1f} s; the paper's took {minutes:,.0f} "
                "minutes."
            )
    return (*sentences, audit_finding(rows))


def _values(rows: Sequence[Row], name: str) -> list[float]:
    return [abs(row[name]) for row in rows if row[name] is not None]


def _middle(rows: Sequence[Row], name: str) -> str:
    return f"{np.median(_values(rows, name)):.1e}"


def _worst(rows: Sequence[Row], name: str, scale: float = 1.0) -> str:
    return f"{scale * max(_values(rows, name), default=np.nan):.2g}"
