"""`gridveil audit`: play against a mechanism's sampler and see what it gives away."""

from typing import Annotated

import typer
from rich.progress import Progress

from gridveil.cli.options import CalibrationOption
from gridveil.cli.output import console, error_console, print_json
from gridveil.privacy import audit as game
from gridveil.privacy.calibration import exact
from gridveil.privacy.mechanisms.registry import Calibrations, MechanismName, make_mechanism

BROKEN = 1


def audit(
    mechanism: Annotated[MechanismName, typer.Option(help="Which mechanism to play against.")],
    epsilon: Annotated[str, typer.Option(help="The ε it claims.")] = "1",
    alpha: Annotated[str, typer.Option(help="The distance α it claims it for, in p.u.")] = "0.1",
    trials: Annotated[int, typer.Option(help="Releases per pair of loads.")] = 60_000,
    calibration: CalibrationOption = Calibrations.SOUND,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Bound a mechanism's true ε from below by a guessing game against its exact sampler.

    Exit status: 0 no more than claimed was found, 1 it gives away more than it claims, 2 bad input.

    Example: gridveil audit --mechanism polar-laplace --epsilon 1 --alpha 0.1 --trials 60000
    """
    chosen = make_mechanism(
        mechanism, epsilon, alpha, calibration=calibration.value, bounds=game.audit_bounds()
    )
    pairs = game.audit_pairs(mechanism, calibration, float(exact(alpha, "alpha")))
    with Progress(console=error_console, transient=True) as progress:
        bar = progress.add_task("playing")
        result = game.audit(
            chosen,
            float(exact(epsilon, "epsilon")),
            pairs,
            trials,
            progress=lambda done, of: progress.update(bar, completed=done, total=of),
        )
    if as_json:
        print_json(
            {
                "mechanism": result.mechanism,
                "calibration": calibration.value if mechanism is MechanismName.PIECEWISE else None,
                "epsilon_claimed": result.epsilon_claimed,
                "epsilon_lower_bound": result.epsilon_lower_bound,
                "confidence": result.confidence,
                "trials": result.trials,
                "verdict": result.verdict.name.lower(),
                "meaning": result.verdict.value,
            }
        )
    else:
        _print(result, chosen.guarantee().caution)
    if result.verdict is game.Verdict.BROKEN:
        raise typer.Exit(BROKEN)


def _print(result: game.AuditResult, caution: str) -> None:
    style = "bold red" if result.verdict is game.Verdict.BROKEN else "green"
    console.print(f"[bold]{result.mechanism}[/], {result.trials:,} releases per pair of loads")
    for pair in result.pairs:
        console.print(
            f"  {pair.one} or {pair.other} p.u.: {pair.hits:,} of {pair.guesses:,} guesses right, "
            f"so ε ≥ {pair.epsilon_lower_bound:.3f}",
            highlight=False,
        )
    console.print(
        f"claimed ε = {result.epsilon_claimed:g}; at {result.confidence:.0%} confidence "
        f"ε ≥ {result.epsilon_lower_bound:.3f}"
    )
    console.print(result.verdict.value, style=style)
    if caution:
        console.print(caution)
