"""The methods by name: a line for each of ours; other packages add theirs by entry points."""

from gridveil.admm.options import AgentOptions
from gridveil.defaults import METHOD, METHOD_WITHOUT_COSTS
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, FidelityMethod
from gridveil.registry import Registry

METHODS: Registry[FidelityMethod] = Registry(
    "method",
    "gridveil.methods",
    FidelityMethod,  # type: ignore[type-abstract]
    {
        "central": "gridveil.fidelity.central:Central",
        "bilevel": "gridveil.fidelity.bilevel:Bilevel",
        "admm": "gridveil.fidelity.agents:Agents",
    },
)


def make_method(
    method: FidelityMethod | str | None,
    agents: AgentOptions | None = None,
    band: BandKind = BandKind.COST,
) -> FidelityMethod:
    """Return a method given by name or as an object.

    Args:
        method: One of `METHODS.names`, or a method; None takes the default of the band.
        agents: Options of the agents, for a method by name that has agents.
        band: What stays within β.
    """
    if method is None:
        method = METHOD if band.on_costs else METHOD_WITHOUT_COSTS
    if isinstance(method, str):
        return METHODS.get(method).with_options(agents)
    if not isinstance(method, FidelityMethod):
        raise GridveilError(
            "method: a name or an object of a subclass of gridveil.FidelityMethod expected, not "
            f"{type(method).__name__}"
        )
    if agents is not None:
        raise GridveilError("agents: a method given as an object has its options already")
    return method


def band_kind(band: BandKind | str) -> BandKind:
    """Return a kind of band by name, or say which there are."""
    try:
        return BandKind(band)
    except ValueError:
        raise GridveilError(f"band: {band!r} is none of {', '.join(BandKind)}") from None
