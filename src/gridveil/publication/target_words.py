"""What a plan says of the costs O* or the dispatch p*: their source, and how near they stay."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from gridveil.fidelity.base import BandKind
from gridveil.network.network import Network
from gridveil.network.proportional import is_limited
from gridveil.publication.cost_share import CostShare, best_share
from gridveil.publication.statements import private_source, target_name
from gridveil.publication.targets import Provenance

_WITHOUT_COSTS = (
    "the network has no generator costs, so nothing is said of costs; marginal costs can be given "
    "with --costs FILE"
)


class Planned(Protocol):
    """What is said of a plan here."""

    @property
    def network(self) -> Network:
        """The network."""

    @property
    def band(self) -> BandKind:
        """What stays within β."""

    @property
    def beta(self) -> float:
        """By how much."""

    @property
    def provenance(self) -> Provenance:
        """Where what it is around comes from."""

    @property
    def cost_budget(self) -> Fraction:
        """The part of ε that buys a private total."""

    @property
    def shares(self) -> Sequence[CostShare]:
        """What other parts would give."""


def target_sentences(plan: Planned) -> Iterator[str]:
    """Say what the band is around and where that comes from, and why so much of ε buys a total."""
    if not plan.network.has_costs:
        yield _WITHOUT_COSTS
    if plan.band is BandKind.NONE:
        return
    name = target_name(plan.band.value)
    was = "were" if plan.band.on_costs else "was"
    by = "" if plan.network.has_costs else " by proportional dispatch"
    if plan.provenance is Provenance.PUBLISHED:
        yield f"{name} {was} published"
    elif plan.provenance is Provenance.DERIVED:
        made = f"computed from the raw loads{by}"
        yield f"{name} {_is(plan)} {made} and declared public, not protected"
    else:
        source = private_source(float(plan.cost_budget), not plan.network.has_costs)
        yield f"{name} {_is(plan)} {source}"
        yield from _shares(plan)
    yield from _widths(plan)


def held_to_nothing(network: Network, band: BandKind) -> tuple[str, ...]:
    """Warn of generators without limits, which a band on the dispatch holds to nothing."""
    if band is not BandKind.DISPATCH:
        return ()
    free = np.flatnonzero(~is_limited(network))
    if not len(free):
        return ()
    others = f" (and {len(free) - 1} more)" if len(free) > 1 else ""
    return (
        f"{network.generator_name(free[0])}{others} has no limits of active power: a share of its "
        "range means nothing, so its output may be any",
    )


def _is(plan: Planned) -> str:
    return "are" if plan.band.on_costs else "is"


def _widths(plan: Planned) -> Iterator[str]:
    """Say how far outputs may be from p*."""
    gens, limited = plan.network.generators, is_limited(plan.network)
    width = (gens.p_max - gens.p_min)[limited] * plan.network.base_mva
    room = plan.beta * width[width > 0]
    if plan.band is BandKind.DISPATCH and len(room):
        yield (
            f"  outputs stay within {plan.beta:g} of their range of p*: "
            f"±{room.min():.3g} to ±{room.max():.3g} MW"
        )


def _shares(plan: Planned) -> Iterator[str]:
    """Say what parts of ε for a private total would give."""
    chosen = best_share(plan.shares)
    if chosen is None:
        return
    base = plan.network.base_mva
    yield (
        f"  {float(chosen.share):.0%} of ε for a private total load: the smallest share "
        "that halves the error of the total"
        if chosen.share
        else "  no part of ε for a private total load: none tried halves its error"
    )
    for one in plan.shares:
        yield (
            f"  {float(one.share):.0%} of ε: total to {one.total_error * base:.0f} MW, "
            f"each load to {one.load_noise * base:.1f} MW (standard deviations of P)"
        )
