"""`gridveil reproduce`: the paper's tables and figures, run again."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gridveil.cli.options import DeviceOption
from gridveil.cli.output import console, error_console
from gridveil.cli.sweep import (
    DaskOption,
    TlsCaOption,
    TlsCertOption,
    TlsKeyOption,
    WorkersOption,
    cluster_of,
    require_matplotlib,
)
from gridveil.device import Device


def reproduce(
    name: Annotated[str, typer.Argument(help="A table or figure, or 'all'; 'list' names them.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of results.")] = Path(
        "reproduction"
    ),
    draws: Annotated[
        int | None, typer.Option(min=1, help="At most so many draws, for a quick look.")
    ] = None,
    device: DeviceOption = None,
    workers: WorkersOption = -1,
    dask: DaskOption = None,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
) -> None:
    """Run a table or figure of the paper again: CSV, PNG, PDF, and a page beside the paper's.

    Uses the paper's NESTA cases where GRIDVEIL_CASES names their folder, else PGLib's of the same
    networks, and says so. An interrupted run continues when it is started again.

    Example: gridveil reproduce table-polar-laplace -o reproduction
    """
    require_matplotlib()
    from gridveil.experiments.paper.definitions import definitions
    from gridveil.experiments.paper.page import replacement_note
    from gridveil.experiments.paper.reproduce import PAGE
    from gridveil.experiments.paper.reproduce import reproduce as run

    if name == "list":
        for definition in definitions().values():
            console.print(f"{definition.name:30} {definition.title}", highlight=False)
        return
    cluster = cluster_of(dask, tls_ca, tls_cert, tls_key)
    columns = (
        TextColumn("{task.description:30}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=error_console) as bars:
        tasks = {}

        def report(figure: str, done: int, of: int) -> None:
            if figure not in tasks:
                tasks[figure] = bars.add_task(figure)
            bars.update(tasks[figure], completed=done, total=of)

        found = run(name, output, draws, workers, cluster, report, device or Device.CPU)
    if found.replaced:
        console.print(replacement_note(found.replaced), soft_wrap=True)
    console.print(f"done; open {output / PAGE}", soft_wrap=True)
