"""Results of a sweep: a line for each setting, over its draws."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from gridveil.errors import GridveilError
from gridveil.experiments.store import Store
from gridveil.experiments.study import Study, as_study

SETTING = (
    "case",
    "mechanism",
    "calibration",
    "epsilon",
    "alpha",
    "hide",
    "beta",
    "method",
    "policy",
)


def results(study: Study | str | Path, output: Path | str) -> list[dict[str, Any]]:
    """Return the results of a sweep so far: a line for each setting, over its draws.

    Args:
        study: The study, or its TOML file.
        output: The folder of results.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import Study, results, sweep
        >>> study, output = Study(cases=("case5_pjm",), draws=1, betas=(0.05,)), mkdtemp()
        >>> _ = sweep(study, output, workers=1)
        >>> [line["method"] for line in results(study, output)]
        ['bilevel']
    """
    return summarise(result_rows(study, output))


def result_rows(study: Study | str | Path, output: Path | str) -> pa.Table:
    """Return every row of a sweep so far."""
    folder = Path(output)
    if not folder.is_dir():
        raise GridveilError(f"{folder}: there is no such folder; 'gridveil sweep' creates it")
    return Store(folder).load(as_study(study))


def summarise(table: pa.Table) -> list[dict[str, Any]]:
    """Return a line for each setting, in order of appearance: shares, means and worst cases."""
    return [{**setting, **_line(rows)} for setting, rows in by_setting(table.to_pylist())]


def by_setting(
    rows: Iterable[dict[str, Any]],
) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return every setting with its rows, in order of appearance."""
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
