"""What every release states in the same words, for who makes it and for who checks it.

Nothing here is computed from a network: these are the texts, names and rules that both sides need.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Final

import numpy as np

from gridveil.arrays import FloatArray

LOADS_COLUMNS: Final = ("bus", "number", "p_mw", "q_mvar", "in_service")
"""The columns of the table of loads."""
FORMER_LOADS_COLUMNS: Final = ("bus", "p_mw", "q_mvar")
"""Of releases before 0.4, where each bus has one load."""
PACKAGES: Final = ("casadi", "numba", "numpy", "opendp", "scipy")
GPU_PACKAGE: Final = "numba-cuda"
"""What compiles agents for a GPU."""
GPU_SOLVER_PACKAGES: Final = (
    "cupy-cuda13x", "cupy-cuda12x", "nvidia-cudss-cu13", "nvidia-cudss-cu12",
)  # fmt: skip
"""What the interior-point method needs on a GPU, for either version of CUDA."""
SOLVERS: Final = ("ipopt", "interior-point")
SERIES_PACKAGES: Final = ("pyarrow",)
"""What the tables of a series are written with."""
SOFTWARE: Final = frozenset(
    (
        "gridveil",
        "python",
        GPU_PACKAGE,
        *GPU_SOLVER_PACKAGES,
        *PACKAGES,
        *SERIES_PACKAGES,
        *SOLVERS,
    )
)
"""What the bytes of a release depend on; its versions stand in the certificate."""
_ROUNDING = 1e-6
"""How far, relatively, a kept gap may exceed β through rounding."""
_MOST_DIGITS = 12
_SAME = 1e-9
"""Powers of ten that differ by less are the same but for rounding."""
_FINEST = 1e-7
"""The unit, in p.u., to which an output is rounded at least."""

SMALLEST_BASE, LARGEST_BASE = 1e-3, 1e5
"""Bases of per unit, in MVA, that a network can have: with others, tolerances mean nothing."""

FIRST_RELEASE = "this ledger knew no earlier release of any load"
EARLIER_RELEASES = "this ledger knew earlier releases"
"""What a ledger knew when it charged a release."""
TARGET_PRIVATE, TARGET_PUBLISHED, TARGET_DERIVED = "private", "published", "derived"
"""Where the costs O* or the dispatch p* come from."""
COSTS: Final = "the costs O*"
DISPATCH: Final = "the dispatch p*"
NO_TARGET: Final = ""
"""What a release holds generators to, in words."""
DECLARED: Final = "declared public by the owner"
KEPT: Final = ("names", "comments", "sections")
"""What of a source file can be published as it stands."""


def target_name(band: str) -> str:
    """Return what generators are held to by a band, in words; empty where it is nothing."""
    return {"dispatch": DISPATCH, "none": NO_TARGET}.get(band, COSTS)


def is_plausible_base(base_mva: float) -> bool:
    """Whether a network can have a base of per unit."""
    return SMALLEST_BASE <= base_mva <= LARGEST_BASE


def derived_source(is_proportional: bool = False) -> str:
    """Say how costs or a dispatch were computed from raw loads."""
    by = "proportional dispatch" if is_proportional else "AC-OPF"
    return f"computed from the raw loads by {by}; not protected by the noise"


def private_source(epsilon: float, is_proportional: bool = False) -> str:
    """Say where private costs or a private dispatch come from.

    Args:
        epsilon: What a private total took of ε; 0 without one.
        is_proportional: Whether the network has no costs, so that the dispatch is proportional.
    """
    how = "computed by proportional dispatch" if is_proportional else "computed"
    if not epsilon:
        return f"{how} from the private loads; protected like the loads"
    return (
        f"{how} from the private loads and a private total load, which cost ε = "
        f"{epsilon:g} of this release; protected like the loads"
    )


def is_private_as_a_whole(provenance: str, kept: Collection[str]) -> bool:
    """Whether nothing in a folder was computed from raw loads but through a mechanism."""
    return provenance != TARGET_DERIVED and not kept


def whole_statement(
    provenance: str, kept: Collection[str], epsilon: float, target: str = COSTS
) -> str:
    """Say whether the folder is private as a whole, and what is not private in it.

    Args:
        provenance: Where what generators are held to comes from.
        kept: What of the source file is published as it stands.
        epsilon: That of the whole release.
        target: What generators are held to.
    """
    if is_private_as_a_whole(provenance, kept):
        return (
            "Private as a whole: whoever gets this folder learns about a load at most what "
            f"ε = {epsilon:g} allows."
        )
    reasons = []
    if provenance == TARGET_DERIVED:
        were, them = ("They were", "them") if target == COSTS else ("It was", "it")
        reasons.append(
            f"The owner declares {target} public. {were} computed from the raw loads: "
            f"whoever did not know {them} learns from this folder something about the loads that "
            "no noise protects."
        )
    if kept:
        reasons.append(
            f"The owner publishes {' and '.join(kept)} of the source file as they stand: no noise "
            "protects what they say about a load."
        )
    return f"Not private as a whole. {' '.join(reasons)}"


def invariants(
    provenance: str,
    source: str,
    kept: Collection[str] = (),
    has_consumers: bool = False,
    power_factor: float | None = None,
    ratings: str = "",
    target: str = COSTS,
) -> tuple[tuple[str, str], ...]:
    """Return what a release keeps and does not protect, each with where it comes from.

    Args:
        provenance: Where what generators are held to comes from.
        source: The same in words.
        kept: What of the source file is published as it stands.
        has_consumers: Whether loads are declared consumers.
        power_factor: The lowest that they are declared to have; None where none is.
        ratings: Where the ratings of loads were published; empty where none are used.
        target: What generators are held to; empty where it is nothing.
    """
    sources = {
        TARGET_PUBLISHED: f"published: {source}",
        TARGET_DERIVED: f"declared public by the owner: {source}",
    }
    stands = tuple(
        (f"{kind} of the source file", "declared public by the owner, as they stand")
        for kind in kept
    )
    return (
        ("which buses have a load", "public by declaration: the list of load buses"),
        (
            "topology, impedances, limits, shunts and generators with their costs",
            "public by declaration: the model of the network",
        ),
        *stands,
        *_declared(has_consumers, power_factor),
        *((("the rating of every load", f"published: {ratings}"),) if ratings else ()),
        *(((f"{target}, within beta", sources.get(provenance, source)),) if target else ()),
    )


def ratings_source(parameters: Mapping[str, str]) -> str:
    """Return where the ratings of loads were published, empty for a mechanism without."""
    return parameters.get("source", "") if "ratings" in parameters else ""


def _declared(has_consumers: bool, power_factor: float | None) -> Iterator[tuple[str, str]]:
    """Give what is declared of consumers, each with where it comes from."""
    if has_consumers:
        yield "which loads are consumers, that never feed power back", DECLARED
    if power_factor is not None:
        yield f"the lowest power factor of consumers, {power_factor:g}", DECLARED


def post_processing_sentences(
    consumers: int, loads: int, power_factor: float | None, corrects_bias: bool
) -> list[str]:
    """Say what was done to the private loads, and that it cost no privacy.

    Args:
        consumers: How many loads are declared consumers.
        loads: How many loads there are.
        power_factor: The lowest that consumers are declared to have; None where none is.
        corrects_bias: Whether the bias of the mean was removed.
    """
    said = []
    if corrects_bias:
        said.append("Private loads are corrected for the known bias of their mean.")
    if consumers:
        whose = f"all {loads} loads" if consumers == loads else f"{consumers} of {loads} loads"
        said.append(f"The active power of consumers ({whose}) is never negative.")
    if power_factor is not None:
        said.append(
            f"The power factor of consumers is {power_factor:g} or more, lagging or leading."
        )
    if said:
        said.append("This costs no privacy: it follows from private loads and public numbers.")
    return said


def uncovered(
    not_covered: Collection[str], provenance: str, delta: float, target: str = COSTS
) -> list[str]:
    """Return what a promise does not cover, for a target that comes from somewhere."""
    public = "" if provenance == TARGET_PRIVATE else f", {target}"
    texts = [text.replace(f", {COSTS}", public) for text in not_covered]
    if delta > 0:
        texts.append("several releases of the same load: their δ add up, and are not counted")
    return texts


def keeps_beta(gap: float, beta: float) -> bool:
    """Whether a gap is within β, but for rounding."""
    return gap <= beta + _ROUNDING


def cost_digits(beta: float) -> int:
    """Return how many significant digits of a cost β can use: rounding costs 5 % of it at most."""
    if beta <= 0:
        return _MOST_DIGITS
    return min(_MOST_DIGITS, 2 + max(0, math.ceil(-math.log10(beta))))


def rounded(values: FloatArray, digits: int) -> FloatArray:
    """Return numbers rounded to significant digits."""
    return np.array([float(f"{value:.{digits - 1}e}") for value in values.tolist()])


def dispatch_rounded(
    mw: FloatArray, width_mw: FloatArray, beta: float, base_mva: float
) -> FloatArray:
    """Return outputs rounded to the digits that β can use: rounding costs 5 % of a band at most.

    Where a band is next to nothing, they are rounded to a small part of the tolerance of limits;
    where there are no limits, and so no band, to 0.

    Args:
        mw: The outputs.
        width_mw: The range of each generator.
        beta: The share of it that an output may be off.
        base_mva: The base of per unit.
    """
    finest = math.floor(math.log10(_FINEST * base_mva))
    found = []
    for value, width in zip(mw.tolist(), width_mw.tolist(), strict=True):
        room = beta * width if width else 0.0
        if not math.isfinite(room):
            found.append(0.0)
            continue
        power = finest if room <= 0 else max(math.floor(math.log10(room / 10) + _SAME), finest)
        found.append(round(value, -power) + 0.0)
    return np.array(found)


def true_cost_meaning(low: float, high: float) -> str:
    """Say what an interval for the true optimal cost means."""
    return (
        "By an estimate from this folder alone, the optimal cost of the true network lies between "
        f"{low:,.6g} and {high:,.6g} $/h. The estimate is approximate: such intervals are made to "
        "hold in nine releases out of ten."
    )
