"""The quantities by name: a line for each of ours; other packages add theirs by entry points."""

from gridveil.privacy.calibration import Number
from gridveil.privacy.hide import Hide
from gridveil.privacy.quantities.base import ProtectedQuantity
from gridveil.privacy.quantities.log_laplace import LogLaplace
from gridveil.registry import Registry

QUANTITIES: Registry[ProtectedQuantity] = Registry(
    "quantity",
    "gridveil.quantities",
    ProtectedQuantity,  # type: ignore[type-abstract]
    {
        "impedances": "gridveil.privacy.quantities.impedances:Impedances",
        "ratings": "gridveil.privacy.quantities.ratings:Ratings",
        "costs": "gridveil.privacy.quantities.costs:Costs",
        "limits": "gridveil.privacy.quantities.limits:Limits",
    },
)


def protect(quantity: str, epsilon: Number, hide: Hide | str) -> LogLaplace:
    """Return the promise that hides a change of a quantity of lines or generators.

    Args:
        quantity: One of `QUANTITIES.names`.
        epsilon: The budget ε of each circuit or generator.
        hide: How large a change of each of its numbers, all of them together: "10%".

    Raises:
        GridveilError: There is no such quantity, or no such promise.

    Example:
        >>> promise = protect("impedances", 1, "10%")
        >>> round(promise.guarantee().distance, 4), promise.quantity.coordinates
        (0.2859, ('r', 'x', 'b'))
    """
    return LogLaplace.hiding(QUANTITIES.get(quantity), epsilon, hide)
