"""What a release holds generators to within β, and where it comes from: costs O* or a dispatch p*.

Either says something about the loads, so that no release takes it silently. By default it is
private: computed from the private loads, which is post-processing. Where part of the budget bought
a private total load, the loads are first moved to fit it. Else it was published elsewhere, or the
owner declares public what was computed from the raw loads.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError, NotSolvedError
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.fidelity.projection import projected_loads
from gridveil.files import finite_number, read_rows
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, attempted_acopf, solve_acopf
from gridveil.opf.nonlinear_program import Iteration
from gridveil.publication.statements import TARGET_DERIVED, TARGET_PRIVATE, TARGET_PUBLISHED

_MARGINS = (0.02, 0.002, 0.0)
"""By which limits are tightened before private loads are projected; the first that works counts."""
_MOST_ITERATIONS = 500
"""Of an AC-OPF of private loads, where no network of PGLib takes more than 385, or a projection."""


class Provenance(StrEnum):
    """Where costs O* or a dispatch p* come from."""

    PRIVATE = TARGET_PRIVATE
    PUBLISHED = TARGET_PUBLISHED
    DERIVED = TARGET_DERIVED


@dataclass(frozen=True, eq=False)
class Target(ArrayRecord, ABC):
    """A number for every generator that it is held to, and where these come from."""

    option: ClassVar[str]
    """How command line and Python call it."""
    these: ClassVar[str]
    """How messages call it, with a verb of the past."""

    values: FloatArray
    """In the units of its file."""
    provenance: Provenance
    source: str
    """In words."""
    derived_digest: str = ""
    """A digest, to six digits, of what was computed from raw loads; empty for others."""

    @classmethod
    def published(cls, values: ArrayLike, source: str) -> Self:
        """Return what was published; `source` says where."""
        if not source.strip():
            raise GridveilError(
                f"--{cls.option}-source ({cls.option}_source in Python): say where {cls.these} "
                "published"
            )
        try:
            numbers = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise GridveilError(f"{cls.option}: one number for each generator expected") from None
        return cls(numbers, Provenance.PUBLISHED, source)

    @abstractmethod
    def for_beta(self, beta: float, network: Network) -> Self:
        """Return it to no more digits than β can use; what was published stays."""

    @abstractmethod
    def for_fidelity(self, base_mva: float) -> FloatArray:
        """Return the numbers as the fidelity phase takes them."""


TargetLike = Target | ArrayLike | str | Path
"""Costs or a dispatch: ready made, an array in the order of the generators, a CSV file, or one of
the words "private" and "derived"."""


def provenance_of(
    given: TargetLike | None, source: str, declare_public: Collection[str] | str, option: str
) -> Provenance:
    """Return where costs or a dispatch come from, or refuse what does not fit together.

    Args:
        given: Known values, "private", "derived", or None for "private".
        source: Where known values were published.
        declare_public: What the owner declares public: the name of the option, which "derived"
            needs.
        option: "costs" or "dispatch".
    """
    named = "private" if given is None else given if isinstance(given, str) else ""
    if isinstance(given, Target):
        named = given.provenance
    known = named not in (Provenance.PRIVATE, Provenance.DERIVED)
    if source and not known:
        raise GridveilError(
            f"--{option}-source ({option}_source in Python): means something with known --{option} "
            "only"
        )
    declared = {declare_public} if isinstance(declare_public, str) else set(declare_public)
    unknown = sorted(declared - {option})
    if unknown:
        raise GridveilError(
            f"--declare-public (declare_public in Python): {unknown[0]!r} is not {option!r}"
        )
    if named == Provenance.DERIVED and not declared:
        raise GridveilError(
            f"--{option} derived publishes values computed from the raw loads, which no noise "
            "protects: whoever knows all other loads can compute a load from them. If they are "
            f"public anyway, say so with '--declare-public {option}' (declare_public=\"{option}\" "
            f"in Python); without --{option} they are computed from the private loads"
        )
    if declared and named != Provenance.DERIVED:
        raise GridveilError(
            "--declare-public (declare_public in Python): means something with "
            f"--{option} derived only"
        )
    return Provenance.PUBLISHED if known else Provenance(named)


def read_by_generator(path: Path, column: str, network: Network) -> list[float]:
    """Read a CSV file with the columns generator (its row in the case file, from 1) and another."""
    rows = (network.generators.row + 1).tolist()
    found: dict[int, float] = {}
    for place, line in read_rows(path, ("generator", column)):
        generator = finite_number(place, "generator", line)
        value = finite_number(place, column, line)
        if generator not in rows:
            raise GridveilError(
                f"{place}: no generator {generator:g} in service; generators are named by their "
                "row in the case file, from 1"
            )
        if generator in found:
            raise GridveilError(f"{place}: generator {generator:g} stands there twice")
        found[int(generator)] = value
    lacking = [row for row in rows if row not in found]
    if lacking:
        more = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        raise GridveilError(
            f"{path}: no {column} for generator {lacking[0]} (its row in the case file){more}"
        )
    return [found[row] for row in rows]


def derived_opf(network: Network) -> OPFResult:
    """Return the network's own AC-OPF: a function of the raw loads, not protected."""
    result = solve_acopf(network)
    if not result.status.solved:
        raise NotSolvedError(
            f"{network.name} itself has no AC-OPF solution, so there is nothing to keep; "
            "'gridveil solve' shows its owner why"
        )
    return result


def derived_digest(values: FloatArray) -> str:
    """Return the digest of values computed from raw loads, to six digits."""
    digits = ",".join(f"{value:.6e}" for value in values)
    return hashlib.sha256(digits.encode()).hexdigest()


def private_opf(
    network: Network,
    loads: FloatArray,
    weights: FloatArray | None = None,
    limits: LoadLimits | None = None,
    before: OPFResult | None = None,
) -> OPFResult:
    """Return an AC-OPF of the private loads, or of the nearest that have one.

    Nothing here sees a raw load; `network` may be blank. Where private loads have no AC-OPF, they
    are projected into tighter limits first.

    Args:
        network: The network, without its loads.
        loads: The private loads in p.u., of shape (loads, 2), a bought total taken into account.
        weights: How much the squared distance of each load counts; None for all alike.
        limits: Public limits that the loads keep, and those near them.
        before: That of loads which are near, from which the solver starts.
    """
    counted = np.ones(len(loads)) if weights is None else weights
    start = None if before is None else before.point
    result = attempted_acopf(network.with_loads(*loads.T), start=start, watch=_goes_on)
    for margin in _MARGINS:
        if result.status.solved:
            break
        near = projected_loads(network, loads, margin, counted, limits, _goes_on)
        if near.status.solved:
            nearer = network.with_loads(near.p, near.q)
            result = attempted_acopf(nearer, start=near.point, watch=_goes_on)
    if not result.status.solved:
        raise NotSolvedError(
            f"no working network was found near the private one: {result.status.value}"
        )
    return result


def _goes_on(iteration: Iteration) -> bool:
    """Whether to go on; loads that no limit fits can cost thousands of iterations."""
    return iteration.number < _MOST_ITERATIONS
