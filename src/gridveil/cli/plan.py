"""`gridveil plan`: what a release will look like, before anything is spent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gridveil.cli.display import display
from gridveil.cli.grouped import grouped
from gridveil.cli.options import (
    IDLE_LEFT_OUT,
    AgentFlags,
    CaseArgument,
    CostsOption,
    CostsSourceOption,
    DeclarePublicOption,
    DeviceOption,
    DispatchOption,
    DispatchSourceOption,
    FidelityOptions,
    IdleLoadsOption,
    LedgerOption,
    NewRegisterOption,
    NoiseOptions,
    RegisterOption,
    SolverOption,
)
from gridveil.cli.output import console, print_json
from gridveil.cli.reading import PublicInjectionsOption, read_network
from gridveil.cli.release_options import DisplayOptions


@dataclass(frozen=True)
class ForecastOptions:
    """What is simulated, and what the release would take its costs and budget from."""

    loads_from: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="own|public",
            help="own: your raw loads; the forecast is private. public: loads made up from public "
            "ratings and limits; nothing depends on yours.",
        ),
    ] = "own"
    draws: Annotated[int, typer.Option(help="Releases that are simulated for each setting.")] = 20
    seed: Annotated[int, typer.Option(help="Of the simulated noise.")] = 1
    quick: Annotated[
        bool, typer.Option("--quick", help="Restore nothing: figures of the noise alone.")
    ] = False
    costs: CostsOption = None
    costs_source: CostsSourceOption = ""
    dispatch: DispatchOption = None
    dispatch_source: DispatchSourceOption = ""
    declare_public: DeclarePublicOption = None
    cost_budget: Annotated[
        str | None, typer.Option(help="Part of ε that buys a private total load, for private O*.")
    ] = None
    idle_loads: IdleLoadsOption = IDLE_LEFT_OUT
    ledger: LedgerOption = None
    register: RegisterOption = None
    new_register: NewRegisterOption = None


@grouped
def plan(
    context: typer.Context,
    case: CaseArgument,
    noise: NoiseOptions,
    fidelity: FidelityOptions,
    agents: AgentFlags,
    simulated: ForecastOptions,
    shown: DisplayOptions,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Also write the forecast as a page (HTML)."),
    ] = None,
    public_injections: PublicInjectionsOption = "",
    solver: SolverOption = None,
    device: DeviceOption = None,
) -> None:
    """Forecast a release by simulation: how good its loads and costs will be. Spends nothing.

    Exit status: 0 done, 2 bad input or not enough budget.

    Examples:
    gridveil plan case14_ieee --hide 10%

    gridveil plan case14_ieee --hide 5MVA --epsilon 2 --quick

    """
    network = read_network(case, public_injections, quiet=shown.quiet)
    with display(shown.mode, agents.max_iterations) as progress:
        options = agents.options(context, fidelity.method, progress.agents, progress.notice)
        from gridveil.publication.planning import plan as forecast

        chosen = {**vars(simulated), "declare_public": simulated.declare_public or ()}
        outlook = forecast(
            network,
            **vars(noise),
            **vars(fidelity),
            **chosen,
            agents=options,
            solver=solver,
            device=device,
            notify=progress.phase,
        )
    if output is not None:
        from gridveil.publication.report.forecast_page import write_forecast

        write_forecast(output, outlook)
    if shown.as_json:
        print_json(outlook.figures())
    elif not shown.quiet:
        first, *lines = repr(outlook).splitlines()
        style = "bold red" if outlook.is_private else "green"
        console.print(first, style=style, highlight=False)
        console.print("\n".join(lines), highlight=False, soft_wrap=True)
