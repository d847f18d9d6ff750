"""`gridveil export`: released loads in a copy of their source, or series for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from gridveil.cli.options import JsonOption
from gridveil.cli.output import console, print_json
from gridveil.cli.reading import PublicInjectionsOption, kinds_of_injections
from gridveil.errors import GridveilError
from gridveil.publication.series.export.formats import SeriesFormat


def export(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="What to write; must not exist yet.")
    ],
    into: Annotated[
        str | None,
        typer.Option("--into", help="The source it was made from: a name, or a case file."),
    ] = None,
    to: Annotated[
        SeriesFormat | None,
        typer.Option(help="Of a series: for which tool, with its network, or csv for loads alone."),
    ] = None,
    public_injections: PublicInjectionsOption = "",
    as_json: JsonOption = False,
) -> None:
    """Write released loads into a copy of the source, or a released series for another tool.

    A copy keeps the names, indices and elements of its source; loads are found by bus and number,
    and what the copy still holds of the source is printed. A series is written with its network:
    as a pandapower net with profiles, CSV files of PyPSA, or scenarios of gridfm-datakit.

    Exit status: 0 written, 2 bad input, or the source is another network.

    Example: gridveil export out --into mine.m -o mine-released.m
    """
    from gridveil.publication.export import export_release
    from gridveil.publication.series.export.export import export_series

    if (into is None) == (to is None):
        raise GridveilError(
            "--into or --to: a release goes into a copy of its source (--into mine.m), a series "
            "to another tool (--to pandapower, pypsa, gridfm or csv)"
        )
    if to is not None:
        told = export_series(folder, to, output)
    else:
        told = export_release(
            folder, into or "", output, public_injections=kinds_of_injections(public_injections)
        )
    if as_json:
        print_json({"file": str(output), "notes": told})
        return
    console.print(f"written to {output}", style="green", highlight=False)
    for sentence in told:
        console.print(f"• {sentence}", style="yellow", highlight=False)
