"""Rows of a sweep, summarised by setting, with columns that are not in the paper."""

from collections.abc import Iterable, Sequence

import numpy as np

from gridveil.experiments.paper.audits import audited_epsilon
from gridveil.experiments.run import Row
from gridveil.experiments.summary import by_setting

_MEANS = (
    "displacement",
    "central_displacement",
    "distance_to_central",
    "cost_gap_dispatch",
    "cost_gap_optimal",
    "noise_l1",
    "error_l1",
)


def summarised(rows: Iterable[Row]) -> list[Row]:
    """Return a line for each setting: means over its draws, worst cases, and the audited ε."""
    return [{**setting, **_line(setting, some)} for setting, some in by_setting(rows)]


def ways(lines: Iterable[Row]) -> list[str]:
    """Return the ways of restoring loads that occur: a method, or a policy of the agents."""
    return list(dict.fromkeys(line["way"] for line in lines))


def mean(rows: Iterable[Row], name: str) -> float:
    """Return the mean of the values of a column, without missing ones."""
    values = [row[name] for row in rows if row[name] is not None]
    return float(np.mean(values)) if values else float("nan")


def _line(setting: Row, rows: Sequence[Row]) -> Row:
    worst = [abs(row["cost_gap_optimal"]) for row in rows if row["cost_gap_optimal"] is not None]
    return {
        "way": setting["method"] if setting["policy"] is None else f"policy {setting['policy']}",
        "draws": len(rows),
        **{name: mean(rows, name) for name in _MEANS},
        "worst_cost_gap_dispatch": max(abs(row["cost_gap_dispatch"]) for row in rows),
        "worst_cost_gap_optimal": max(worst, default=float("nan")),
        "worst_violation": max(row["max_violation"] for row in rows),
        "share_ac_feasible": len(worst) / len(rows),
        "share_noisy_feasible": mean(rows, "noisy_feasible"),
        "audited_epsilon": audited_epsilon(
            setting["mechanism"],
            setting["calibration"],
            setting["epsilon"],
            setting["alpha"],
        ),
    }
