"""The public costs O*_g that a release aims for, and where they come from.

They say something about the loads, so a release never takes them silently: they were published
elsewhere, or they are computed from the raw loads and declared as not protected, or they are bought
with part of the budget, which pays for a private total of all loads.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.bands import limit_bands
from gridveil.fidelity.central import nearest_loads
from gridveil.files import csv_bytes, read_rows, write_atomically
from gridveil.network.network import Network
from gridveil.opf.acopf import solve_acopf
from gridveil.privacy.phase import NoisyLoads
from gridveil.privacy.total import NoisyTotal
from gridveil.publication.statements import COSTS_BOUGHT, COSTS_DERIVED, COSTS_PUBLISHED

DERIVED_SOURCE = "computed from the raw loads by AC-OPF; not protected by the noise"
COLUMNS = ("generator", "cost")


class Provenance(StrEnum):
    """Where public costs come from."""

    PUBLISHED = COSTS_PUBLISHED
    DERIVED = COSTS_DERIVED
    BOUGHT = COSTS_BOUGHT


@dataclass(frozen=True, eq=False)
class PublicCosts(ArrayRecord):
    """O*_g of every generator, in $/h, and where they come from.

    Example:
        >>> import numpy as np
        >>> from gridveil import PublicCosts
        >>> PublicCosts.published(np.array([1200.0, 800.0]), "annual report, page 3").values.sum()
        np.float64(2000.0)
    """

    values: FloatArray
    provenance: Provenance
    source: str
    """In words."""

    @classmethod
    def published(cls, values: ArrayLike, source: str) -> "PublicCosts":
        """Return costs that were published; `source` says where."""
        if not source.strip():
            raise GridveilError(
                "--costs-source (costs_source in Python): say where these costs were published"
            )
        try:
            numbers = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise GridveilError("costs: one number for each generator expected") from None
        return cls(numbers, Provenance.PUBLISHED, source)

    def derived_digest(self) -> str:
        """Return a digest, to six digits, of costs computed from raw loads; empty for others."""
        if self.provenance is not Provenance.DERIVED:
            return ""
        rounded = ",".join(f"{value:.6e}" for value in self.values)
        return hashlib.sha256(rounded.encode()).hexdigest()


CostsLike = PublicCosts | ArrayLike | str | Path
"""Public costs: ready made, an array in the order of the generators, or a CSV file."""


def as_public_costs(costs: CostsLike, source: str, network: Network) -> PublicCosts:
    """Return public costs given in any form; `source` says where numbers or a file come from."""
    if isinstance(costs, PublicCosts):
        return costs
    if isinstance(costs, str | Path):
        return read_costs(Path(costs), source, network)
    return PublicCosts.published(costs, source)


def given_costs(costs: CostsLike | None, source: str, network: Network) -> PublicCosts | None:
    """Return public costs if any are given; refuse a source without them."""
    if costs is not None:
        return as_public_costs(costs, source, network)
    if source:
        raise GridveilError(
            "--costs-source (costs_source in Python): means something with --costs only"
        )
    return None


def derived_costs(network: Network) -> PublicCosts:
    """Return the costs of the network's own AC-OPF: a function of the raw loads, not protected."""
    result = solve_acopf(network)
    if not result.status.solved:
        raise GridveilError(
            f"{network.name} itself has no AC-OPF solution, so there are no costs to keep; "
            "'gridveil solve' shows its owner why"
        )
    return PublicCosts(result.generator_costs, Provenance.DERIVED, DERIVED_SOURCE)


def bought_costs(network: Network, noisy: NoisyLoads, total: NoisyTotal) -> PublicCosts:
    """Return the costs of a network like the true one, as far as private numbers tell.

    Its loads are the private ones, moved alike so that they add up to the private total, and then
    to the nearest that work. Nothing here sees the raw loads; `network` may be blank.
    """
    gap = np.array([total.p - noisy.p.sum(), total.q - noisy.q.sum()]) / len(noisy.p)
    loads = np.stack([noisy.p, noisy.q], axis=1) + gap
    like, _, _ = nearest_loads(network, loads, limit_bands(network.generators), None)
    if not like.status.solved:
        raise GridveilError(
            f"no working network was found near the private one: {like.status.value}"
        )
    result = solve_acopf(network.with_loads(like.p, like.q))
    if not result.status.solved:
        raise GridveilError(
            f"the network near the private one has no AC-OPF: {result.status.value}"
        )
    return PublicCosts(result.generator_costs, Provenance.BOUGHT, bought_source(total.epsilon))


def bought_source(epsilon: float | Fraction) -> str:
    """Say where bought costs come from."""
    return (
        "computed from the private loads and a private total load, which cost ε = "
        f"{float(epsilon):g} of this release; protected like the loads"
    )


def read_costs(path: Path, source: str, network: Network) -> PublicCosts:
    """Read a CSV file with the columns generator (its row in the case file, from 1) and cost."""
    rows = (network.generators.row + 1).tolist()
    found: dict[int, float] = {}
    for place, line in read_rows(path, COLUMNS):
        generator, cost = _number(place, "generator", line), _number(place, "cost", line)
        if generator not in rows:
            raise GridveilError(
                f"{place}: no generator {generator:g} in service; generators are named by their "
                "row in the case file, from 1"
            )
        if generator in found:
            raise GridveilError(f"{place}: generator {generator:g} stands there twice")
        found[int(generator)] = cost
    lacking = [row for row in rows if row not in found]
    if lacking:
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise GridveilError(
            f"{path}: no cost for generator {lacking[0]} (its row in the case file){more}"
        )
    return PublicCosts.published([found[row] for row in rows], source)


def write_costs(path: Path, network: Network, costs: FloatArray) -> None:
    """Write costs as `read_costs` reads them."""
    rows = zip((network.generators.row + 1).tolist(), costs.tolist(), strict=True)
    write_atomically(path, csv_bytes(COLUMNS, rows))


def _number(place: str, name: str, line: Mapping[str, str | None]) -> float:
    """Return a finite number from a line of a file."""
    text = line[name]
    try:
        number = float(text or "")
    except ValueError:
        raise GridveilError(f"{place}: {name} must be a number, not {text or ''!r}") from None
    if not np.isfinite(number):
        raise GridveilError(f"{place}: {name} must be a finite number")
    return number
