"""The costs O*_g that a release aims for, and where they come from.

They say something about the loads, so that no release takes them silently. By default they are
private: computed from the private loads, which is post-processing. Where part of the budget bought
a private total load, the loads are first moved to fit it. Else they were published elsewhere, or
the owner declares public what was computed from the raw loads.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.fidelity.projection import projected_loads
from gridveil.files import csv_bytes, read_rows, write_atomically
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.nonlinear_program import Iteration
from gridveil.publication.statements import (
    COSTS_DERIVED,
    COSTS_PRIVATE,
    COSTS_PUBLISHED,
    DERIVED_SOURCE,
    cost_digits,
    private_source,
    rounded,
)

COLUMNS = ("generator", "cost")
DECLARABLE = "costs"
"""What an owner can declare public although it was computed from raw loads."""
_MARGINS = (0.02, 0.002, 0.0)
"""By which limits are tightened before private loads are projected; the first that works counts."""
_MOST_ITERATIONS = 500
"""Of an AC-OPF of private loads: no network of PGLib takes more than 385."""


class Provenance(StrEnum):
    """Where the costs O* come from."""

    PRIVATE = COSTS_PRIVATE
    PUBLISHED = COSTS_PUBLISHED
    DERIVED = COSTS_DERIVED


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
    derived_digest: str = ""
    """A digest, to six digits, of costs computed from raw loads; empty for others."""

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

    def for_beta(self, beta: float) -> "PublicCosts":
        """Return them to no more digits than β can use; costs that were published stay."""
        if self.provenance is Provenance.PUBLISHED:
            return self
        return replace(self, values=rounded(self.values, cost_digits(beta)))


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


def cost_provenance(
    costs: CostsLike | None, source: str, declare_public: Collection[str] | str
) -> Provenance:
    """Return where costs come from, or refuse what does not fit together.

    Args:
        costs: Known costs, "private", "derived", or None for "private".
        source: Where known costs were published.
        declare_public: What the owner declares public: "costs", which "derived" needs.
    """
    named = "private" if costs is None else costs if isinstance(costs, str) else ""
    if isinstance(costs, PublicCosts):
        named = costs.provenance
    known = named not in (Provenance.PRIVATE, Provenance.DERIVED)
    if source and not known:
        raise GridveilError(
            "--costs-source (costs_source in Python): means something with known --costs only"
        )
    declared = {declare_public} if isinstance(declare_public, str) else set(declare_public)
    unknown = sorted(declared - {DECLARABLE})
    if unknown:
        raise GridveilError(
            f"--declare-public (declare_public in Python): {unknown[0]!r} is not {DECLARABLE!r}"
        )
    if named == Provenance.DERIVED and not declared:
        raise GridveilError(
            "--costs derived publishes costs computed from the raw loads, which no noise protects: "
            "whoever knows all other loads can compute a load from them. If these costs are public "
            "anyway, say so with '--declare-public costs' (declare_public=\"costs\" in Python); "
            "without --costs they are computed from the private loads"
        )
    if declared and named != Provenance.DERIVED:
        raise GridveilError(
            "--declare-public (declare_public in Python): means something with --costs derived only"
        )
    return Provenance.PUBLISHED if known else Provenance(named)


def derived_costs(network: Network) -> PublicCosts:
    """Return the costs of the network's own AC-OPF: a function of the raw loads, not protected."""
    result = solve_acopf(network)
    if not result.status.solved:
        raise GridveilError(
            f"{network.name} itself has no AC-OPF solution, so there are no costs to keep; "
            "'gridveil solve' shows its owner why"
        )
    costs = result.generator_costs
    digits = ",".join(f"{value:.6e}" for value in costs)
    digest = hashlib.sha256(digits.encode()).hexdigest()
    return PublicCosts(costs, Provenance.DERIVED, DERIVED_SOURCE, digest)


def private_costs(
    network: Network,
    loads: FloatArray,
    cost_budget: float | Fraction,
    weights: FloatArray | None = None,
    limits: LoadLimits | None = None,
) -> tuple[PublicCosts, FloatArray]:
    """Return the costs of an AC-OPF of the private loads, or of the nearest that have one.

    Nothing here sees a raw load; `network` may be blank.

    Args:
        network: The network, without its loads.
        loads: The private loads in p.u., of shape (loads, 2), a bought total taken into account.
        cost_budget: What the total took of ε; 0 without one.
        weights: How much the squared distance of each load counts; None for all alike.
        limits: Public limits that the loads keep, and those near them.

    Returns:
        The costs, and the loads that cost so much.
    """
    counted = np.ones(len(loads)) if weights is None else weights
    result = _opf_near(network, loads, counted, limits)
    source = private_source(float(cost_budget))
    costs = PublicCosts(result.generator_costs, Provenance.PRIVATE, source)
    return costs, result.network.loads.values


def _opf_near(
    network: Network, loads: FloatArray, weights: FloatArray, limits: LoadLimits | None
) -> OPFResult:
    """Return an AC-OPF of loads; where there is none, of loads projected into tighter limits."""
    result = solve_acopf(network.with_loads(*loads.T), watch=_goes_on)
    for margin in _MARGINS:
        if result.status.solved:
            break
        near = projected_loads(network, loads, margin, weights, limits)
        if near.status.solved:
            nearer = network.with_loads(near.p, near.q)
            result = solve_acopf(nearer, start=near.point, watch=_goes_on)
    if not result.status.solved:
        raise GridveilError(
            f"no working network was found near the private one: {result.status.value}"
        )
    return result


def _goes_on(iteration: Iteration) -> bool:
    """Whether to go on; loads that no limit fits can cost thousands of iterations."""
    return iteration.number < _MOST_ITERATIONS


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
