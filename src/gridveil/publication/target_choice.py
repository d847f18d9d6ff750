"""Which band a release keeps and what it is around, from what its owner chose."""

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.defaults import BAND
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.fidelity.phase import check_has_costs
from gridveil.fidelity.registry import band_kind
from gridveil.network.marginal_costs import is_table_of_marginal_costs, with_marginal_costs
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult
from gridveil.publication.costs import (
    CostsLike,
    PublicCosts,
    as_public_costs,
    derived_costs,
    private_costs_of,
)
from gridveil.publication.dispatch import (
    DispatchLike,
    PublicDispatch,
    as_public_dispatch,
    derived_dispatch,
    private_dispatch_of,
)
from gridveil.publication.statements import derived_source, private_source
from gridveil.publication.targets import Provenance, Target, private_opf, provenance_of


@dataclass(frozen=True)
class TargetChoice:
    """A band, and what it is around."""

    network: Network
    """With the marginal costs of a table, if one was given."""
    band: BandKind
    provenance: Provenance
    """Private where the band is around nothing."""
    known: Target | None
    """Known costs or a known dispatch; None where it is computed when the plan runs."""


def choose_target(
    network: Network,
    band: BandKind | str | None,
    costs: CostsLike | None,
    costs_source: str,
    dispatch: DispatchLike | None,
    dispatch_source: str,
    declare_public: Collection[str] | str,
) -> TargetChoice:
    """Return the band and what it is around, or refuse what does not fit together.

    The arguments are those of `plan_release`. A file of marginal costs gives the network costs.
    """
    if gives_cost_functions(costs):
        network, costs = with_marginal_costs(network, Path(str(costs))), None
    kind = _band(network, band, costs is not None, dispatch is not None)
    for option, given, wanted in (
        ("costs", costs, kind.on_costs),
        ("dispatch", dispatch, kind is BandKind.DISPATCH),
    ):
        if given is not None and not wanted:
            raise GridveilError(
                f"--{option} ({option} in Python): the band {kind.value!r} has no use for it"
            )
    check_has_costs(network, kind)
    if kind is BandKind.DISPATCH:
        provenance = provenance_of(dispatch, dispatch_source, declare_public, "dispatch")
        _refuse_source("costs", costs_source)
    else:
        provenance = provenance_of(costs, costs_source, declare_public, "costs")
        _refuse_source("dispatch", dispatch_source)
    known: Target | None = None
    if provenance is Provenance.PUBLISHED and costs is not None:
        known = as_public_costs(costs, costs_source, network)
    if provenance is Provenance.PUBLISHED and dispatch is not None:
        known = as_public_dispatch(dispatch, dispatch_source, network)
    return TargetChoice(network, kind, provenance, known)


def check_fits_band(target: Target, band: BandKind) -> None:
    """Refuse costs for a band that is not on costs, and a dispatch for one that is."""
    wanted = {BandKind.DISPATCH: PublicDispatch, BandKind.NONE: None}.get(band, PublicCosts)
    if wanted is None or not isinstance(target, wanted):
        raise GridveilError(f"band {band.value!r}: it has no use for --{target.option}")


def derived_target(network: Network, band: BandKind) -> Target:
    """Return what a band is around, computed from the raw loads."""
    return derived_costs(network) if band.on_costs else derived_dispatch(network)


def unknown_target(
    network: Network, band: BandKind, provenance: Provenance, cost_budget: Fraction
) -> Target:
    """Return what stands for a target that is not yet computed: zeros, with its source."""
    proportional = not network.has_costs
    source = (
        derived_source(proportional)
        if provenance is Provenance.DERIVED
        else private_source(float(cost_budget), proportional)
    )
    made = PublicCosts if band.on_costs else PublicDispatch
    return made(np.zeros(len(network.generators)), provenance, source)


def private_target(
    network: Network,
    band: BandKind,
    loads: FloatArray,
    cost_budget: Fraction,
    weights: FloatArray,
    limits: LoadLimits | None,
) -> tuple[Target, OPFResult]:
    """Return what a band is around, computed from the private loads, and the AC-OPF it is of.

    See `private_opf` for the arguments.
    """
    result = private_opf(network, loads, weights, limits)
    made = private_costs_of if band.on_costs else private_dispatch_of
    return made(result, cost_budget), result


def _band(
    network: Network, band: BandKind | str | None, has_known_costs: bool, has_dispatch: bool
) -> BandKind:
    """Return the band asked for; without one, that of what was given and the network."""
    if band is not None:
        return band_kind(band)
    if has_dispatch or not (network.has_costs or has_known_costs):
        return BandKind.DISPATCH
    return BandKind(BAND)


def gives_cost_functions(costs: CostsLike | None) -> bool:
    """Return whether these are no costs O*, but a file of marginal costs."""
    words = (Provenance.PRIVATE, Provenance.DERIVED)
    is_file = isinstance(costs, Path) or (isinstance(costs, str) and costs not in words)
    return is_file and is_table_of_marginal_costs(Path(str(costs)))


def _refuse_source(option: str, source: str) -> None:
    if source:
        raise GridveilError(
            f"--{option}-source ({option}_source in Python): means something with known --{option} "
            "only"
        )
