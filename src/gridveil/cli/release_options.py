"""Options of `gridveil release` that other commands do not have."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gridveil.cli.display import Mode
from gridveil.cli.options import (
    IDLE_LEFT_OUT,
    AcceptMatchOption,
    CostsOption,
    CostsSourceOption,
    DeclarePublicOption,
    DeviceOption,
    DispatchOption,
    DispatchSourceOption,
    IdleLoadsOption,
    JsonOption,
    LedgerOption,
    NewRegisterOption,
    RegisterOption,
    SolverOption,
    options_from_file,
)


@dataclass(frozen=True)
class ReleaseOptions:
    """What only a release has."""

    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The folder to make; must not exist yet.")
    ] = None
    accept_unsound: Annotated[
        bool,
        typer.Option("--accept-unsound", help="Use a calibration that does not keep its ε."),
    ] = False
    costs: CostsOption = None
    costs_source: CostsSourceOption = ""
    dispatch: DispatchOption = None
    dispatch_source: DispatchSourceOption = ""
    declare_public: DeclarePublicOption = None
    cost_budget: Annotated[
        str | None,
        typer.Option(
            help="Part of ε that buys a private total load, for private O*; 0 for none. Else the "
            "plan chooses."
        ),
    ] = None
    keep: Annotated[
        str | None,
        typer.Option(
            help="Publish of the source file as they stand: names, comments, sections (separated "
            "by commas). No noise protects what they say."
        ),
    ] = None
    accept_match: AcceptMatchOption = None
    load_buses: Annotated[
        Path | None,
        typer.Option(help="Public list of load buses, one number a line; else those with a load."),
    ] = None
    idle_loads: IdleLoadsOption = IDLE_LEFT_OUT
    release_id: Annotated[
        str | None,
        typer.Option(help="Name of the draw; the same id never draws or charges again."),
    ] = None
    ledger: LedgerOption = None
    register: RegisterOption = None
    new_register: NewRegisterOption = None
    sign: Annotated[Path | None, typer.Option(help="Sign with this Ed25519 private key (PEM).")] = (
        None
    )
    solver: SolverOption = None
    device: DeviceOption = None
    config: Annotated[
        Path | None,
        typer.Option(
            help="Take options from this TOML file.", callback=options_from_file, is_eager=True
        ),
    ] = None
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan; nothing is drawn or spent.")
    ] = False
    private_report: Annotated[
        bool,
        typer.Option(
            "--private-report",
            help="Also make OUTPUT-private, a report with raw loads: not to be published.",
        ),
    ] = False


@dataclass(frozen=True)
class PostProcessingOptions:
    """What is done to private loads; it costs no privacy."""

    consumers: Annotated[
        str | None,
        typer.Option(
            metavar="all|FILE",
            help="Keep the active power of these loads at 0 or more: all, or a list of their "
            "buses, one number a line. You declare it in public.",
        ),
    ] = None
    power_factor: Annotated[
        str | None,
        typer.Option(
            help="The lowest power factor that consumers have, lagging or leading. You declare it "
            "in public."
        ),
    ] = None
    correct_bias: Annotated[
        bool,
        typer.Option("--correct-bias", help="Correct private loads for the bias of their mean."),
    ] = False


@dataclass(frozen=True)
class DisplayOptions:
    """How much is shown meanwhile."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False
    plain: Annotated[
        bool, typer.Option("--plain", help="Show progress as plain lines, for a log.")
    ] = False
    as_json: JsonOption = False

    @property
    def mode(self) -> Mode:
        """How progress is shown."""
        return Mode.QUIET if self.quiet else Mode.PLAIN if self.plain else Mode.LIVE
