"""Arguments and options that several commands have, said once."""

from pathlib import Path
from typing import Annotated

import typer

from gridveil.admm.device import Device
from gridveil.privacy.choose import Calibrations, MechanismName

CaseArgument = Annotated[str, typer.Argument(help="A name from 'gridveil cases', or a .m file.")]
EpsilonOption = Annotated[str, typer.Option(help="Privacy budget ε.")]
AlphaOption = Annotated[str, typer.Option(help="Distance α of loads hard to tell, in p.u.")]
BetaOption = Annotated[str, typer.Option(help="How far costs may be off, relatively.")]
MechanismOption = Annotated[MechanismName, typer.Option(help="The privacy mechanism.")]
CalibrationOption = Annotated[Calibrations, typer.Option(help="Of the piecewise mechanism.")]
CostsOption = Annotated[
    Path | None,
    typer.Option(help="Published costs O*, a CSV: generator, cost. Else from the raw loads."),
]
DeviceOption = Annotated[
    Device, typer.Option(help="admm: where agents run; auto takes a GPU if there is one.")
]
CostsSourceOption = Annotated[str, typer.Option(help="Where those costs were published.")]
