"""`gridveil verify`: check a release, as whoever receives it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from gridveil.cli.output import console, error_console, print_json

BROKEN = 1


def verify(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    key: Annotated[
        Path | None, typer.Option(help="Also check the signature, with this public key (PEM).")
    ] = None,
    costs: Annotated[
        Path | None, typer.Option(help="Also check O* against these published costs (CSV).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Recompute every claim of a release's certificate; nothing but its folder is needed.

    Exit status: 0 every claim holds, 1 some do not, 2 bad input.

    Example: gridveil verify out
    """
    from gridveil.publication.signing import read_public_key
    from gridveil.publication.verify import verify as check

    with error_console.status("verifying …"):
        result = check(folder, None if key is None else read_public_key(key), costs)
    if as_json:
        print_json({"ok": result.ok, "claims": [vars(claim) for claim in result.claims]})
    else:
        table = Table("claim", "claimed", "found", "verdict")
        for claim in result.claims:
            verdict = Text("holds", "green") if claim.ok else Text("DOES NOT HOLD", "bold red")
            shown = (Text(_short(text)) for text in (claim.claimed, claim.found))
            table.add_row(Text(claim.name), *shown, verdict)
        console.print(table)
        held = sum(claim.ok for claim in result.claims)
        console.print(
            f"{held} of {len(result.claims)} claims hold",
            style="green" if result.ok else "bold red",
        )
    if not result.ok:
        raise typer.Exit(BROKEN)


def _short(text: str) -> str:
    return text if len(text) <= 34 else text[:33] + "…"
