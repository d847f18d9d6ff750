"""`gridveil profiles`: made-up profiles and ratings for any case."""

from pathlib import Path
from typing import Annotated

import typer

from gridveil.cli.options import CaseArgument, JsonOption
from gridveil.cli.output import console, print_json

_MADE_UP = (
    "made up, to try things with: no measurement went into them. They were scaled by the loads of "
    "the case, and so were the ratings: where those loads are secret, neither is public"
)


def profiles(
    case: CaseArgument,
    output: Annotated[Path, typer.Option("-o", "--output", help="The profiles: .parquet or .csv.")],
    hours: Annotated[int, typer.Option(help="How many, from Monday, 2025-01-06 00:00 UTC.")] = 168,
    seed: Annotated[int, typer.Option(help="What the random numbers come from.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Make up hourly profiles of all loads of a case, and ratings beside them.

    loads.parquet has its ratings in loads-ratings.csv. Both can be read by their owner only.

    Exit status: 0 written, 2 bad input.

    Example: gridveil profiles case14_ieee --hours 168 -o loads.parquet
    """
    from gridveil.network.series.writing import profiles as write_profiles

    ratings = write_profiles(case, output, hours, seed)
    if as_json:
        print_json({"profiles": str(output), "ratings": str(ratings), "synthetic": True})
        return
    console.print(f"profiles: {output}\nratings: {ratings}", style="green", highlight=False)
    console.print(_MADE_UP, style="yellow", highlight=False)
