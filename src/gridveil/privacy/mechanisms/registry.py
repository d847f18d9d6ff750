"""Mechanisms by name."""

from enum import StrEnum

from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.calibration import Number
from gridveil.privacy.mechanisms.base import AuditableMechanism
from gridveil.privacy.mechanisms.piecewise import PaperOrSound, Piecewise
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace


class MechanismName(StrEnum):
    """The mechanisms, by their names on the command line."""

    POLAR_LAPLACE = "polar-laplace"
    PRODUCT_LAPLACE = "product-laplace"
    PIECEWISE = "piecewise"


class Calibrations(StrEnum):
    """The two calibrations of the piecewise mechanism."""

    PAPER = "paper"
    SOUND = "sound"


def make_mechanism(
    name: str,
    epsilon: Number,
    alpha: Number,
    *,
    calibration: PaperOrSound = "sound",
    bounds: PublicBounds | None = None,
    step: Number | None = None,
) -> AuditableMechanism:
    """Make a mechanism from its name, ε, and α in p.u.; the piecewise one needs public bounds."""
    if name == MechanismName.POLAR_LAPLACE:
        return PolarLaplace.of(epsilon, alpha, step)
    if name == MechanismName.PRODUCT_LAPLACE:
        return ProductLaplace.of(epsilon, alpha, step)
    if name == MechanismName.PIECEWISE:
        if bounds is None:
            raise GridveilError(
                "the piecewise mechanism needs public bounds of every load, from a published source"
            )
        return Piecewise.of(epsilon, alpha, bounds, calibration, step)
    raise GridveilError(f"no mechanism named {name!r}; there are {', '.join(MechanismName)}")
