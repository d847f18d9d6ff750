"""Runs the tasks of a study that have no result yet: on all cores, or on a Dask cluster.

Both go through joblib. A worker that dies takes its running tasks with it: Dask gives them to
another; on one machine the sweep ends, and goes on from what was saved when it is started again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config  # type: ignore[import-untyped]

from gridveil.errors import GridveilError
from gridveil.experiments.run import Row, run_task
from gridveil.experiments.store import Store
from gridveil.experiments.study import Study, Task


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster: the address of its scheduler and, for TLS, three PEM files."""

    address: str
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


def sweep(
    study: Study,
    folder: Path,
    workers: int = -1,
    cluster: Cluster | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Store:
    """Run a study into a folder; what is there already is kept. Results are saved as they finish.

    `workers` is the number of processes, −1 for one per core; `progress` gets done and of how many.
    """
    store = Store(folder)
    missing = store.missing(study)
    of = len(study.tasks())
    done = of - len(missing)
    if progress is not None:
        progress(done, of)
    with nullcontext() if cluster is None else _on(cluster):
        jobs = {"n_jobs": workers} if cluster is None else {}
        pool = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="all", **jobs)
        for task, rows in pool(delayed(_run)(task) for task in missing):
            store.save(task, rows)
            done += 1
            if progress is not None:
                progress(done, of)
    return store


def _run(task: Task) -> tuple[Task, list[Row]]:
    return task, run_task(task)


@contextmanager
def _on(cluster: Cluster) -> Iterator[None]:
    """Send joblib's work to a Dask cluster."""
    try:
        import distributed
    except ImportError:
        raise GridveilError("Dask is not installed; pip install 'gridveil[dask]'") from None
    files = {
        "tls_ca_file": cluster.ca,
        "tls_client_cert": cluster.certificate,
        "tls_client_key": cluster.key,
    }
    given = {name: str(path) for name, path in files.items() if path is not None}
    dask: Any = distributed
    security = dask.Security(**given, require_encryption=True) if given else None
    try:
        client = dask.Client(cluster.address, security=security, timeout="20s", set_as_default=True)
    except (OSError, ValueError, TypeError) as error:
        raise GridveilError(f"no Dask cluster at {cluster.address}: {error}") from error
    with client, parallel_config(backend="dask", wait_for_workers_timeout=20):
        yield
