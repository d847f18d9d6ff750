"""Reads the network of a command, and says what reading changed."""

from collections.abc import Sequence
from typing import Annotated

import typer

from gridveil.cli.output import error_console
from gridveil.network.library import load_case
from gridveil.network.network import Network

PublicInjectionsOption = Annotated[
    str,
    typer.Option(
        metavar="sgen,storage,ward,dcline",
        help="Kinds of fixed injections that are public, of formats that have any; the others are "
        "loads, protected like all.",
        show_default=False,
    ),
]


def read_network(
    case: str,
    public_injections: str = "",
    load_buses: Sequence[int] | None = None,
    quiet: bool = False,
) -> Network:
    """Return the network of a case, and print the notes of its conversion to standard error."""
    network = load_case(case, load_buses, public_injections=kinds_of_injections(public_injections))
    if not quiet:
        for note in network.conversion_notes:
            error_console.print(f"note: {note}", style="dim", soft_wrap=True)
    return network


def kinds_of_injections(names: str) -> list[str]:
    """Return the kinds that an option names, separated by commas."""
    return [kind.strip() for kind in names.split(",") if kind.strip()]
