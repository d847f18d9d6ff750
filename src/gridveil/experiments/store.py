"""The results of a sweep on disk: a Parquet file for each task, named after task and code.

A file is written whole or not at all, so a task whose file exists is done. Results of other code
or of another definition have other names.
"""

import hashlib
import inspect
import io
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from gridveil.errors import GridveilError
from gridveil.experiments.run import Row
from gridveil.experiments.study import Study, Task
from gridveil.fidelity.registry import METHODS
from gridveil.files import write_atomically
from gridveil.privacy.mechanisms.registry import MECHANISMS

_PACKAGES = ("casadi", "numba", "numpy", "scipy")
_OURS = __name__.partition(".")[0]
_TEXT = {"case", "mechanism", "calibration", "hide", "method", "policy", "status", "device"}
_BOOLEAN = {"solved", "noisy_feasible"}
_INTEGER = {"seed", "iterations", "max_iterations"}


@cache
def code_version() -> str:
    """Return a digest of this package's sources and of the packages results depend on."""
    digest = hashlib.sha256(" ".join(f"{name} {version(name)}" for name in _PACKAGES).encode())
    root = Path(__file__).parents[1]
    for source in sorted(root.rglob("*.py")):
        digest.update(source.relative_to(root).as_posix().encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def foreign_code(task: Task) -> str:
    """Return a digest of the modules of other packages that a task uses; empty without any."""
    strategies = (MECHANISMS.get(task.mechanism), *map(METHODS.get, task.methods))
    modules = {kind.__module__ for kind in strategies}
    sources = [
        inspect.getsource(sys.modules[name])
        for name in sorted(modules)
        if name.partition(".")[0] != _OURS
    ]
    return hashlib.sha256("".join(sources).encode()).hexdigest()[:16] if sources else ""


class Store:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        """Use a folder; it is created if necessary."""
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GridveilError(f"cannot write {folder}: {error.strerror}") from error

    def path(self, task: Task) -> Path:
        """Return the file of the result of a task by this code."""
        return self.folder / f"{task.key(code_version() + foreign_code(task))}.parquet"

    def missing(self, study: Study) -> list[Task]:
        """Return the tasks that have no result yet."""
        return [task for task in study.tasks() if not self.path(task).exists()]

    def save(self, task: Task, rows: Sequence[Row]) -> None:
        """Write the result of a task."""
        columns = {
            name: pa.array([row[name] for row in rows], type=_type(name)) for name in rows[0]
        }
        buffer = io.BytesIO()
        pq.write_table(pa.table(columns), buffer)
        write_atomically(self.path(task), buffer.getvalue())

    def load(self, study: Study) -> pa.Table:
        """Return all rows of a study that exist so far, in the order of its tasks."""
        tables = [
            pq.read_table(path) for task in study.tasks() if (path := self.path(task)).exists()
        ]
        if not tables:
            raise GridveilError(f"{self.folder} holds no results of this study by this code")
        return pa.concat_tables(tables)


def _type(name: str) -> pa.DataType:
    if name in _TEXT:
        return pa.string()
    if name in _BOOLEAN:
        return pa.bool_()
    return pa.int64() if name in _INTEGER else pa.float64()
