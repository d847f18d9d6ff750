"""`gridveil reproduce`: the paper's tables and figures, run again."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gridveil.admm.device import Device
from gridveil.cli.options import DeviceOption
from gridveil.cli.output import console, error_console
from gridveil.cli.sweep import (
    DaskOption,
    TlsCaOption,
    TlsCertOption,
    TlsKeyOption,
    WorkersOption,
    cluster_of,
    needs_plots,
)


def reproduce(
    name: Annotated[str, typer.Argument(help="A table or figure, or 'all'; 'list' names them.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of results.")] = Path(
        "reproduction"
    ),
    draws: Annotated[
        int | None, typer.Option(min=1, help="At most so many draws, for a quick look.")
    ] = None,
    device: DeviceOption = Device.CPU,
    workers: WorkersOption = -1,
    dask: DaskOption = None,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
) -> None:
    """Run a table or figure of the paper again, ours beside it: CSV, PNG, PDF and one page.

    Uses the paper's NESTA cases where GRIDVEIL_CASES names their folder, else PGLib's of the same
    networks, and says so. Interrupted, it goes on where it stopped when started again.

    Example: gridveil reproduce table-polar-laplace -o reproduction
    """
    needs_plots()
    from gridveil.experiments.paper.definitions import definitions
    from gridveil.experiments.paper.page import said
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
        shown = {}

        def tell(what: str, done: int, of: int) -> None:
            if what not in shown:
                shown[what] = bars.add_task(what)
            bars.update(shown[what], completed=done, total=of)

        found = run(name, output, draws, workers, cluster, tell, device)
    if found.replaced:
        console.print(said(found.replaced), soft_wrap=True)
    console.print(f"done; open {output / PAGE}", soft_wrap=True)
