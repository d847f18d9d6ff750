"""Runs tables and figures of the paper into a folder: CSV, PNG, PDF and one page.

Sweeps keep their results in the folder, so an interrupted reproduction goes on where it stopped.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gridveil.admm.device import Device, chosen_device
from gridveil.errors import GridveilError
from gridveil.experiments.paper import convergence, cost, distance, feasibility, loads, traces
from gridveil.experiments.paper.definitions import Definition, Kind, at_hand, chosen
from gridveil.experiments.paper.exhibit import Exhibit
from gridveil.experiments.paper.page import Shown, reproduction_page
from gridveil.experiments.plots import rendered
from gridveil.experiments.run import Row
from gridveil.experiments.store import Store
from gridveil.experiments.study import Study
from gridveil.experiments.sweep import Cluster, sweep
from gridveil.files import write_atomically

PAGE, DATA = "index.html", "data"
_RUN = {
    Kind.CONVERGENCE: convergence.exhibit,
    Kind.LOADS: loads.exhibit,
    Kind.TRACES: traces.exhibit,
}
_SWEPT = {
    Kind.DISTANCE: distance.exhibit,
    Kind.COST: cost.exhibit,
    Kind.FEASIBILITY: feasibility.exhibit,
}


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What was run, and which cases others stand in for (None: left out)."""

    shown: tuple[Shown, ...]
    replaced: Mapping[str, str | None]


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
        progress: Called with the name of what is running, how much of it is done, and of how much.
        device: Where the agents run.
    """
    folder = Path(output)
    if cluster is None:
        chosen_device(device, 0)  # a GPU that is not there is told before anything runs
    wanted = [(definition, *at_hand(definition.study)) for definition in chosen(name)]
    for definition, study, _ in wanted:
        if not study.cases:
            raise GridveilError(
                f"{definition.name}: none of its cases is there; GRIDVEIL_CASES names their folder"
            )
    Store(folder / DATA)  # a folder that cannot be written is told before hours of work
    shown: list[Shown] = []
    replaced: dict[str, str | None] = {}
    for definition, study, missing in wanted:
        study = study.model_copy(update={"device": device})
        if draws is not None:
            study = study.model_copy(update={"draws": min(draws, study.draws)})
        exhibit = _exhibit(definition, study, folder / DATA, workers, cluster, progress)
        images = rendered(exhibit.figure)
        for suffix, data in {**images, "csv": _csv(exhibit.rows)}.items():
            write_atomically(folder / f"{definition.name}.{suffix}", data)
        shown.append(Shown(definition, exhibit, images["png"]))
        replaced.update(missing)
        write_atomically(folder / PAGE, reproduction_page(shown, replaced))
    return Reproduction(tuple(shown), replaced)


def _exhibit(
    definition: Definition,
    study: Study,
    data: Path,
    workers: int,
    cluster: Cluster | None,
    progress: Callable[[str, int, int], None] | None,
) -> Exhibit:
    def tell(done: int, of: int) -> None:
        if progress is not None:
            progress(definition.name, done, of)

    if definition.kind in _RUN:
        tell(0, 1)
        exhibit = _RUN[definition.kind](definition, study)
    else:
        store = sweep(study, data, workers, cluster, tell)
        exhibit = _SWEPT[definition.kind](store.load(study).to_pylist())
    tell(1, 1)
    return exhibit


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
