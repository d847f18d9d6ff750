"""`gridveil verify`: check a release, as whoever receives it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from gridveil.claims import ClaimVerdict
from gridveil.cli.exit_codes import CHECK_FAILED
from gridveil.cli.options import DeviceOption, JsonOption, SolverOption
from gridveil.cli.output import console, error_console, print_json
from gridveil.printable import excerpt

_WIDEST = 34
_STYLES = {
    ClaimVerdict.RECOMPUTED: "green",
    ClaimVerdict.PROVED: "green",
    ClaimVerdict.STATED: "cyan",
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
    dispatch: Annotated[
        Path | None, typer.Option(help="Also check p* against this published dispatch (CSV).")
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="series: solve for the optimal costs of all hours, not of a sample drawn here.",
        ),
    ] = False,
    solver: SolverOption = None,
    device: DeviceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check every claim of a release's certificate; nothing but its folder is needed.

    Claims are recomputed, or proved by a theorem, or stated: then only the owner can know.

    Exit status: 0 no claim is broken, 1 some are or could not be checked, 2 bad input.

    Example: gridveil verify out
    """
    from gridveil.publication.signing import SignatureState
    from gridveil.publication.verification.verify import verify as check

    with error_console.status("verifying …"):
        result = check(folder, key, costs, dispatch, solver, device, full=full)
    if as_json:
        print_json(result.figures())
    else:
        if not result.ok:
            console.print("Not verified: see the claims below.", style="bold red")
        is_good = result.ok and result.private_as_a_whole
        console.print(result.statement, style="green" if is_good else "bold red")
        genuine = result.signature.state is SignatureState.GENUINE
        console.print(result.signature_sentence(), style="green" if genuine else "yellow")
        table = Table("claim", "claimed", "found", "verdict")
        for claim in result.claims:
            texts = (claim.name, claim.claimed, claim.found)
            verdict = Text(claim.verdict.value, _STYLES[claim.verdict])
            table.add_row(*(Text(excerpt(text, _WIDEST)) for text in texts), verdict)
        console.print(table)
        console.print(result.summary(), style="green" if result.ok else "bold red")
    if not result.ok:
        raise typer.Exit(CHECK_FAILED)
