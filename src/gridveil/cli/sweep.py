"""`gridveil sweep` and `gridveil results`: studies over many draws, and what they came to."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from gridveil.cli.output import console, error_console, print_json
from gridveil.errors import GridveilError

StudyArgument = Annotated[Path, typer.Argument(help="The study, a TOML file.")]
FolderOption = Annotated[Path, typer.Option("-o", "--output", help="The folder of results.")]


def sweep(
    study: StudyArgument,
    output: FolderOption,
    workers: Annotated[int, typer.Option(help="Processes; -1 is one per core.")] = -1,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler instead.")] = None,
    tls_ca: Annotated[Path | None, typer.Option(help="Dask with TLS: the authority (PEM).")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Dask with TLS: certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Dask with TLS: its key (PEM).")] = None,
) -> None:
    """Run a study: every combination of its cases, mechanisms, α, β and methods, many draws each.

    Not private, spends no budget. Interrupted, it goes on where it stopped when started again.

    Example: gridveil sweep study.toml -o results
    """
    from gridveil.experiments.study import read_study
    from gridveil.experiments.sweep import Cluster
    from gridveil.experiments.sweep import sweep as run

    if dask is None and (tls_ca or tls_cert or tls_key):
        raise GridveilError("--tls-ca, --tls-cert, --tls-key: mean something with --dask only")
    cluster = None if dask is None else Cluster(dask, tls_ca, tls_cert, tls_key)
    columns = ("tasks", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console) as bar:
        task = bar.add_task("")
        run(
            read_study(study),
            output,
            workers,
            cluster,
            lambda done, of: bar.update(task, completed=done, total=of),
        )
    console.print(f"all results are in {output}; see: gridveil results {study} -o {output}")


def results(
    study: StudyArgument,
    output: FolderOption,
    csv: Annotated[Path | None, typer.Option(help="Also write every row to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
) -> None:
    """Summarise what a sweep has found so far, a line to each setting.

    Example: gridveil results study.toml -o results
    """
    from pyarrow import csv as writer  # type: ignore[import-untyped]

    from gridveil.experiments.store import Store
    from gridveil.experiments.study import read_study
    from gridveil.experiments.summary import summarise

    table = Store(output).load(read_study(study))
    if csv is not None:
        writer.write_csv(table, csv)
    lines = summarise(table)
    if as_json:
        print_json(lines)
    else:
        _print(lines)


def _print(lines: list[dict[str, Any]]) -> None:
    """Print what is the same for all in a line, and the rest as a table."""
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
