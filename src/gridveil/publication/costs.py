"""The costs O*_g that a release aims for, in $/h; see targets.py for where they come from."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from numpy.typing import ArrayLike

from gridveil.arrays import FloatArray
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.files import csv_bytes, write_atomically
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult
from gridveil.publication.statements import (
    cost_digits,
    derived_source,
    private_source,
    rounded,
)
from gridveil.publication.targets import (
    Provenance,
    Target,
    derived_digest,
    derived_opf,
    private_opf,
    read_by_generator,
)

COLUMNS = ("generator", "cost")


class PublicCosts(Target):
    """O*_g of every generator, in $/h, and where they come from.

    Example:
        >>> import numpy as np
        >>> from gridveil import PublicCosts
        >>> PublicCosts.published(np.array([1200.0, 800.0]), "annual report, page 3").values.sum()
        np.float64(2000.0)
    """

    option: ClassVar[str] = "costs"
    these: ClassVar[str] = "these costs were"

    def for_beta(self, beta: float, network: Network) -> "PublicCosts":
        """Return them to no more digits than β can use; costs that were published stay."""
        del network
        if self.provenance is Provenance.PUBLISHED:
            return self
        return replace(self, values=rounded(self.values, cost_digits(beta)))

    def for_fidelity(self, base_mva: float) -> FloatArray:
        """Return them in $/h."""
        del base_mva
        return self.values


CostsLike = PublicCosts | ArrayLike | str | Path
"""Costs O*: ready made, an array in the order of the generators, a CSV file, or one of the words
"private" and "derived"."""


def as_public_costs(costs: CostsLike, source: str, network: Network) -> PublicCosts:
    """Return known costs given in any form; `source` says where numbers or a file come from."""
    if isinstance(costs, PublicCosts):
        return costs
    if isinstance(costs, str | Path):
        return read_costs(Path(costs), source, network)
    return PublicCosts.published(costs, source)


def derived_costs(network: Network) -> PublicCosts:
    """Return the costs of the network's own AC-OPF: a function of the raw loads, not protected."""
    costs = derived_opf(network).generator_costs
    return PublicCosts(costs, Provenance.DERIVED, derived_source(), derived_digest(costs))


def private_costs(
    network: Network,
    loads: FloatArray,
    cost_budget: float | Fraction,
    weights: FloatArray | None = None,
    limits: LoadLimits | None = None,
) -> tuple[PublicCosts, FloatArray]:
    """Return the costs of an AC-OPF of the private loads, and the loads that cost so much.

    Args:
        network: See `private_opf`, and so are all others.
        loads: See there.
        cost_budget: What the total took of ε; 0 without one.
        weights: See there.
        limits: See there.
    """
    result = private_opf(network, loads, weights, limits)
    return private_costs_of(result, cost_budget), result.network.loads.values


def private_costs_of(result: OPFResult, cost_budget: float | Fraction) -> PublicCosts:
    """Return the costs of an AC-OPF of private loads."""
    source = private_source(float(cost_budget))
    return PublicCosts(result.generator_costs, Provenance.PRIVATE, source)


def read_costs(path: Path, source: str, network: Network) -> PublicCosts:
    """Read a CSV file with the columns generator (its row in the case file, from 1) and cost."""
    return PublicCosts.published(read_by_generator(path, "cost", network), source)


def write_costs(path: Path, network: Network, costs: FloatArray) -> None:
    """Write costs as `read_costs` reads them."""
    rows = zip((network.generators.row + 1).tolist(), costs.tolist(), strict=True)
    write_atomically(path, csv_bytes(COLUMNS, rows))
