"""`gridveil simulate`: a seeded, non-private study of one draw through both phases."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gridveil.cli.output import console, error_console, print_json
from gridveil.cli.solve import NOT_SOLVED
from gridveil.errors import GridveilError
from gridveil.fidelity.phase import restore
from gridveil.fidelity.result import Restored, relative_gap
from gridveil.network.library import load_case
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.privacy.bounds import read_bounds, simulation_bounds
from gridveil.privacy.calibration import exact
from gridveil.privacy.choose import Calibrations, MechanismName, make_mechanism
from gridveil.privacy.phase import simulate_loads


class Methods(StrEnum):
    """How the fidelity phase is solved."""

    CENTRAL = "central"
    BILEVEL = "bilevel"


class BandKinds(StrEnum):
    """Whose costs stay within β."""

    GENERATOR = "generator"
    TOTAL = "total"


def simulate(
    case: Annotated[str, typer.Argument(help="A name from 'gridveil cases', or a .m file.")],
    alpha: Annotated[str, typer.Option(help="Distance α of loads hard to tell, in p.u.")] = "0.1",
    epsilon: Annotated[str, typer.Option(help="Privacy budget ε.")] = "1",
    beta: Annotated[str, typer.Option(help="How far costs may be off, relatively.")] = "0.01",
    mechanism: Annotated[
        MechanismName, typer.Option(help="The privacy mechanism.")
    ] = MechanismName.POLAR_LAPLACE,
    calibration: Annotated[
        Calibrations, typer.Option(help="Of the piecewise mechanism.")
    ] = Calibrations.SOUND,
    bounds: Annotated[
        Path | None,
        typer.Option(help="Public bounds for the piecewise mechanism, a CSV; else from the loads."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The draw.")] = 1,
    method: Annotated[
        Methods, typer.Option(help="central: P_RBL; bilevel: also the optimal cost in its band.")
    ] = Methods.CENTRAL,
    band: Annotated[
        BandKinds,
        typer.Option(help="Whose cost stays within beta: each generator's, or all."),
    ] = BandKinds.GENERATOR,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Study one draw: noise from a seed, then the fidelity phase. Not private, spends no budget.

    Exit status: 0 restored, 2 bad input, 3 not restored.

    Example: gridveil simulate case39_epri --alpha 0.1 --beta 0.01 --method bilevel
    """
    network = load_case(case)
    limits = simulation_bounds(network) if bounds is None else read_bounds(bounds, network)
    chosen = make_mechanism(mechanism, epsilon, alpha, calibration=calibration.value, bounds=limits)
    tolerance = float(exact(beta, "beta"))
    with error_console.status(f"solving {network.name} …") as status:
        original = solve_acopf(network)
        if not original.status.solved:
            raise GridveilError(
                f"{network.name} itself has no AC-OPF solution, so there are no costs to keep: "
                f"{original.diagnosis or original.status.value}"
            )
        noisy = simulate_loads(network, chosen, seed)
        status.update("solving the noisy network …")
        alone = solve_acopf(network.with_loads(noisy.p, noisy.q))
        status.update("restoring …")
        restored = restore(
            network, noisy, original.generator_costs, tolerance, method.value, band.value
        )
    figures = as_dict(case, original, alone, restored)
    if as_json:
        print_json(figures)
    else:
        _print(figures, tolerance, restored)
    if not restored.status.solved:
        raise typer.Exit(NOT_SOLVED)


def as_dict(case: str, original: OPFResult, alone: OPFResult, restored: Restored) -> dict[str, Any]:
    """Return the figures of a study as JSON shows them; gaps are relative to O*."""
    solved, noisy = restored.status.solved, alone.status.solved
    checked = solved and restored.opf.status.solved
    return {
        "case": case,
        "method": restored.method,
        "status": restored.status.name.lower(),
        "message": restored.status.value,
        "cost": original.cost,
        "displacement": restored.displacement if solved else None,
        "extra_displacement": restored.extra_displacement if solved else None,
        "cost_gap_dispatch": restored.cost_gap_dispatch if solved else None,
        "cost_gap_opf": restored.cost_gap_opf if checked else None,
        "worst_generator_gap": restored.worst_generator_gap if solved else None,
        "worst_generator_gap_opf": restored.worst_generator_gap_opf if checked else None,
        "noisy_feasible": noisy,
        "noisy_cost_gap": relative_gap(alone.cost, original.cost) if noisy else None,
        "max_violation": restored.max_violation,
        "solves": restored.solves,
        "seconds": restored.seconds,
    }


def _print(figures: dict[str, Any], beta: float, restored: Restored) -> None:
    console.print("simulation, not private: float noise from a seed", style="yellow")
    console.print(restored.status.value, style="green" if restored.status.solved else "bold red")
    noisy = (
        f"feasible, cost off by {figures['noisy_cost_gap']:+.2%}"
        if figures["noisy_feasible"]
        else "AC-infeasible"
    )
    console.print(f"noise alone: {noisy}")
    if restored.status.solved:
        console.print(
            f"loads moved by {figures['displacement']:.4f} p.u. in all; largest violation "
            f"{figures['max_violation']:.1e} p.u."
        )
        console.print(
            f"cost of the dispatch found {figures['cost_gap_dispatch']:+.3%} (worst generator "
            f"{figures['worst_generator_gap']:.3%})"
        )
    if figures["cost_gap_opf"] is not None:
        within = abs(figures["cost_gap_opf"]) <= beta
        console.print(
            f"optimal cost of the restored network {figures['cost_gap_opf']:+.3%}, "
            f"{'within' if within else 'OUTSIDE'} β = {beta:g}",
            style="" if within else "yellow",
        )
    console.print(f"{restored.solves} solves in {restored.seconds:.2f} s", style="dim")
