"""What a sweep came to: one line for each setting, over its draws."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

SETTING = ("case", "mechanism", "calibration", "epsilon", "alpha", "beta", "method", "policy")


def summarise(table: pa.Table) -> list[dict[str, Any]]:
    """Return a line for each setting, in the order they come: shares, means and worst cases."""
    return [{**setting, **_line(rows)} for setting, rows in by_setting(table.to_pylist())]


def by_setting(
    rows: Iterable[dict[str, Any]],
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return every setting with its rows, in the order they come."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in SETTING), []).append(row)
    return [(dict(zip(SETTING, key, strict=True)), some) for key, some in groups.items()]


def _line(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "draws": len(rows),
        "solved": _mean(rows, "solved"),
        "noisy_feasible": _mean(rows, "noisy_feasible"),
        "displacement": _mean(rows, "displacement"),
        "error_l1": _mean(rows, "error_l1"),
        "worst_violation": _worst(rows, "max_violation"),
        "worst_gap_dispatch": _worst(rows, "cost_gap_dispatch"),
        "worst_gap_optimal": _worst(rows, "cost_gap_optimal"),
        "iterations": _mean(rows, "iterations"),
        "distance_to_central": _mean(rows, "distance_to_central"),
    }


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    values = [float(row[name]) for row in rows if row[name] is not None]
    return float(np.mean(values)) if values else None


def _worst(rows: list[dict[str, Any]], name: str) -> float | None:
    values = [abs(row[name]) for row in rows if row[name] is not None]
    return float(max(values)) if values else None
