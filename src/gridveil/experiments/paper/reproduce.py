"""Runs tables and figures of the paper into a folder: CSV, PNG, PDF and one page.

Sweeps keep their results in the folder, so an interrupted reproduction continues from them.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridveil.admm.device import chosen_device
from gridveil.device import Device
from gridveil.errors import GridveilError
from gridveil.experiments.figure_style import rendered
from gridveil.experiments.paper import convergence, cost, distance, feasibility, loads, traces
from gridveil.experiments.paper.audits import audit_finding
from gridveil.experiments.paper.definitions import (
    Definition,
    FigureKind,
    select,
    with_available_cases,
)
from gridveil.experiments.paper.figure_result import FigureResult
from gridveil.experiments.paper.page import ReproducedFigure, reproduction_page
from gridveil.experiments.paper.sweep_summary import summarised
from gridveil.experiments.run import Row
from gridveil.experiments.store import Store
from gridveil.experiments.study import Study
from gridveil.experiments.sweep import Cluster, sweep
from gridveil.files import write_atomically

PAGE, DATA = "index.html", "data"
_OF_DRAWS = {
    FigureKind.CONVERGENCE: convergence.run_figure,
    FigureKind.LOADS: loads.run_figure,
    FigureKind.TRACES: traces.run_figure,
}
"""Tables and figures of single draws, which they run themselves."""
_OF_SWEEPS = {
    FigureKind.DISTANCE: (distance.draw, distance.findings),
    FigureKind.COST: (cost.draw, cost.findings),
    FigureKind.FEASIBILITY: (feasibility.draw, feasibility.findings),
}
"""Figures of sweeps: how they are drawn, and what was found."""


@dataclass(frozen=True, eq=False)
class Reproduction:
    """The tables and figures that were run."""

    figures: tuple[ReproducedFigure, ...]
    replaced: Mapping[str, str | None]
    """The replacement of every case that is not available; None if it was left out."""


def reproduce(
    name: str,
    output: Path | str = "reproduction",
    draws: int | None = None,
    workers: int = -1,
    cluster: Cluster | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    device: Device = Device.CPU,
) -> Reproduction:
    """Run a table or figure of the paper again, or all of them, into a folder.

    Args:
        name: The table or figure, or "all"; `gridveil reproduce list` names them.
        output: The folder of results.
        draws: At most so many draws, for a quick look; as many as the paper's if None.
        workers: Processes; −1 is one per core.
        cluster: A Dask cluster to run on instead.
        progress: Called with the name of the table or figure, the tasks done, and the tasks in all.
        device: Where the agents run.
    """
    folder = Path(output)
    if cluster is None:
        chosen_device(device, 0)  # a missing GPU is refused before anything runs
    wanted = [(definition, *with_available_cases(definition.study)) for definition in select(name)]
    for definition, study, _ in wanted:
        if not study.cases:
            raise GridveilError(
                f"{definition.name}: none of its cases is there; GRIDVEIL_CASES names their folder"
            )
    Store(folder / DATA)  # a folder that cannot be written is refused before hours of work
    figures: list[ReproducedFigure] = []
    replaced: dict[str, str | None] = {}
    for definition, study, missing in wanted:
        study = study.model_copy(update={"device": device})
        if draws is not None:
            study = study.model_copy(update={"draws": min(draws, study.draws)})
        result = _result(definition, study, folder / DATA, workers, cluster, progress)
        images = rendered(result.figure)
        for suffix, data in {**images, "csv": _csv(result.rows)}.items():
            write_atomically(folder / f"{definition.name}.{suffix}", data)
        figures.append(ReproducedFigure(definition, result, images["png"]))
        replaced.update(missing)
        write_atomically(folder / PAGE, reproduction_page(figures, replaced))
    return Reproduction(tuple(figures), replaced)


def _result(
    definition: Definition,
    study: Study,
    data: Path,
    workers: int,
    cluster: Cluster | None,
    progress: Callable[[str, int, int], None] | None,
) -> FigureResult:
    def report(done: int, of: int) -> None:
        if progress is not None:
            progress(definition.name, done, of)

    if definition.kind in _OF_DRAWS:
        report(0, 1)
        result = _OF_DRAWS[definition.kind](definition, study)
        report(1, 1)
        return result
    rows = sweep(study, data, workers, cluster, report).load(study).to_pylist()
    lines, (draw, findings) = summarised(rows), _OF_SWEEPS[definition.kind]
    report(1, 1)
    return FigureResult(lines, draw(lines), (*findings(lines), audit_finding(lines)))


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
