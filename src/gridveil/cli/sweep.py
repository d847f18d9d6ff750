"""`gridveil sweep` and `gridveil results`: studies over many draws, and their results."""

from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from gridveil.cli.output import console, error_console, print_json
from gridveil.errors import GridveilError
from gridveil.files import write_atomically

if TYPE_CHECKING:
    from gridveil.experiments.sweep import Cluster

StudyArgument = Annotated[Path, typer.Argument(help="The study, a TOML file.")]
FolderOption = Annotated[Path, typer.Option("-o", "--output", help="The folder of results.")]
WorkersOption = Annotated[int, typer.Option(help="Processes; -1 is one per core.")]
DaskOption = Annotated[str | None, typer.Option(help="Address of a Dask scheduler instead.")]
TlsCaOption = Annotated[Path | None, typer.Option(help="Dask with TLS: the authority (PEM).")]
TlsCertOption = Annotated[Path | None, typer.Option(help="Dask with TLS: certificate (PEM).")]
TlsKeyOption = Annotated[Path | None, typer.Option(help="Dask with TLS: its key (PEM).")]


def sweep(
    study: StudyArgument,
    output: FolderOption,
    workers: WorkersOption = -1,
    dask: DaskOption = None,
    tls_ca: TlsCaOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
) -> None:
    """Run a study: every combination of its cases, mechanisms, α or what is hidden, β and methods.

    Not private, spends no budget. An interrupted sweep continues when it is started again.

    Example: gridveil sweep study.toml -o results
    """
    from gridveil.experiments.sweep import sweep as run

    cluster = cluster_of(dask, tls_ca, tls_cert, tls_key)
    columns = ("tasks", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console) as bar:
        task = bar.add_task("")
        run(
            study,
            output,
            workers,
            cluster,
            lambda done, of: bar.update(task, completed=done, total=of),
        )
    console.print(f"all results are in {output}; see: gridveil results {study} -o {output}")


def cluster_of(
    dask: str | None, ca: Path | None, certificate: Path | None, key: Path | None
) -> "Cluster | None":
    """Return the Dask cluster of the options, if any."""
    from gridveil.experiments.sweep import Cluster

    if dask is None and (ca or certificate or key):
        raise GridveilError("--tls-ca, --tls-cert, --tls-key: mean something with --dask only")
    return None if dask is None else Cluster(dask, ca, certificate, key)


def require_matplotlib() -> None:
    """Refuse to draw without Matplotlib."""
    if find_spec("matplotlib") is None:
        raise GridveilError("drawing needs Matplotlib; pip install 'gridveil[plots]'")


def results(
    study: StudyArgument,
    output: FolderOption,
    csv: Annotated[Path | None, typer.Option(help="Also write every row to this file.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the summary to this file, .png or .pdf.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Summarise the results of a sweep so far, a line for each setting.

    Example: gridveil results study.toml -o results
    """
    from pyarrow import csv as writer  # type: ignore[import-untyped]

    from gridveil.experiments.summary import result_rows, summarise

    table = result_rows(study, output)
    if csv is not None:
        rows = BytesIO()
        writer.write_csv(table, rows)
        write_atomically(csv, rows.getvalue())
    lines = summarise(table)
    if plot is not None:
        _plot(lines, plot)
    if as_json:
        print_json(lines)
    else:
        _print(lines)


def _plot(lines: list[dict[str, Any]], path: Path) -> None:
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in ("png", "pdf"):
        raise GridveilError(f"--plot: {path} must end in .png or .pdf")
    require_matplotlib()
    from gridveil.experiments.figure_style import rendered
    from gridveil.experiments.summary_figure import summary_figure

    write_atomically(path, rendered(summary_figure(lines))[suffix])


def _print(lines: list[dict[str, Any]]) -> None:
    """Print columns with one value in a line above the table of the others."""
    same = [name for name in lines[0] if len({line[name] for line in lines}) == 1]
    shared = ", ".join(
        f"{name.replace('_', ' ')} {_cell(lines[0][name])}" for name in same if lines[0][name]
    )
    if shared:
        console.print(f"all: {shared}", highlight=False)
    table = Table()
    names = [name for name in lines[0] if name not in same]
    for name in names:
        table.add_column(name.replace("_", " "), justify="right", overflow="fold")
    for line in lines:
        table.add_row(*(_cell(line[name]) for name in names))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
