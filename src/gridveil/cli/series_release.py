"""`gridveil release --series`: options of a release of load series, and how it runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from gridveil.cli.display import Display, display
from gridveil.cli.interruption import leaving
from gridveil.cli.options import AgentFlags, FidelityOptions, NoiseOptions, is_given
from gridveil.cli.output import console, print_json
from gridveil.cli.release_options import DisplayOptions, PostProcessingOptions, ReleaseOptions
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.opf.solvers import using

if TYPE_CHECKING:
    from gridveil.publication.series.make import SeriesRelease
    from gridveil.publication.series.plan import SeriesPlan

_NOTHING = "nothing was drawn or charged"
_SNAPSHOT_ONLY = (
    "floor", "alpha", "mechanism", "calibration", "bounds", "accept_unsound", "costs",
    "costs_source", "dispatch", "dispatch_source", "declare_public", "cost_budget", "keep",
    "idle_loads", "correct_bias", "private_report", "checkpoint",
)  # fmt: skip
_SHOWN = 5


@dataclass(frozen=True)
class SeriesOptions:
    """What only a release of load series has."""

    series: Annotated[
        Path | None,
        typer.Option(
            help="Release the loads hour by hour: profiles as CSV or Parquet, a pandapower net "
            "with profiles, or a folder of PyPSA."
        ),
    ] = None
    promise: Annotated[
        str,
        typer.Option(
            metavar="day|energy|window",
            help="series: what is hidden: changes within any 24 hours, any amount of energy, or "
            "changes in all hours.",
        ),
    ] = "day"
    time_zone: Annotated[
        str | None,
        typer.Option(help="series: where the clock stood that its times were read off."),
    ] = None
    average: Annotated[
        bool, typer.Option("--average", help="series: average steps shorter than an hour.")
    ] = False
    first_step: Annotated[
        str | None,
        typer.Option(help="series: when step 0 begins, where times are numbers of steps."),
    ] = None
    step_minutes: Annotated[int, typer.Option(help="series: how long such a step is.")] = 60
    profile_power_factor: Annotated[
        float | None,
        typer.Option(help="series: a public power factor, for loads without reactive power."),
    ] = None
    prior: Annotated[
        Path | None,
        typer.Option(
            help="series: public profiles to smooth with, CSV or Parquet: time, and for each "
            "customer NAME_p and NAME_q in shares of its rating. Else made-up ones."
        ),
    ] = None
    total_share: Annotated[
        str | None,
        typer.Option(
            help="series: the part of ε that buys a private total of every hour, 0 for none. Else "
            "the plan chooses."
        ),
    ] = None
    ramps: Annotated[
        Path | None,
        typer.Option(
            help="series: ramp limits of generators, a CSV: generator (its row in the case file, "
            "from 1), ramp_mw an hour. Else those of the case file."
        ),
    ] = None
    csv: Annotated[
        bool, typer.Option("--csv", help="series: write loads.csv beside loads.parquet.")
    ] = False
    accept_useless: Annotated[
        bool,
        typer.Option(
            "--accept-useless",
            help="series: release what is further off than what is known without any data.",
        ),
    ] = False
    workers: Annotated[
        int, typer.Option(help="series: processes; -1 is one per core. Results do not differ.")
    ] = -1


def refuse_without_series(context: typer.Context) -> None:
    """Refuse options of series where there is none."""
    _refuse(context, tuple(SeriesOptions.__dataclass_fields__), "with --series")


def release_series(
    context: typer.Context,
    network: Network,
    noise: NoiseOptions,
    fidelity: FidelityOptions,
    agents: AgentFlags,
    processing: PostProcessingOptions,
    choices: ReleaseOptions,
    series: SeriesOptions,
    shown: DisplayOptions,
) -> None:
    """Plan and run the release of a series, or show its plan."""
    _refuse(context, _SNAPSHOT_ONLY, "without --series")
    plan: SeriesPlan | None = None

    def left_behind() -> str:
        return _NOTHING if plan is None else plan.left_behind(choices.ledger)

    showing = display(shown.mode, agents.max_iterations)
    with using(choices.solver, choices.device), leaving(left_behind), showing as progress:
        from gridveil.privacy.series.prior_file import read_prior
        from gridveil.publication.folder import check_writable
        from gridveil.publication.series.plan import plan_series_release
        from gridveil.publication.series.state import state_folder
        from gridveil.publication.signing import read_private_key

        options = agents.options(context, fidelity.method, progress.agents, progress.notice)
        key = None if choices.sign is None else read_private_key(choices.sign)
        progress.phase("reading and planning")
        loads = _read(series, network, progress)
        prior = (
            None
            if series.prior is None
            else read_prior(series.prior, loads.first_hour, loads.hours, series.time_zone)
        )
        plan = plan_series_release(
            network,
            loads,
            prior=prior,
            promise=series.promise,
            epsilon=noise.epsilon,
            hide=noise.hide,
            ratings=noise.ratings,
            ratings_source=noise.ratings_source,
            **vars(fidelity),
            **{name: getattr(processing, name) for name in ("consumers", "power_factor")},
            agents=options,
            total_share=series.total_share,
            ramps=series.ramps,
            accept_useless=series.accept_useless,
            accept_matches=choices.accept_match or (),
            csv=series.csv,
            release_id=choices.release_id,
            register=choices.register,
            new_register=choices.new_register,
            ledger=choices.ledger,
        )
        if not choices.dry_run:
            if choices.output is None:
                raise GridveilError("-o: name the folder to make")
            for warning in plan.warnings:
                progress.notice(warning)
            check_writable(choices.output)
            state = state_folder(choices.output)
            made = plan.run(
                choices.ledger,
                key=key,
                state=state,
                workers=series.workers,
                notify=progress.phase,
                progress=progress.hours,
            )
            made.save(choices.output)
            made.remove_state()
    if choices.dry_run:
        if shown.as_json:
            print_json(plan.figures())
        else:
            console.print(repr(plan), highlight=False)
        return
    if shown.as_json:
        stated = made.certificate.model_dump(mode="json")
        print_json({"folder": str(choices.output), **stated})
    elif not shown.quiet:
        _print_release(made, choices.output, plan.charge.is_drawn)


def _read(series: SeriesOptions, network: Network, progress: Display) -> Any:
    from gridveil.network.series.reading import load_series

    loads = load_series(
        series.series,
        network,
        time_zone=series.time_zone,
        power_factor=series.profile_power_factor,
        average=series.average,
        start=series.first_step,
        step_minutes=series.step_minutes,
    )
    for note in loads.notes:
        progress.notice(f"note: {note}")
    return loads


def _refuse(context: typer.Context, names: tuple[str, ...], when: str) -> None:
    """Refuse options that were given and mean nothing here."""
    for option in context.command.params:
        if option.name in names and option.name != "series" and is_given(context, option.name):
            raise GridveilError(f"{option.opts[0]}: means something {when} only")


def _print_release(made: "SeriesRelease", output: Path | None, was_drawn: bool) -> None:
    certificate = made.certificate
    stated, protection, fidelity = certificate.series, certificate.protection, certificate.fidelity
    assert stated is not None
    if was_drawn:
        console.print(
            f"with the series drawn at {certificate.drawn_at} under this release id: nothing was "
            "drawn or charged again (another --release-id draws anew)",
            style="yellow",
            highlight=False,
        )
    console.print(
        Text.assemble(
            ("released", "bold green"), f" to {output} (release id {certificate.release_id})"
        )
    )
    console.print(certificate.statement, style="green")
    restored = stated.hours - len(stated.left_out)
    console.print(
        f"{restored} of {stated.hours} hours from {stated.first_hour}, each AC-feasible to "
        f"{fidelity.max_violation:.0e} p.u. in the worst; {fidelity.headline}"
    )
    if stated.left_out:
        named = ", ".join(stated.left_out[:_SHOWN])
        more = len(stated.left_out) - _SHOWN
        console.print(
            f"left out, as no network was found that works: {named}"
            + (f" and {more} more; hours.parquet has them all" if more > 0 else ""),
            style="yellow",
        )
    console.print(f"each load has spent ε = {protection.cumulative_epsilon:g} up to this draw")
    console.print(f"check it with: gridveil verify {output}", style="dim")
