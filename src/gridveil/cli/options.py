"""Arguments and options that several commands have, said once."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from gridveil import defaults
from gridveil.admm.options import AgentOptions, Progress
from gridveil.admm.policy import Policy
from gridveil.admm.start import Start
from gridveil.device import Device, as_device
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.registry import METHODS, band_kind
from gridveil.network.library import list_cases
from gridveil.opf.solvers import Solver
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.registry import Registry


def registry_option(registry: Registry[Any], text: str, show_default: bool | str = True) -> Any:
    """Return an option that takes the names of a registry."""

    def parse(name: str) -> str:
        if name not in registry:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(registry.names)}")
        return name

    return typer.Option(
        help=f"{text} One of {', '.join(registry.names)}.",
        parser=parse,
        metavar="NAME",
        autocompletion=lambda: list(registry.names),
        show_default=show_default,
    )


def _case_names(incomplete: str) -> list[str]:
    """Return the names of cases that begin so; a shell offers files where there are none."""
    try:
        return [case.name for case in list_cases() if case.name.startswith(incomplete)]
    except GridveilError:
        return []


def _band(name: str) -> BandKind:
    """Return a band by its name, also that of versions up to 0.3."""
    try:
        return band_kind(name)
    except GridveilError as error:
        raise typer.BadParameter(str(error)) from None


def _device(name: str) -> Device:
    """Return a device by its name, also that of versions up to 0.3."""
    try:
        return as_device(name)
    except GridveilError as error:
        raise typer.BadParameter(str(error)) from None


CaseArgument = Annotated[
    str,
    typer.Argument(
        help="A name from 'gridveil cases', or a case file.", autocompletion=_case_names
    ),
]
EpsilonOption = Annotated[str, typer.Option(help="Privacy budget ε.")]
AlphaOption = Annotated[
    str | None,
    typer.Option(help="The same as --hide, as the paper says it: a distance α in p.u."),
]
HideOption = Annotated[
    str | None,
    typer.Option(
        metavar="10%|5MVA|20%rating",
        help="The change of a load that is hidden: a part of each load, MVA, or a part of each "
        "load's public rating.",
        show_default=defaults.HIDE,
    ),
]
FloorOption = Annotated[
    str | None,
    typer.Option(
        metavar="1MVA",
        help="For --hide in %: the load below which per cent turn into a fixed amount.",
        show_default="by public numbers",
    ),
]
BetaOption = Annotated[
    str,
    typer.Option(help="How far costs may be off, relatively, or outputs, as a share of ranges."),
]
MechanismOption = Annotated[
    str | None, registry_option(MECHANISMS, "The privacy mechanism; by what is hidden if none.")
]
CalibrationOption = Annotated[
    str, typer.Option(help="Of a mechanism that has several: sound, or as the paper prints it.")
]
MethodOption = Annotated[
    str | None,
    registry_option(
        METHODS,
        "bilevel: the optimal cost in its band; central: that of a dispatch; admm: agents. For "
        "the bands dispatch and none central, if none is named.",
        show_default=defaults.METHOD,
    ),
]
BandOption = Annotated[
    BandKind | None,
    typer.Option(
        parser=_band,
        metavar="|".join(BandKind),
        help="What stays within beta: the cost of each generator, their total, or each output; "
        "none promises nothing about the dispatch. A network without costs has dispatch.",
        show_default=defaults.BAND,
        autocompletion=lambda: list(BandKind),
    ),
]
CostsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|private|derived",
        help="The costs O*: private, computed from the private loads (what holds without it); "
        "known ones in $/h, a CSV: generator (its row in the case file, from 1), cost; or derived, "
        "computed from the raw loads, with --declare-public costs. Or cost functions: a CSV of "
        "generator or fuel, and marginal_cost in $/MWh.",
    ),
]
DispatchOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|private|derived",
        help="For --band dispatch, the outputs p*: private (what holds without it); known ones in "
        "MW, a CSV: generator (its row in the case file, from 1), p_mw; or derived, computed from "
        "the raw loads, with --declare-public dispatch.",
    ),
]
DispatchSourceOption = Annotated[str, typer.Option(help="Where that dispatch was published.")]
KnownCostsOption = Annotated[
    Path | None,
    typer.Option(
        help="Known costs O* in $/h, a CSV: generator (its row in the case file, from 1), cost. "
        "Else computed by an AC-OPF."
    ),
]
DeclarePublicOption = Annotated[
    list[str] | None,
    typer.Option(
        "--declare-public",
        help="costs or dispatch: you declare public what --costs derived, or --dispatch derived, "
        "computes from the raw loads.",
    ),
]
CostsSourceOption = Annotated[str, typer.Option(help="Where those costs were published.")]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="FILE|ADDRESS",
        help="The ledger: a file, or postgresql://ROLE@HOST/DATABASE; GRIDVEIL_LEDGER or a file in "
        "your data folder if none.",
    ),
]
RegisterOption = Annotated[
    str | None,
    typer.Option(help="The register of the ledger that has these loads, where it asks."),
]
NewRegisterOption = Annotated[
    str | None,
    typer.Option(help="Open a register of this name: these are other loads than any it knows."),
]
IDLE_LEFT_OUT = "leave-out"
IdleLoadsOption = Annotated[
    str,
    typer.Option(
        metavar="leave-out|release",
        help="Loads that are out of service: leave them out, or protect and release them too.",
    ),
]
AcceptMatchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accept-match", help="A match of the last scan that is a coincidence, by its name."
    ),
]
SolverOption = Annotated[
    Solver | None,
    typer.Option(
        help="What solves central programs; auto, if nothing is said, takes the faster one for "
        "the size of the network, and Ipopt where the other one does not get there.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
DeviceOption = Annotated[
    Device | None,
    typer.Option(
        parser=_device,
        metavar="cpu|gpu|auto",
        help="Where agents run and the interior-point method solves: cpu, if nothing is said; gpu "
        "is an NVIDIA GPU; auto takes one for what is large enough, if it is there.",
        show_default="cpu",
        autocompletion=lambda: list(Device),
    ),
]


@dataclass(frozen=True)
class NoiseOptions:
    """How loads are protected."""

    epsilon: EpsilonOption = defaults.EPSILON
    hide: HideOption = None
    floor: FloorOption = None
    ratings: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|sn_mva",
            help="Public ratings for --hide 20%rating, a CSV: bus, rating_mva; or that column of a "
            "pandapower net. Each is published.",
        ),
    ] = None
    ratings_source: Annotated[str, typer.Option(help="Where the ratings were published.")] = ""
    alpha: AlphaOption = None
    mechanism: MechanismOption = None
    calibration: CalibrationOption = defaults.CALIBRATION
    bounds: Annotated[
        Path | None,
        typer.Option(help="Public bounds, a CSV: for a mechanism that needs them, or to clamp to."),
    ] = None


@dataclass(frozen=True)
class FidelityOptions:
    """How the fidelity phase is solved."""

    beta: BetaOption = defaults.BETA
    method: MethodOption = None
    band: BandOption = None


@dataclass(frozen=True)
class AgentFlags:
    """How agents run, for a method that has agents."""

    policy: Annotated[
        Policy, typer.Option(help="admm: how penalties change; paper reproduces the paper.")
    ] = Policy.FAST
    max_iterations: Annotated[int, typer.Option(help="admm: iterations at most.")] = (
        defaults.MAX_ITERATIONS
    )
    tolerance: Annotated[
        float, typer.Option(help="admm: largest primal and dual residual, in p.u.")
    ] = defaults.TOLERANCE
    time_limit: Annotated[float, typer.Option(help="admm: seconds of iterating at most.")] = (
        math.inf
    )
    checkpoint: Annotated[
        Path | None, typer.Option(help="admm: a file to keep the run in, and to go on from.")
    ] = None
    polish: Annotated[
        bool | None,
        typer.Option(
            help="admm: a central last step, to the 1e-6 p.u. that a release must keep; releases "
            "take it unless told otherwise.",
            show_default=False,
        ),
    ] = None
    start: Annotated[
        Start,
        typer.Option(
            help="admm: set out from a flat network, or from a power flow of the noisy loads; auto "
            "does so for 1,000 lines or more."
        ),
    ] = Start.AUTO

    def options(
        self,
        context: typer.Context,
        method: str | None,
        progress: Callable[[Progress], None],
        notify: Callable[[str], None],
    ) -> AgentOptions | None:
        """Return the options of the agents; None, and none may be given, where there are none."""
        if method is None or not METHODS.get(method).has_agents:
            _refuse(context, tuple(vars(self)), "--method admm")
            return None
        return AgentOptions(
            policy=self.policy,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
            time_limit=self.time_limit,
            polish=self.polish,
            checkpoint=self.checkpoint,
            progress=progress,
            notify=notify,
            start=self.start,
        )


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line or in a file of options."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in ("COMMANDLINE", "DEFAULT_MAP")


def _refuse(context: typer.Context, names: tuple[str, ...], needed: str) -> None:
    """Refuse options, given on the command line or in a file, that mean nothing here."""
    for option in context.command.params:
        if option.name in names and is_given(context, option.name):
            raise GridveilError(f"{option.opts[0]}: means something with {needed} only")


def options_from_file(context: typer.Context, path: Path | None) -> Path | None:
    """Take options from a TOML file as if they stood on the command line, which comes first."""
    from gridveil.files import read_toml

    if path is None:
        return None
    spelled = {
        name.lstrip("-").replace("-", "_"): option.name
        for option in context.command.params
        for name in option.opts
        if name.startswith("--")
    }
    spelled["case"] = "case"
    values: dict[str, Any] = {}
    for name, value in read_toml(path).items():
        option = spelled.get(name.replace("-", "_"))
        if option is None or option == "config":
            command = context.command.name
            raise GridveilError(
                f"{path}: no option named {name!r}; see 'gridveil {command} --help'"
            )
        values[option] = value if isinstance(value, bool | list) else str(value)
    context.default_map = {**(context.default_map or {}), **values}
    return path
