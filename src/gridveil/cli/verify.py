"""`gridveil verify`: check a release, as whoever receives it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from gridveil.claims import ClaimVerdict
from gridveil.cli.options import JsonOption
from gridveil.cli.output import console, error_console, print_json
from gridveil.printable import excerpt

BROKEN = 1
_WIDEST = 34
_STYLES = {
    ClaimVerdict.HOLDS: "green",
    ClaimVerdict.BROKEN: "bold red",
    ClaimVerdict.UNCHECKED: "bold yellow",
}


def verify(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.")],
    key: Annotated[
        Path | None,
        typer.Option(
            help="Also check the signature, with this public key or X.509 certificate (PEM), whose "
            "issuer is not checked."
        ),
    ] = None,
    costs: Annotated[
        Path | None, typer.Option(help="Also check O* against these published costs (CSV).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Recompute every claim of a release's certificate; nothing but its folder is needed.

    Exit status: 0 every claim holds, 1 some do not or could not be checked, 2 bad input.

    Example: gridveil verify out
    """
    from gridveil.publication.verify import verify as check

    with error_console.status("verifying …"):
        result = check(folder, key, costs)
    if as_json:
        claims = [
            {"name": c.name, "claimed": c.claimed, "found": c.found, "ok": c.ok,
             "verdict": c.verdict.name.lower()}
            for c in result.claims
        ]  # fmt: skip
        print_json({"ok": result.ok, "claims": claims})
    else:
        table = Table("claim", "claimed", "found", "verdict")
        for claim in result.claims:
            texts = (claim.name, claim.claimed, claim.found)
            verdict = Text(claim.verdict.value, _STYLES[claim.verdict])
            table.add_row(*(Text(excerpt(text, _WIDEST)) for text in texts), verdict)
        console.print(table)
        style = "green" if result.ok else "bold red"
        console.print(
            f"{result.count(ClaimVerdict.HOLDS)} of {len(result.claims)} claims hold", style=style
        )
        missing = result.count(ClaimVerdict.UNCHECKED)
        if missing:
            console.print(f"{missing} could not be checked here", style="bold yellow")
    if not result.ok:
        raise typer.Exit(BROKEN)
