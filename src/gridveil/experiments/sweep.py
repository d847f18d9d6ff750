"""Runs the tasks of a study that have no result yet: on all cores, or on a Dask cluster.

Tasks of a worker that dies are lost. Dask runs them again on another worker; it is used directly,
because joblib waits forever for a task of a lost worker. On one machine the sweep ends; started
again, it continues from the saved results.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed  # type: ignore[import-untyped]

from gridveil.admm.device import chosen_device
from gridveil.device import Device
from gridveil.errors import GridveilError
from gridveil.experiments.run import Row, run_task
from gridveil.experiments.store import Store
from gridveil.experiments.study import Study, Task, as_study
from gridveil.opf.solvers import using

_WORKERLESS_SECONDS = 60.0
"""How long a cluster may be without any worker before the sweep ends."""
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Cluster:
    """A Dask cluster: the address of its scheduler and, for TLS, three PEM files."""

    address: str
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


def sweep(
    study: Study | str | Path,
    output: Path | str,
    workers: int = -1,
    cluster: Cluster | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Store:
    """Run a study into a folder. Results are saved as they finish; existing ones are kept.

    Args:
        study: The study, or its TOML file.
        output: The folder of results.
        workers: Processes; −1 is one per core, or one in all for a GPU.
        cluster: A Dask cluster to run on instead.
        progress: Called with the number of tasks done, and of all tasks.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import Study, results, sweep
        >>> study, output = Study(cases=("case5_pjm",), draws=2, betas=(0.05,)), mkdtemp()
        >>> _ = sweep(study, output, workers=1)
        >>> results(study, output)[0]["draws"]
        2
    """
    study = as_study(study)
    check_workers(workers)
    if cluster is None:
        if study.has_agents:
            chosen_device(study.device, 0)  # a missing GPU is refused before any work
        with using(study.solver, study.device):  # and so is what central solves lack
            pass
        if study.device is Device.GPU and workers == -1:
            workers = 1  # each would allocate all free memory
    store = Store(Path(output))
    missing = store.missing(study)
    of = len(study.tasks())
    done = of - len(missing)
    if progress is not None:
        progress(done, of)
    results = _on_cores(missing, workers) if cluster is None else _on_cluster(missing, cluster)
    for task, rows in results:
        store.save(task, rows)
        done += 1
        if progress is not None:
            progress(done, of)
    return store


def check_workers(workers: int) -> None:
    """Refuse a number of processes that is none."""
    if workers == 0 or workers < -1:
        raise GridveilError(f"workers: {workers} must be 1 or more, or -1 for one per core")


def _on_cores(tasks: list[Task], workers: int) -> Iterator[tuple[Task, list[Row]]]:
    pool = Parallel(n_jobs=workers, return_as="generator_unordered", batch_size=1)
    yield from pool(delayed(_run)(task) for task in tasks)


def _run(task: Task) -> tuple[Task, list[Row]]:
    return task, run_task(task)


def _on_cluster(tasks: list[Task], cluster: Cluster) -> Iterator[tuple[Task, list[Row]]]:
    """Send tasks to a Dask cluster, which gives those of a lost worker to another."""
    try:
        import distributed
    except ImportError:
        raise GridveilError("Dask is not installed; pip install 'gridveil[dask]'") from None
    dask: Any = distributed
    files = {
        "tls_ca_file": cluster.ca,
        "tls_client_cert": cluster.certificate,
        "tls_client_key": cluster.key,
    }
    given = {name: str(path) for name, path in files.items() if path is not None}
    security = dask.Security(**given, require_encryption=True) if given else None
    try:
        client = dask.Client(cluster.address, security=security, timeout="20s")
    except (OSError, ValueError, TypeError) as error:
        raise GridveilError(f"no Dask cluster at {cluster.address}: {error}") from error
    with client:
        waiting = dask.as_completed([client.submit(_run, task, pure=False) for task in tasks])
        seen = time.monotonic()
        while not waiting.is_empty():
            for future in waiting.next_batch(block=False):
                yield _result(future, dask)
            if client.scheduler_info()["workers"]:
                seen = time.monotonic()
            elif time.monotonic() - seen > _WORKERLESS_SECONDS:
                raise GridveilError(
                    f"{cluster.address} has had no worker for {_WORKERLESS_SECONDS:.0f} seconds; "
                    "finished tasks are saved; start the sweep again to continue"
                )
            time.sleep(_POLL_SECONDS)


def _result(future: Any, dask: Any) -> tuple[Task, list[Row]]:
    try:
        task, rows = future.result()
    except dask.scheduler.KilledWorker as error:
        raise GridveilError(
            f"a task was given up after several workers died running it: {error}"
        ) from error
    return task, rows
