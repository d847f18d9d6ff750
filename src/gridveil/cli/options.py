"""Arguments and options that several commands have, said once."""

from pathlib import Path
from typing import Annotated

import typer

from gridveil.admm.device import Device
from gridveil.admm.start import Start
from gridveil.errors import GridveilError
from gridveil.fidelity.registry import Method
from gridveil.privacy.mechanisms.registry import Calibrations, MechanismName

CaseArgument = Annotated[str, typer.Argument(help="A name from 'gridveil cases', or a .m file.")]
EpsilonOption = Annotated[str, typer.Option(help="Privacy budget ε.")]
AlphaOption = Annotated[str, typer.Option(help="Distance α of loads hard to tell, in p.u.")]
BetaOption = Annotated[str, typer.Option(help="How far costs may be off, relatively.")]
MechanismOption = Annotated[MechanismName, typer.Option(help="The privacy mechanism.")]
CalibrationOption = Annotated[Calibrations, typer.Option(help="Of the piecewise mechanism.")]
CostsOption = Annotated[
    Path | None,
    typer.Option(
        help="Known costs O* in $/h, a CSV: generator (its row in the case file, from 1), cost. "
        "Else computed from the raw loads."
    ),
]
DeviceOption = Annotated[
    Device,
    typer.Option(
        help="admm: where to compute; cuda is an NVIDIA GPU, auto takes one for 1,000 lines or "
        "more, if it is there."
    ),
]
StartOption = Annotated[
    Start,
    typer.Option(
        help="admm: set out from a flat network, or from a power flow of the noisy loads; auto "
        "does so for 1,000 lines or more."
    ),
]
_OF_AGENTS = (
    "policy", "max_iterations", "tolerance", "time_limit", "checkpoint", "polish", "device",
    "start",
)  # fmt: skip
CostsSourceOption = Annotated[str, typer.Option(help="Where those costs were published.")]


def refuse_agent_options(context: typer.Context, method: Method) -> None:
    """Refuse options of the agents, given on the command line or in a file, that mean nothing."""
    given = [
        option.opts[0]
        for option in context.command.params
        if option.name in _OF_AGENTS
        and (source := context.get_parameter_source(option.name)) is not None
        and source.name in ("COMMANDLINE", "DEFAULT_MAP")
    ]
    if given and method is not Method.ADMM:
        raise GridveilError(f"{given[0]}: means something with --method admm only")
