"""`gridveil simulate`: a seeded, non-private study of one draw through both phases."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gridveil.cli.exit_codes import NOT_SOLVED
from gridveil.cli.grouped import grouped
from gridveil.cli.options import (
    AgentFlags,
    CaseArgument,
    DeviceOption,
    FidelityOptions,
    JsonOption,
    KnownCostsOption,
    NoiseOptions,
    SolverOption,
)
from gridveil.cli.output import console, error_console, print_json
from gridveil.cli.reading import PublicInjectionsOption, read_network
from gridveil.device import Device
from gridveil.opf.solvers import using

if TYPE_CHECKING:
    from gridveil.experiments.simulate import Simulation

_PLACES = {Device.CPU: "CPU", Device.GPU: "GPU"}


@dataclass(frozen=True)
class StudyOptions:
    """What only a simulation has."""

    seed: Annotated[int, typer.Option(help="The draw.")] = 1
    solver: SolverOption = None
    device: DeviceOption = None
    costs: KnownCostsOption = None
    unchecked: Annotated[
        bool,
        typer.Option(
            "--unchecked",
            help="Skip what takes minutes on large networks: whether noise alone would work, and "
            "what the restored network costs at best. O* is still computed without --costs.",
        ),
    ] = False
    compare_central: Annotated[
        bool,
        typer.Option("--compare-central", help="Tell the distance to the central solution."),
    ] = False


@grouped
def simulate(
    context: typer.Context,
    case: CaseArgument,
    noise: NoiseOptions,
    fidelity: FidelityOptions,
    agents: AgentFlags,
    study: StudyOptions,
    public_injections: PublicInjectionsOption = "",
    as_json: JsonOption = False,
) -> None:
    """Study one draw: noise from a seed, then the fidelity phase. Not private, spends no budget.

    Exit status: 0 restored, 2 bad input, 3 not restored.

    Example: gridveil simulate case39_epri --alpha 0.1 --beta 0.01 --method bilevel
    """
    from gridveil.experiments.simulate import simulate as run_simulation

    network = read_network(case, public_injections)
    with using(study.solver, study.device), error_console.status("starting …") as status:
        options = agents.options(
            context,
            fidelity.method,
            lambda now: status.update(
                f"iteration {now.iteration}: primal {now.primal:.1e}, dual {now.dual:.1e}"
            ),
            error_console.print,
        )
        result = run_simulation(
            network,
            **vars(noise),
            **vars(fidelity),
            **vars(study),
            agents=options,
            notify=lambda phase: status.update(f"{phase} …"),
        )
        status.update("solving the restored network …")
        figures = {"case": case, **result.figures()}
    if as_json:
        print_json(figures)
    else:
        _print(figures, result)
    if not result.restored.status.solved:
        raise typer.Exit(NOT_SOLVED)


def _print(figures: dict[str, Any], result: "Simulation") -> None:
    restored = result.restored
    console.print("simulation, not private: float noise from a seed", style="yellow")
    console.print(restored.status.value, style="green" if restored.status.solved else "bold red")
    off, feasible = figures["noisy_cost_gap"], figures["noisy_feasible"]
    about = "" if off is None else f", cost off by {off:+.2%}"
    noisy = f"feasible{about}" if feasible else "AC-infeasible"
    if figures["noisy_feasible"] is not None:
        console.print(f"noise alone: {noisy}")
    if figures["displacement"] is not None:
        console.print(
            f"loads moved by {figures['displacement']:.4f} p.u. in all; largest violation "
            f"{figures['max_violation']:.1e} p.u."
        )
    if figures["largest_deviation"] is not None:
        console.print(
            f"outputs within {figures['largest_deviation']:.3%} of their range of the dispatch p*"
        )
    if figures["cost_gap_dispatch"] is not None:
        console.print(
            f"cost of the dispatch found {figures['cost_gap_dispatch']:+.3%} (worst generator "
            f"{figures['worst_generator_gap']:.3%})"
        )
    if figures["cost_gap_optimal"] is not None:
        within = abs(figures["cost_gap_optimal"]) <= result.beta
        console.print(
            f"optimal cost of the restored network {figures['cost_gap_optimal']:+.3%}, "
            f"{'within' if within else 'OUTSIDE'} β = {result.beta:g}",
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
    seconds = figures["acopf_seconds"]
    before = (
        "" if seconds is None else f", after {seconds:.2f} s for the AC-OPF of the network itself"
    )
    solves = f" by {restored.solves} solves" if restored.solves else ""
    console.print(f"restored{solves} in {restored.seconds:.2f} s{before}", style="dim")
