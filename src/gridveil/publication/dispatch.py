"""The dispatch p*_g that a release keeps near, in MW; see targets.py for where it comes from.

It is the one of the AC-OPF: the cheapest, or the proportional one of a network without costs.
"""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from gridveil.arrays import FloatArray
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult
from gridveil.publication.statements import (
    derived_source,
    dispatch_rounded,
    private_source,
)
from gridveil.publication.targets import (
    Provenance,
    Target,
    derived_digest,
    derived_opf,
    private_opf,
    read_by_generator,
)


class PublicDispatch(Target):
    """p*_g of every generator, in MW, and where they come from.

    Example:
        >>> import numpy as np
        >>> from gridveil import PublicDispatch
        >>> PublicDispatch.published(np.array([120.0, 80.0]), "transparency platform").values.sum()
        np.float64(200.0)
    """

    option: ClassVar[str] = "dispatch"
    these: ClassVar[str] = "this dispatch was"

    def for_beta(self, beta: float, network: Network) -> "PublicDispatch":
        """Return it to no more digits than β can use; a dispatch that was published stays."""
        if self.provenance is Provenance.PUBLISHED:
            return self
        gens, base = network.generators, network.base_mva
        width = (gens.p_max - gens.p_min) * base
        return replace(self, values=dispatch_rounded(self.values, width, beta, base))

    def for_fidelity(self, base_mva: float) -> FloatArray:
        """Return it in p.u."""
        return np.asarray(self.values / base_mva)


DispatchLike = PublicDispatch | ArrayLike | str | Path
"""A dispatch p*: ready made, an array in the order of the generators, a CSV file, or one of the
words "private" and "derived"."""


def as_public_dispatch(dispatch: DispatchLike, source: str, network: Network) -> PublicDispatch:
    """Return a known dispatch given in any form; `source` says where it comes from."""
    if isinstance(dispatch, PublicDispatch):
        return dispatch
    if isinstance(dispatch, str | Path):
        return read_dispatch(Path(dispatch), source, network)
    return PublicDispatch.published(dispatch, source)


def derived_dispatch(network: Network) -> PublicDispatch:
    """Return the dispatch of the raw loads, which is not protected."""
    dispatch = derived_opf(network).point.p * network.base_mva
    source = derived_source(is_proportional=not network.has_costs)
    return PublicDispatch(dispatch, Provenance.DERIVED, source, derived_digest(dispatch))


def private_dispatch(
    network: Network,
    loads: FloatArray,
    cost_budget: float | Fraction,
    weights: FloatArray | None = None,
    limits: LoadLimits | None = None,
) -> tuple[PublicDispatch, FloatArray]:
    """Return the dispatch of the private loads, and the loads whose dispatch it is.

    Args:
        network: See `private_opf`, and so are all others.
        loads: See there.
        cost_budget: What the total took of ε; 0 without one.
        weights: See there.
        limits: See there.
    """
    result = private_opf(network, loads, weights, limits)
    return private_dispatch_of(result, cost_budget), result.network.loads.values


def private_dispatch_of(result: OPFResult, cost_budget: float | Fraction) -> PublicDispatch:
    """Return the dispatch of an AC-OPF of private loads."""
    network = result.network
    source = private_source(float(cost_budget), is_proportional=not network.has_costs)
    return PublicDispatch(result.point.p * network.base_mva, Provenance.PRIVATE, source)


def read_dispatch(path: Path, source: str, network: Network) -> PublicDispatch:
    """Read a CSV file with the columns generator (its row in the case file, from 1) and p_mw."""
    return PublicDispatch.published(read_by_generator(path, "p_mw", network), source)
