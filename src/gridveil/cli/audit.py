"""`gridveil audit`: play against a mechanism's sampler and see what it gives away."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.text import Text

from gridveil import defaults
from gridveil.cli.exit_codes import CHECK_FAILED
from gridveil.cli.options import CalibrationOption, JsonOption, registry_option
from gridveil.cli.output import console, error_console, print_json
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.privacy.series.promise import SeriesPromiseKind

if TYPE_CHECKING:
    from gridveil.privacy.audit import AuditResult


def audit(
    mechanism: Annotated[
        str | None,
        registry_option(MECHANISMS, "Which mechanism to play against; by what is hidden if none."),
    ] = None,
    epsilon: Annotated[str, typer.Option(help="The ε it claims.")] = defaults.EPSILON,
    hide: Annotated[
        str | None,
        typer.Option(
            metavar="10%|5MVA|20%rating",
            help="The change of a load it claims it for; in MVA on a base of 100 MVA.",
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(help="The same in p.u., for mechanisms without relative distance."),
    ] = None,
    floor: Annotated[
        str | None,
        typer.Option(
            metavar="1MVA",
            help="For --hide in %: the load below which per cent turn into a fixed amount.",
            show_default=f"{defaults.FLOOR}MVA",
        ),
    ] = None,
    rating: Annotated[
        str | None, typer.Option(help="For --hide 20%rating: that of the loads, in MVA.")
    ] = None,
    promise: Annotated[
        SeriesPromiseKind | None,
        typer.Option(
            help="Play about load series and this promise, with --hide 5%rating of 100 MVA or 5MVA."
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(help="Releases per pair of loads.")
    ] = defaults.AUDIT_TRIALS,
    calibration: CalibrationOption = defaults.CALIBRATION,
    as_json: JsonOption = False,
) -> None:
    """Bound a mechanism's true ε from below by guessing games against its exact sampler.

    Exit status: 0 no more than claimed was found, 1 it gives away more than it claims, 2 bad input.

    Examples:
    gridveil audit --mechanism polar-laplace --epsilon 1 --alpha 0.1 --trials 60000

    gridveil audit --hide 10% --epsilon 1

    gridveil audit --promise day --epsilon 1

    """
    from gridveil.privacy.audit import audit as run_audit

    with Progress(console=error_console, transient=True) as progress:
        bar = progress.add_task("playing")
        result = run_audit(
            mechanism,
            epsilon=epsilon,
            hide=hide,
            alpha=alpha,
            floor=floor,
            rating=rating,
            promise=promise,
            calibration=calibration,
            trials=trials,
            progress=lambda done, of: progress.update(bar, completed=done, total=of),
        )
    has_several = promise is None and bool(MECHANISMS.get(result.mechanism).calibrations)
    _report(result, calibration if has_several else None, as_json)


def _report(result: "AuditResult", calibration: str | None, as_json: bool) -> None:
    from gridveil.privacy.audit import AuditVerdict

    if as_json:
        print_json({**result.figures(), "calibration": calibration})
    else:
        _print(result, "bold red" if result.verdict is AuditVerdict.BROKEN else "green")
    if result.verdict is AuditVerdict.BROKEN:
        raise typer.Exit(CHECK_FAILED)


def _print(result: "AuditResult", style: str) -> None:
    console.print(
        Text.assemble((result.mechanism, "bold"), f", {result.trials:,} releases per pair of loads")
    )
    for pair in result.pairs:
        console.print(
            f"  {pair.one} or {pair.other} p.u.: {pair.hits:,} of {pair.guesses:,} guesses right, "
            f"so ε ≥ {pair.epsilon_lower_bound:.3f}",
            highlight=False,
        )
    console.print("Played, each with the pair at which it found most:")
    for play in result.plays:
        broken = play.breaks(result.epsilon_claimed)
        console.print(
            Text.assemble("  ", (play.name, "bold"), f": {play.tested}\n    {play.found}"),
            style="red" if broken else None,
        )
    console.print("What these plays cannot see:")
    for limit in result.not_seen:
        console.print(f"  - {limit}", highlight=False)
    console.print(
        f"claimed ε = {result.epsilon_claimed:g}; at {result.confidence:.0%} confidence "
        f"ε ≥ {result.epsilon_lower_bound:.3f}"
    )
    console.print(result.verdict.value, style=style)
    if result.shown_by:
        console.print(f"shown by: {', '.join(result.shown_by)}", style=style)
    if result.caution:
        console.print(result.caution)
