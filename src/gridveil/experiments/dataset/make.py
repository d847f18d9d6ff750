"""Makes a folder of AC-OPF samples from a release: on all cores, and again from where it stopped.

Blocks of scenarios are kept one by one in a hidden folder, until all are there and become one table
each. The same release, seed and number give the same rows, however they are divided.
"""

import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from joblib import Parallel, delayed  # type: ignore[import-untyped]
from pyarrow import parquet

from gridveil.device import Device, as_device
from gridveil.errors import GridveilError
from gridveil.experiments.dataset.perturbations import Perturbations, Scenario, scenario
from gridveil.experiments.dataset.samples import SCENARIOS, TABLES, samples
from gridveil.experiments.dataset.source import ReleasedLoads, read_released_loads
from gridveil.experiments.sweep import check_workers
from gridveil.files import read_file, write_atomically
from gridveil.network.network import Network
from gridveil.opf.solvers import Solver, as_solver, using
from gridveil.publication.folder import NETWORK

ABOUT = "dataset.json"
_PARTS = ".parts"
_BUSES_OF_A_BLOCK = 2000
"""So many buses times scenarios are kept at once: a second or two of work."""
_MOST_OF_A_BLOCK = 100

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Place:
    """What solves, and where; None is what holds without a choice."""

    solver: Solver | None
    device: Device | None


@dataclass(frozen=True)
class DatasetSummary:
    """What a folder of samples has."""

    folder: Path
    scenarios: int
    solved: int


def dataset(
    output: Path | str,
    source: Path | str,
    scenarios: int,
    seed: int = 1,
    *,
    common: float = 0.1,
    own: float = 0.1,
    solver: Solver | str | None = None,
    device: Device | str | None = None,
    workers: int = -1,
    progress: Progress | None = None,
) -> DatasetSummary:
    """Make AC-OPF samples from a release, as Parquet tables.

    They cost no privacy: they follow from what was released and from public random numbers. A run
    that was killed goes on where it was when it is started again.

    Args:
        output: The folder: tables of scenarios, loads, generators, buses and lines, the case file,
            and dataset.json, which says how they were made.
        source: The folder of a release, of a series or of single loads.
        scenarios: How many to draw. Those without a solution are said, and left out of all tables
            but that of scenarios.
        seed: What the random numbers come from.
        common: How far all loads of a scenario may be scaled alike: by 1 ± this.
        own: How far P and Q of each load may be scaled besides.
        solver: As for `solve_acopf`.
        device: As for `solve_acopf`.
        workers: Processes; −1 is one per core, or one in all for a GPU.
        progress: Called with the number of scenarios done, and of all.

    Raises:
        GridveilError: The source is no release, or the folder has other samples.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import dataset, release
        >>> folder = mkdtemp()
        >>> release("case5_pjm", folder + "/ledger.sqlite", beta=0.05).save(folder + "/out")
        >>> made = dataset(folder + "/samples", folder + "/out", 3, own=0.02, workers=1)
        >>> made.scenarios, sorted(path.name for path in made.folder.glob("*.parquet"))[:2]
        (3, ['buses.parquet', 'generators.parquet'])
    """
    if scenarios < 1:
        raise GridveilError("--scenarios: at least 1")
    check_workers(workers)
    place = Place(
        None if solver is None else as_solver(solver), None if device is None else as_device(device)
    )
    with using(place.solver, place.device):  # a missing GPU is refused before any work
        pass
    if place.device is Device.GPU and workers == -1:
        workers = 1  # each would allocate all free memory
    drawn, folder = Perturbations(seed, common, own), Path(output)
    loads = read_released_loads(Path(source))
    about = {
        "made_by": f"gridveil {version('gridveil')}",
        "network": loads.network.name,
        "release_sha256": loads.digest,
        "released_hours": len(loads.times),
        "scenarios": scenarios,
        "perturbations": asdict(drawn),
        "solver": None if place.solver is None else place.solver.value,
        "device": None if place.device is None else place.device.value,
    }
    size = min(_MOST_OF_A_BLOCK, max(1, _BUSES_OF_A_BLOCK // len(loads.network.buses)))
    blocks = [range(i, min(i + size, scenarios)) for i in range(0, scenarios, size)]
    if _begin(folder, about, loads):
        missing = [block for block in blocks if not _part(folder, SCENARIOS, block).exists()]
        _solve(folder, missing, loads, drawn, place, workers, scenarios, progress)
        _finish(folder, blocks)
    solved = pc.sum(parquet.read_table(folder / f"{SCENARIOS}.parquet")["solved"]).as_py()
    return DatasetSummary(folder, scenarios, int(solved))


def _begin(folder: Path, about: dict[str, Any], loads: ReleasedLoads) -> bool:
    """Open a folder, or the same one again; return whether anything is left to do."""
    path = folder / ABOUT
    if path.exists():
        if json.loads(read_file(path)) != about:
            raise GridveilError(
                f"{folder}: has samples of another release, number, seed or setting; choose "
                "another folder"
            )
        return (folder / _PARTS).is_dir()
    if folder.exists() and any(entry.name != _PARTS for entry in folder.iterdir()):
        raise GridveilError(f"{folder}: is there and holds something else")
    (folder / _PARTS).mkdir(parents=True, exist_ok=True)
    write_atomically(folder / NETWORK, loads.case_text)
    write_atomically(path, json.dumps(about, indent=1).encode() + b"\n")
    return True


def _solve(
    folder: Path,
    missing: list[range],
    loads: ReleasedLoads,
    drawn: Perturbations,
    place: Place,
    workers: int,
    scenarios: int,
    progress: Progress | None,
) -> None:
    """Solve the blocks that are missing, and keep each as soon as it is there."""
    done = scenarios - sum(map(len, missing))
    if progress is not None:
        progress(done, scenarios)
    tasks = ([scenario(number, loads, drawn) for number in block] for block in missing)
    pool = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1)
    found = pool(delayed(_block)(loads.network, block, place) for block in tasks)
    for first, tables in found:
        block = range(first, first + len(tables[SCENARIOS]))
        for name in TABLES:  # scenarios last: with them a block is whole
            write_atomically(_part(folder, name, block), _bytes(tables[name]))
        done += len(block)
        if progress is not None:
            progress(done, scenarios)


def _block(network: Network, scenarios: list[Scenario], place: Place) -> tuple[int, dict[str, Any]]:
    with using(place.solver, place.device):
        return scenarios[0].number, samples(network, scenarios)


def _finish(folder: Path, blocks: list[range]) -> None:
    """Put the parts of each table together, in order, and remove them."""
    for name in TABLES:
        unfinished, writer = folder / _PARTS / f"{name}.whole", None
        with ExitStack() as stack:
            for part in _parts(folder, name, blocks):
                if writer is None:
                    writer = stack.enter_context(
                        parquet.ParquetWriter(unfinished, part.schema, compression="zstd")
                    )
                writer.write_table(part)
        unfinished.replace(folder / f"{name}.parquet")
    shutil.rmtree(folder / _PARTS)


def _parts(folder: Path, name: str, blocks: list[range]) -> Iterator[pa.Table]:
    """Yield the parts of a table, several small ones at once."""
    together: list[pa.Table] = []
    for block in blocks:
        together.append(parquet.read_table(_part(folder, name, block)))
        if sum(map(len, together)) > 1_000_000:
            yield pa.concat_tables(together)
            together = []
    if together:
        yield pa.concat_tables(together)


def _part(folder: Path, name: str, block: range) -> Path:
    return folder / _PARTS / f"{name}-{block.start:09d}.parquet"


def _bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()
