"""`gridveil release`: the whole chain, from a network to a folder that can be published."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from gridveil.cli.display import display
from gridveil.cli.grouped import grouped
from gridveil.cli.interruption import leaving
from gridveil.cli.options import (
    AgentFlags,
    CaseArgument,
    FidelityOptions,
    NoiseOptions,
)
from gridveil.cli.output import console, print_json
from gridveil.cli.reading import PublicInjectionsOption, read_network
from gridveil.cli.release_options import DisplayOptions, PostProcessingOptions, ReleaseOptions
from gridveil.cli.series_release import SeriesOptions, refuse_without_series, release_series
from gridveil.errors import GridveilError
from gridveil.files import read_bus_list
from gridveil.opf.solvers import using

if TYPE_CHECKING:
    from gridveil.publication.certificate import Certificate
    from gridveil.publication.plan import ReleasePlan

_NOTHING = "nothing was drawn or charged"


@grouped
def release(
    context: typer.Context,
    case: CaseArgument,
    noise: NoiseOptions,
    fidelity: FidelityOptions,
    agents: AgentFlags,
    processing: PostProcessingOptions,
    choices: ReleaseOptions,
    series: SeriesOptions,
    shown: DisplayOptions,
    public_injections: PublicInjectionsOption = "",
) -> None:
    """Make a certified private release of a network: a folder that can be published.

    Exit status: 0 released, 2 bad input or not enough budget, 3 the fidelity phase failed.

    Examples:
    gridveil release case39_epri --epsilon 1 --alpha 0.1 --beta 0.01 -o out

    gridveil release mine.m --method admm --sign key.pem -o out

    gridveil release mine.m --config release.toml --dry-run

    gridveil release mine.m --series loads.parquet --hide 5MVA --epsilon 2 -o out

    """
    plan: ReleasePlan | None = None

    def left_behind() -> str:
        return _NOTHING if plan is None else plan.left_behind(choices.ledger)

    buses = None if choices.load_buses is None else read_bus_list(choices.load_buses)
    network = read_network(case, public_injections, buses, shown.quiet)
    if series.series is not None:
        release_series(
            context, network, noise, fidelity, agents, processing, choices, series, shown
        )
        return
    refuse_without_series(context)
    showing = display(shown.mode, agents.max_iterations)
    with using(choices.solver, choices.device), leaving(left_behind), showing as progress:
        options = agents.options(context, fidelity.method, progress.agents, progress.notice)
        # What takes long to import, or needs keys that may be wrong, comes before the draw.
        from gridveil.publication.folder import write_folder
        from gridveil.publication.plan import plan_release
        from gridveil.publication.report.private_page import private_page
        from gridveil.publication.signing import read_private_key

        key = None if choices.sign is None else read_private_key(choices.sign)
        plan = plan_release(
            network,
            **vars(noise),
            **vars(fidelity),
            **vars(processing),
            accept_unsound=choices.accept_unsound,
            agents=options,
            costs=choices.costs,
            costs_source=choices.costs_source,
            dispatch=choices.dispatch,
            dispatch_source=choices.dispatch_source,
            declare_public=choices.declare_public or (),
            cost_budget=choices.cost_budget,
            keep=choices.keep or (),
            accept_matches=choices.accept_match or (),
            idle_loads=choices.idle_loads,
            release_id=choices.release_id,
            register=choices.register,
            new_register=choices.new_register,
            ledger=choices.ledger,
        )
        if not choices.dry_run:
            for warning in plan.warnings:
                progress.notice(warning)
            output = _checked_folder(choices)
            made = plan.run(choices.ledger, key=key, notify=progress.phase)
            made.save(output)
            if choices.private_report:
                assert made.noisy is not None
                released = made.published.network
                page = private_page(plan.network, made.noisy, released, made.certificate)
                write_folder(_private_folder(output), {"report.html": page}, private=True)
    if choices.dry_run:
        if shown.as_json:
            print_json(plan.figures())
        else:
            console.print(repr(plan), highlight=False)
        return
    if shown.as_json:
        print_json({"folder": str(output), **made.certificate.model_dump(mode="json")})
    elif not shown.quiet:
        _print_release(made.certificate, output, choices.private_report, plan.charge.is_drawn)


def _checked_folder(choices: ReleaseOptions) -> Path:
    """Return the folder to make; refuse, before anything is drawn, one that cannot be written."""
    from gridveil.publication.folder import check_writable

    if choices.output is None:
        raise GridveilError("-o: name the folder to make")
    check_writable(choices.output)
    if choices.private_report:
        check_writable(_private_folder(choices.output))
    return choices.output


def _print_release(
    certificate: "Certificate", output: Path, private_report: bool, was_drawn: bool
) -> None:
    fidelity, protection = certificate.fidelity, certificate.protection
    if was_drawn:
        console.print(
            f"with the noise drawn at {certificate.drawn_at} under this release id: nothing was "
            "drawn or charged again (another --release-id draws anew)",
            style="yellow",
            highlight=False,
        )
    console.print(
        Text.assemble(
            ("released", "bold green"), f" to {output} (release id {certificate.release_id})"
        )
    )
    console.print(
        certificate.statement, style="green" if certificate.private_as_a_whole else "bold red"
    )
    console.print(protection.promise)
    if certificate.post_processing is not None:
        console.print(" ".join(certificate.post_processing.sentences))
    feasible = f"AC-feasible to {fidelity.max_violation:.0e} p.u."
    if certificate.costs is None:
        source = "" if certificate.dispatch is None else f", {certificate.dispatch.source}"
        console.print(f"{feasible}; {fidelity.headline}{source}")
    else:
        console.print(
            f"{feasible}; cost of its dispatch {fidelity.cost_gap_dispatch:+.3%}, of its optimal "
            f"dispatch {fidelity.cost_gap_optimal:+.3%} against O*, {certificate.costs.source}"
        )
        if certificate.costs.true_cost is not None:
            console.print(certificate.costs.true_cost.meaning)
    console.print(f"each load has spent ε = {protection.cumulative_epsilon:g} up to this draw")
    if private_report:
        console.print(
            f"{_private_folder(output)} contains raw data, do not publish",
            style="bold red",
            highlight=False,
        )
    console.print(f"check it with: gridveil verify {output}", style="dim")


def _private_folder(output: Path) -> Path:
    """Return the folder for raw data: beside the release, so that nobody publishes it with it."""
    return output.with_name(f"{output.name}-private")
