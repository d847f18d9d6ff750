"""`gridveil cases`: what can be opened by name."""

from typing import Annotated

import typer
from rich.table import Table

from gridveil.cli.output import console, error_console, print_json
from gridveil.network.library import FOLDERS_VARIABLE, case_size, list_cases


def cases(
    pattern: Annotated[str, typer.Argument(help="Show only names that contain this.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the cases that can be opened by name, with their sizes.

    PGLib's cases are always there; the environment variable GRIDVEIL_CASES may name folders with
    more of them.
    """
    entries = [entry for entry in list_cases() if pattern in entry.name]
    with error_console.status("counting buses …"):
        sizes = [case_size(entry.path) for entry in entries]
    if as_json:
        print_json(
            [
                {"case": entry.name, "collection": entry.collection, **vars(size)}
                for entry, size in zip(entries, sizes, strict=True)
            ]
        )
        return
    table = Table("case", title=f"{len(entries)} cases")
    for heading in ("buses", "generators", "lines"):
        table.add_column(heading, justify="right")
    table.add_column("from")
    for entry, size in zip(entries, sizes, strict=True):
        table.add_row(
            entry.name,
            *(f"{count:,}" for count in (size.buses, size.generators, size.lines)),
            entry.collection,
        )
    console.print(table)
    console.print(
        f"Open one with 'gridveil solve CASE'. {FOLDERS_VARIABLE} may name more folders.",
        style="dim",
    )
