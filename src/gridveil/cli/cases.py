"""`gridveil cases`: the cases that can be opened by name."""

from typing import Annotated

import typer
from rich.table import Table

from gridveil.cli.output import console, error_console, print_json
from gridveil.network import library


def cases(
    pattern: Annotated[str, typer.Argument(help="Show only names that contain this.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the cases that can be opened by name, with their sizes.

    PGLib's cases are always there; the environment variable GRIDVEIL_CASES may name folders with
    more of them.
    """
    with error_console.status("counting buses …"):
        found = library.cases(pattern)
    if as_json:
        print_json(
            [
                {"case": case.name, "collection": case.collection, **vars(case.size)}
                for case in found
            ]
        )
        return
    table = Table("case", title=f"{len(found)} cases")
    for heading in ("buses", "generators", "lines"):
        table.add_column(heading, justify="right")
    table.add_column("from")
    for case in found:
        size = case.size
        table.add_row(
            case.name,
            *(f"{count:,}" for count in (size.buses, size.generators, size.lines)),
            case.collection,
        )
    console.print(table)
    console.print(
        f"Open one with 'gridveil solve CASE'. {library.FOLDERS_VARIABLE} may name more folders.",
        style="dim",
    )
