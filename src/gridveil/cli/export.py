"""`gridveil export`: the released loads in a copy of the file that a release was made from."""

from pathlib import Path
from typing import Annotated

import typer

from gridveil.cli.options import JsonOption
from gridveil.cli.output import console, print_json
from gridveil.cli.reading import PublicInjectionsOption, kinds_of_injections


def export(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    into: Annotated[
        str, typer.Option("--into", help="The source it was made from: a name, or a case file.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The copy to write; must not exist yet.")
    ],
    public_injections: PublicInjectionsOption = "",
    as_json: JsonOption = False,
) -> None:
    """Write released loads into a copy of the source: its names, indices and elements stay.

    Loads are found by bus and number. What the copy still holds of the source is printed.

    Exit status: 0 written, 2 bad input, or the source is another network.

    Example: gridveil export out --into mine.m -o mine-released.m
    """
    from gridveil.publication.export import export_release

    told = export_release(
        folder, into, output, public_injections=kinds_of_injections(public_injections)
    )
    if as_json:
        print_json({"file": str(output), "notes": told})
        return
    console.print(f"written to {output}", style="green", highlight=False)
    for sentence in told:
        console.print(f"• {sentence}", style="yellow", highlight=False)
