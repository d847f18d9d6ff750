"""`gridveil solve`: the AC optimal power flow of a case."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from gridveil.cli.exit_codes import NOT_SOLVED
from gridveil.cli.options import CaseArgument, DeviceOption, SolverOption
from gridveil.cli.output import console, print_json, solver_progress
from gridveil.cli.reading import PublicInjectionsOption, read_network
from gridveil.errors import GridveilError
from gridveil.network.marginal_costs import with_marginal_costs
from gridveil.opf.acopf import OPFResult, solve_acopf

_NO_COSTS = (
    "no generator costs: this is the proportional dispatch, with units in the same share of their "
    "range as far as limits allow (marginal costs can be given with --costs)"
)
_SHOWN = 12
"""How many rows of a table are shown."""


def solve(
    case: CaseArgument,
    save_costs: Annotated[
        Path | None,
        typer.Option(help="Write each generator's cost O* to this CSV, for --costs elsewhere."),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(help="Marginal costs in $/MWh, a CSV: generator or fuel, marginal_cost."),
    ] = None,
    public_injections: PublicInjectionsOption = "",
    solver: SolverOption = None,
    device: DeviceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Find the cheapest AC-feasible dispatch of a network (AC-OPF, the paper's Model 1).

    A network without costs gets a proportional one: units in the same share of their range, as far
    as limits allow.

    Exit status: 0 solved, 2 bad input, 3 infeasible or not solved.

    Example: gridveil solve case39_epri
    """
    network = read_network(case, public_injections)
    if costs is not None:
        network = with_marginal_costs(network, costs)
    if save_costs is not None and not network.has_costs:
        raise GridveilError(f"--save-costs: {network.name} has no generator costs")
    with solver_progress(f"solving {network.name}") as watch:
        result = solve_acopf(network, watch=watch, solver=solver, device=device)
    if save_costs is not None and result.status.solved:
        from gridveil.publication.costs import write_costs

        write_costs(save_costs, network, result.generator_costs)
    if as_json:
        print_json({"case": case, **result.figures()})
    else:
        _print(result)
    if not result.status.solved:
        raise typer.Exit(NOT_SOLVED)


def _print(result: OPFResult) -> None:
    network = result.network
    console.print(
        Text.assemble(
            (network.name, "bold"),
            ": " + ", ".join(f"{count} {kind}" for kind, count in network.counts.items()),
        )
    )
    if len(network.idle_loads):
        console.print(
            f"loads out of service, which draw nothing here: {len(network.idle_loads)}; --json "
            "lists them",
            style="yellow",
            highlight=False,
        )
    console.print(result.status.value, style="green" if result.status.solved else "bold red")
    if result.status.solved:
        _print_solution(result)
    elif result.diagnosis is not None:
        _print_diagnosis(result)
    if result.stepped_in:
        console.print(
            f"the interior-point method did not get there, and {result.solver.name} stepped in",
            style="yellow",
        )
    worst = max(vars(result.violations).items(), key=lambda item: item[1])
    console.print(
        f"largest violation {result.max_violation:.1e} p.u. ({worst[0].replace('_', ' ')}); "
        f"{result.iterations} iterations of {result.solver}; built in "
        f"{result.build_seconds:.3f} s, solved in {result.solve_seconds:.2f} s",
        style="dim",
    )


def _print_solution(result: OPFResult) -> None:
    network, mva = result.network, result.network.base_mva
    gens, point = network.generators, result.point
    priced = network.has_costs
    if priced:
        console.print(Text.assemble("cost ", (f"{result.cost:,.2f}", "bold"), " $/h"))
    else:
        console.print(_NO_COSTS, style="yellow")
    table = _table("generator", "MW", "of at most", "MVAr", *(("$/h", "price") if priced else ()))
    order = np.argsort(-(result.generator_costs if priced else point.p), kind="stable")
    for g in order[:_SHOWN]:
        costs = f"{result.generator_costs[g]:,.2f}", f"{result.active_price[gens.bus[g]]:,.2f}"
        table.add_row(
            network.generator_name(g),
            f"{point.p[g] * mva:,.1f}",
            f"{gens.p_max[g] * mva:,.1f}",
            f"{point.q[g] * mva:,.1f}",
            *(costs if priced else ()),
        )
    _print_cut(table, len(gens), "generators")

    loading = result.loading
    table = _table("most loaded lines", "MVA", "of at most", "loading")
    for line in np.argsort(-loading, kind="stable")[:5]:
        rate = network.lines.rate[line] * mva
        table.add_row(
            network.line_name(line),
            f"{max(abs(result.flow_from[line]), abs(result.flow_to[line])) * mva:,.1f}",
            f"{rate:,.1f}" if np.isfinite(rate) else "no limit",
            f"{loading[line]:.0%}" if np.isfinite(rate) else "",
        )
    console.print(table)

    low, high = np.argmin(point.v), np.argmax(point.v)
    prices = result.active_price
    of_prices = f"; prices {prices.min():,.2f} to {prices.max():,.2f} $/MWh" if priced else ""
    console.print(
        f"voltages {point.v[low]:.4f} ({network.bus_name(low)}) to {point.v[high]:.4f} "
        f"({network.bus_name(high)}) p.u.{of_prices}"
    )


def _print_diagnosis(result: OPFResult) -> None:
    assert result.diagnosis is not None
    mva = result.network.base_mva
    for lack, total in result.diagnosis.lacks.items():
        console.print(f"• {lack.value}: {total * mva:,.1f} MVA in all")
    table = _table("least excess over the limits")
    for excess in result.diagnosis.excesses[:_SHOWN]:
        table.add_row(excess.sentence)
    _print_cut(table, len(result.diagnosis.excesses), "components")


def _table(first: str, *numbers: str) -> Table:
    table = Table()
    table.add_column(first, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def _print_cut(table: Table, count: int, what: str) -> None:
    console.print(table)
    if count > _SHOWN:
        console.print(f"… and {count - _SHOWN} more {what}", style="dim")
