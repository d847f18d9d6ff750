"""The mechanisms by name: a line for each of ours; other packages add theirs by entry points."""

from gridveil.defaults import CALIBRATION
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.calibration import Number
from gridveil.privacy.mechanisms.base import Mechanism, MechanismSettings
from gridveil.registry import Registry

MECHANISMS: Registry[Mechanism] = Registry(
    "mechanism",
    "gridveil.mechanisms",
    Mechanism,  # type: ignore[type-abstract]
    {
        "polar-laplace": "gridveil.privacy.mechanisms.polar_laplace:PolarLaplace",
        "product-laplace": "gridveil.privacy.mechanisms.product_laplace:ProductLaplace",
        "relative-laplace": "gridveil.privacy.mechanisms.relative_laplace:RelativeLaplace",
        "rated-laplace": "gridveil.privacy.mechanisms.rated_laplace:RatedLaplace",
        "piecewise": "gridveil.privacy.mechanisms.piecewise:Piecewise",
    },
)


def make_mechanism(
    name: str,
    epsilon: Number,
    alpha: Number,
    *,
    calibration: str = CALIBRATION,
    bounds: PublicBounds | None = None,
    step: Number | None = None,
    floor: Number | None = None,
) -> Mechanism:
    """Make a mechanism from its name.

    Args:
        name: One of `MECHANISMS.names`.
        epsilon: The budget ε.
        alpha: The distance α: in p.u., or a part of the load if relative (1/10 is 10 %).
        calibration: For a mechanism that has several: "sound", or "paper" as printed there.
        bounds: Public bounds of the loads, for a mechanism that needs them.
        step: The grid step, if not the mechanism's own choice.
        floor: Of a relative distance: the load in p.u. below which it becomes an absolute one.

    Example:
        >>> make_mechanism("product-laplace", 1, 0.1).guarantee().epsilon
        1.0
    """
    kind = MECHANISMS.get(name)
    if calibration not in (kind.calibrations or (CALIBRATION,)):
        known = ", ".join(kind.calibrations) or f"{CALIBRATION} alone"
        raise GridveilError(f"calibration: {calibration!r} is none of mechanism {name!r}: {known}")
    return kind.from_settings(MechanismSettings(epsilon, alpha, step, bounds, calibration, floor))
