"""`gridveil simulate`: a seeded, non-private study of one draw through both phases."""

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gridveil.admm.device import Device
from gridveil.admm.options import AgentOptions
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.cli.options import (
    AlphaOption,
    BetaOption,
    CalibrationOption,
    CaseArgument,
    CostsOption,
    DeviceOption,
    EpsilonOption,
    MechanismOption,
    StartOption,
    refuse_agent_options,
)
from gridveil.cli.output import console, error_console, print_json
from gridveil.cli.solve import NOT_SOLVED
from gridveil.errors import GridveilError
from gridveil.fidelity.phase import check_choices, restore
from gridveil.fidelity.registry import BandKind, Method
from gridveil.fidelity.result import Restored, relative_gap
from gridveil.network.library import load_case
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.privacy.bounds import read_bounds, simulation_bounds
from gridveil.privacy.calibration import exact
from gridveil.privacy.mechanisms.registry import Calibrations, MechanismName, make_mechanism
from gridveil.privacy.phase import simulate_loads

_PLACES = {Device.CPU: "CPU", Device.CUDA: "GPU"}


def simulate(
    context: typer.Context,
    case: CaseArgument,
    alpha: AlphaOption = "0.1",
    epsilon: EpsilonOption = "1",
    beta: BetaOption = "0.01",
    mechanism: MechanismOption = MechanismName.POLAR_LAPLACE,
    calibration: CalibrationOption = Calibrations.SOUND,
    bounds: Annotated[
        Path | None,
        typer.Option(help="Public bounds for the piecewise mechanism, a CSV; else from the loads."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The draw.")] = 1,
    method: Annotated[
        Method,
        typer.Option(
            help="central: P_RBL; bilevel: also the optimal cost in its band; admm: among agents."
        ),
    ] = Method.CENTRAL,
    band: Annotated[
        BandKind,
        typer.Option(help="Whose cost stays within beta: each generator's, or all."),
    ] = BandKind.GENERATOR,
    policy: Annotated[
        Policy, typer.Option(help="admm: how penalties change; paper reproduces the paper.")
    ] = Policy.FAST,
    max_iterations: Annotated[int, typer.Option(help="admm: iterations at most.")] = 5000,
    tolerance: Annotated[
        float, typer.Option(help="admm: largest primal and dual residual, in p.u.")
    ] = 1e-5,
    time_limit: Annotated[
        float, typer.Option(help="admm: seconds of iterating at most.")
    ] = math.inf,
    checkpoint: Annotated[
        Path | None, typer.Option(help="admm: a file to keep the run in, and to go on from.")
    ] = None,
    device: DeviceOption = Device.CPU,
    start: StartOption = Start.AUTO,
    polish: Annotated[
        bool, typer.Option("--polish", help="admm: a central last step, to violations of 1e-6.")
    ] = False,
    costs: CostsOption = None,
    unchecked: Annotated[
        bool,
        typer.Option(
            "--unchecked",
            help="Skip what takes minutes on large networks: whether noise alone would work, and "
            "what the restored network costs at best. O* is still computed without --costs.",
        ),
    ] = False,
    compare_central: Annotated[
        bool,
        typer.Option("--compare-central", help="Tell the distance to the central solution."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Study one draw: noise from a seed, then the fidelity phase. Not private, spends no budget.

    Exit status: 0 restored, 2 bad input, 3 not restored.

    Example: gridveil simulate case39_epri --alpha 0.1 --beta 0.01 --method bilevel
    """
    refuse_agent_options(context, method)
    network = load_case(case)
    limits = simulation_bounds(network) if bounds is None else read_bounds(bounds, network)
    chosen = make_mechanism(mechanism, epsilon, alpha, calibration=calibration.value, bounds=limits)
    share = float(exact(beta, "beta"))
    check_choices(
        share, method, band, AgentOptions(device=device) if method is Method.ADMM else None
    )
    with error_console.status(f"solving {network.name} …") as status:
        original = None
        if costs is None:
            original = _solved(network)
            public = original.generator_costs
        else:
            from gridveil.publication.costs import read_costs

            public = read_costs(costs, "the file given", network).values
        noisy = simulate_loads(network, chosen, seed)
        alone = None
        if not unchecked:
            status.update("solving the noisy network …")
            alone = solve_acopf(network.with_loads(noisy.p, noisy.q))
        status.update("restoring …")
        agents = None
        if method is Method.ADMM:
            agents = AgentOptions(
                policy=policy,
                max_iterations=max_iterations,
                tolerance=tolerance,
                time_limit=time_limit,
                polish=polish,
                checkpoint=checkpoint,
                progress=lambda now: status.update(
                    f"iteration {now.iteration}: primal {now.primal:.1e}, dual {now.dual:.1e}"
                ),
                notify=error_console.print,
                device=device,
                start=start,
            )
        restored = restore(network, noisy, public, share, method, band, agents)
        central = restore(network, noisy, public, share) if compare_central else None
        if not unchecked:
            status.update("solving the restored network …")
        figures = as_dict(case, original, alone, restored, central, unchecked)
    if as_json:
        print_json(figures)
    else:
        _print(figures, share, restored)
    if not restored.status.solved:
        raise typer.Exit(NOT_SOLVED)


def _solved(network: Network) -> OPFResult:
    """Return the AC-OPF of the network itself, or say that there is none."""
    original = solve_acopf(network)
    if not original.status.solved:
        raise GridveilError(
            f"{network.name} itself has no AC-OPF solution, so there are no costs to keep: "
            f"{original.diagnosis or original.status.value}"
        )
    return original


def as_dict(
    case: str,
    original: OPFResult | None,
    alone: OPFResult | None,
    restored: Restored,
    central: Restored | None = None,
    unchecked: bool = False,
) -> dict[str, Any]:
    """Return the figures of a study as JSON shows them; gaps are relative to O*."""
    cost, noisy = float(restored.costs.sum()), alone is not None and alone.status.solved
    reached = restored.status.solved or restored.agents is not None
    known = restored.checked is not None or not unchecked
    checked = reached and known and restored.opf.status.solved
    return {
        "case": case,
        "method": restored.method,
        "status": restored.status.name.lower(),
        "message": restored.status.value,
        "cost": cost,
        "acopf_seconds": None if original is None else original.solve_seconds,
        "displacement": restored.displacement if reached else None,
        "extra_displacement": restored.extra_displacement if reached else None,
        "cost_gap_dispatch": restored.cost_gap_dispatch if reached else None,
        "cost_gap_opf": restored.cost_gap_opf if checked else None,
        "worst_generator_gap": restored.worst_generator_gap if reached else None,
        "worst_generator_gap_opf": restored.worst_generator_gap_opf if checked else None,
        "noisy_feasible": None if alone is None else noisy,
        "noisy_cost_gap": relative_gap(alone.cost, cost) if alone and noisy else None,
        "max_violation": restored.max_violation,
        "solves": restored.solves,
        "seconds": restored.seconds,
        **_agents_dict(restored),
        **_comparison(restored, central),
    }


def _agents_dict(restored: Restored) -> dict[str, Any]:
    run = restored.agents
    if run is None:
        return {}
    return {
        "agents_status": run.status.name.lower(),
        "device": run.device.value,
        "primal": run.primal,
        "dual": run.dual,
        "iterations": run.iterations,
        "iterations_per_second": run.iterations_per_second,
    }


def _comparison(restored: Restored, central: Restored | None) -> dict[str, Any]:
    """Return how far the loads are from those the central solver finds, in p.u."""
    if central is None or not central.status.solved:
        return {"distance_to_central": None, "central_displacement": None}
    apart = restored.network.loads.values - central.network.loads.values
    return {
        "distance_to_central": float(np.linalg.norm(apart)),
        "central_displacement": central.displacement,
    }


def _print(figures: dict[str, Any], beta: float, restored: Restored) -> None:
    console.print("simulation, not private: float noise from a seed", style="yellow")
    console.print(restored.status.value, style="green" if restored.status.solved else "bold red")
    noisy = (
        f"feasible, cost off by {figures['noisy_cost_gap']:+.2%}"
        if figures["noisy_feasible"]
        else "AC-infeasible"
    )
    if figures["noisy_feasible"] is not None:
        console.print(f"noise alone: {noisy}")
    if figures["displacement"] is not None:
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
    if figures["distance_to_central"] is not None:
        console.print(
            f"{figures['distance_to_central']:.2g} p.u. from the central solution, which moved "
            f"loads by {figures['central_displacement']:.4f}"
        )
    if restored.agents is not None and restored.agents.iterations:
        console.print(
            f"{figures['iterations']} iterations on the {_PLACES[restored.agents.device]}, "
            f"residuals {figures['primal']:.1e} (primal) and {figures['dual']:.1e} (dual); the "
            f"agents: {restored.agents.status.value}"
        )
    solved = figures["acopf_seconds"]
    before = "" if solved is None else f", after {solved:.2f} s for the AC-OPF that gave O*"
    console.print(f"{restored.solves} solves in {restored.seconds:.2f} s{before}", style="dim")
