"""What can be chosen about a release, checked: the mechanism, the part of ε for costs, the id."""

import hashlib
from collections.abc import Callable
from fractions import Fraction

from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.choice import NoiseChoice
from gridveil.privacy.ledger.owner import network_id
from gridveil.privacy.mechanisms.base import Mechanism, check_mechanism
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.privacy.mechanisms.rated_laplace import RatedLaplace
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.privacy.metric import Metric
from gridveil.privacy.ratings import PublicRatings
from gridveil.privacy.total import total_id
from gridveil.publication.cost_share import CostShare, best_share, cost_shares
from gridveil.publication.targets import Provenance

PRIVATE_COSTS_ONLY = (
    "costs, cost budget: only private costs or a private dispatch use a part of ε; drop one of both"
)


def default_id(
    network: Network,
    mechanism: Mechanism,
    provenance: Provenance,
    cost_budget: Fraction,
    band: BandKind = BandKind.COST,
) -> str:
    """Return the id of a release without one: the same network and parameters draw once.

    What is computed from raw loads has an id of its own for a dispatch.
    """
    source = str(float(cost_budget)) if cost_budget else provenance.value
    if provenance is Provenance.DERIVED and not band.on_costs:
        source += f" {band.value}"
    listed = network.listed_loads
    if listed.number.max(initial=1) > 1 or network.lists_idle_loads:
        source += f" of {listed.places}"
    text = f"{network_id(network)} {mechanism.specification()} {source}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{network.name}-{digest}"


def mechanism_maker(
    network: Network,
    mechanism: Mechanism | str | None,
    choice: NoiseChoice,
    epsilon: Number | None,
) -> Callable[[Fraction], Mechanism]:
    """Return what makes the mechanism of the loads for an ε; an object has its own."""
    if isinstance(mechanism, str | None):
        return lambda for_loads: choice.make(network, for_loads)
    check_mechanism(mechanism)
    _check_own_parameters(epsilon, choice)
    known = checked_name(mechanism)
    return lambda _: known


def cost_budget_of(
    asked: Number | None,
    provenance: Provenance,
    mechanism: Mechanism | str | None,
    make: Callable[[Fraction], Mechanism],
    epsilon: Fraction,
    network: Network,
    band: BandKind,
) -> tuple[Fraction, tuple[CostShare, ...]]:
    """Return the part of ε that buys a total: what was asked for, or the best share."""
    uses_total = provenance is Provenance.PRIVATE and band is not BandKind.NONE
    if asked is not None:
        budget = exact(asked, "cost budget")
        if budget < 0:
            raise GridveilError(f"cost budget: {asked} must be 0 or more")
        if not budget:
            return budget, ()
        if not uses_total:
            raise GridveilError(PRIVATE_COSTS_ONLY)
        if not isinstance(mechanism, str | None):
            raise GridveilError(
                "cost budget: it is a part of ε; give the mechanism by name, with the whole ε"
            )
        if budget >= epsilon:
            raise GridveilError(
                f"cost budget: {float(budget):g} must be below ε = {float(epsilon):g}, of which it "
                "is a part"
            )
        return budget, ()
    if not uses_total or not isinstance(mechanism, str | None):
        return Fraction(0), ()
    guarantee = make(epsilon).guarantee()
    if guarantee.kind is not Metric.ABSOLUTE:
        return Fraction(0), ()
    shares = cost_shares(make, epsilon, guarantee.largest_distance, len(network.loads))
    best = best_share(shares)
    return (Fraction(0) if best is None else best.share * epsilon), shares


def _check_own_parameters(epsilon: Number | None, choice: NoiseChoice) -> None:
    """Refuse parameters beside a mechanism that is an object and has its own."""
    if choice.bounds is not None:
        raise GridveilError("bounds: clamp a mechanism given as an object with gridveil.Clamped")
    if epsilon is not None or choice != NoiseChoice():
        raise GridveilError(
            "epsilon, alpha, hide, floor, ratings, calibration: a mechanism given as an object has "
            "its own"
        )


def checked_name(mechanism: Mechanism) -> Mechanism:
    """Refuse a mechanism that bears the name of another one of the registry."""
    inner = mechanism.mechanism if isinstance(mechanism, Clamped) else mechanism
    if inner.name in MECHANISMS and not isinstance(inner, MECHANISMS.get(inner.name)):
        raise GridveilError(
            f"mechanism {inner.name!r}: another mechanism is registered under this name"
        )
    return mechanism


def declared_ratings(mechanism: Mechanism) -> PublicRatings | None:
    """Return the public ratings of loads, if the mechanism goes by them."""
    inner = mechanism.mechanism if isinstance(mechanism, Clamped) else mechanism
    return inner.ratings if isinstance(inner, RatedLaplace) else None


def total_distance(mechanism: Mechanism) -> float:
    """Return the distance α at which a total is bought: that of the mechanism, if it has one."""
    guarantee = mechanism.guarantee()
    alpha = guarantee.largest_distance
    if alpha is None or guarantee.kind is not Metric.ABSOLUTE:
        raise GridveilError(
            "costs can be bought with a mechanism only that has a distance in MVA, such as "
            "polar-laplace or product-laplace"
        )
    return alpha


def check_release_id(release_id: object) -> None:
    """Refuse a release id that the ledger or a certificate could not hold."""
    if not isinstance(release_id, str):
        raise GridveilError(f"release id: a text expected, not {type(release_id).__name__}")
    if not release_id.strip():
        raise GridveilError("a release needs an id")
    if not release_id.isprintable():
        raise GridveilError("a release id must be printable text")
    if release_id.endswith(total_id("")):
        raise GridveilError(f"release id: {release_id!r} is kept for totals; choose another")
