"""What a certificate says about the released network: limits kept, costs, and how they compare."""

from collections.abc import Iterator

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.claims import Claim, claim, number_claim, stated, unchecked
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, CostGaps
from gridveil.fidelity.registry import METHODS
from gridveil.network.conversion import in_service
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.publication.certificate import Certificate
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.post_processing import (
    NO_POST_PROCESSING,
    PostProcessing,
    at_buses,
)
from gridveil.publication.statements import (
    COSTS_DERIVED,
    COSTS_PRIVATE,
    COSTS_PUBLISHED,
    DERIVED_SOURCE,
    cost_digits,
    keeps_beta,
    private_source,
    rounded,
    true_cost_meaning,
)
from gridveil.publication.true_cost import stated_interval
from gridveil.publication.verification.recompute import (
    recompute,
    relative_difference,
    worst_generator,
)
from gridveil.publication.verification.release_files import ReleaseFiles

_FEASIBLE = 1e-6
"""The largest violation, in p.u. or radians, that a release may have."""
_EXACT = 1e-9
"""Relative difference of figures that follow from the files alone."""
_SOLVED = 1e-6
"""Relative difference of costs that two AC-OPFs, on other machines, may have."""
_SHARE_OF_WIDTH = 0.1
"""By how much of its width an interval may differ, which follows from prices of an AC-OPF."""
_NARROW = 2.7
"""An interval whose ends differ by less than this factor is published, whatever an AC-OPF's last
digits are: wider ones, up to a factor of 3, may be too wide on another machine."""


def fidelity_claims(files: ReleaseFiles, costs: FloatArray | None) -> Iterator[Claim]:
    """Compute every figure of the released network again.

    Args:
        files: The release.
        costs: The published costs to hold O* against, if any are given.
    """
    certificate, case = files.certificate, files.case
    of = certificate.fidelity
    rows = (np.flatnonzero(in_service(case).generator) + 1).tolist()
    targets = np.array(certificate.costs.dollars_per_hour)
    listed = certificate.costs.generators == rows and len(targets) == len(rows)
    yield claim("generators with costs O*", str(len(targets)), str(len(rows)), listed)
    if not listed:
        return
    yield from _cost_claims(files, costs)
    target, found = float(targets.sum()), recompute(case)
    yield number_claim("cost O* ($/h)", of.cost_target, target, _EXACT, _EXACT)
    for name, value in found.violations.items():
        yield _bound(f"violation: {name.replace('_', ' ')}", getattr(of.violations, name), value)
    largest = found.largest_violation
    yield _bound("largest violation", of.max_violation, largest)
    yield claim("AC-feasible", f"to {_FEASIBLE:g} p.u.", f"{largest:.1e}", largest <= _FEASIBLE)
    total = float(found.generator_costs.sum())
    gap = relative_difference(total, target)
    worst = worst_generator(found.generator_costs, targets)
    yield number_claim("cost of the dispatch ($/h)", of.cost_dispatch, total, _EXACT, _EXACT)
    yield number_claim("its gap to O*", of.cost_gap_dispatch, gap, _EXACT, _EXACT)
    yield number_claim("worst generator's gap", of.worst_generator_gap, worst, _EXACT, _EXACT)
    fresh = solve_acopf(files.network)
    if not fresh.status.solved:
        claimed = f"{of.cost_optimal:,.2f}"
        yield claim("optimal cost ($/h)", claimed, fresh.status.value, ok=False)
        return
    optimal = relative_difference(fresh.cost, target)
    yield number_claim("optimal cost ($/h)", of.cost_optimal, fresh.cost, _SOLVED, _SOLVED)
    yield number_claim("its gap to O*", of.cost_gap_optimal, optimal, _SOLVED, _SOLVED)
    yield from _kept(certificate, CostGaps(gap, worst, optimal))
    yield from _true_cost(files.read, fresh)
    yield stated("solver's status", of.status, "how the solver of the release ended")


def _cost_claims(files: ReleaseFiles, given: FloatArray | None) -> Iterator[Claim]:
    """Check what can be checked of the costs O*, which follow from loads that are not published."""
    costs = files.certificate.costs
    values = np.array(costs.dollars_per_hour)
    if costs.provenance != COSTS_PUBLISHED:
        source = DERIVED_SOURCE
        if costs.provenance == COSTS_PRIVATE:
            source = private_source(files.certificate.protection.epsilon_costs)
        yield claim("source of O*", costs.source, source, costs.source == source)
    if costs.provenance != COSTS_PUBLISHED and files.read.version > 2:
        digits = cost_digits(files.certificate.fidelity.beta)
        few = bool(np.array_equal(values, rounded(values, digits)))
        found = f"{digits} at most" if few else "more"
        yield claim("digits of O*", f"{digits}, what β can use", found, few)
    if given is not None:
        same = values.shape == given.shape and bool(
            np.allclose(values, given, rtol=_EXACT, atol=0.0)
        )
        yield claim("O* is that of the file", "yes", "yes" if same else "no", same)
    whose = {
        COSTS_PRIVATE: "only the owner has the private loads that they follow from",
        COSTS_DERIVED: "only the owner has the raw loads; the owner declares them public",
    }
    why = whose.get(costs.provenance, "only the owner knows that they were published there")
    yield stated("costs O*", f"{costs.provenance}: {costs.source}", why)


def _kept(certificate: Certificate, gaps: CostGaps) -> Iterator[Claim]:
    """Check what the method promises about costs."""
    of = certificate.fidelity
    name, claimed = "costs keep β", f"within {of.beta:g}"
    try:
        method = METHODS.get(of.method)
    except GridveilError:
        why = f"the method {of.method!r} is not known here; install its package"
        yield unchecked("promise about costs", of.promise, why)
        yield unchecked(name, claimed, why)
        return
    band = BandKind(of.band)
    promise, gap = method.promise(of.beta, band), method.kept_gap(gaps, band)
    yield claim("promise about costs", of.promise, promise, of.promise == promise)
    yield claim(name, claimed, f"{gap:.3g}", keeps_beta(gap, of.beta))


def _true_cost(read: ReadCertificate, opf: OPFResult) -> Iterator[Claim]:
    """Compute the interval for the true optimal cost again, and find one that was left out."""
    certificate = read.certificate
    of, name = certificate.costs.true_cost, "interval for the true cost"
    claimed = "none" if of is None else f"{of.low:,.6g} to {of.high:,.6g} $/h"
    found = None
    if certificate.costs.provenance == COSTS_PRIVATE and read.version > 2:
        found = stated_interval(
            opf,
            certificate.protection.parameters,
            certificate.protection.epsilon_costs,
            _post_processing(certificate),
        )
    if found is None:
        if of is not None:
            yield claim(name, claimed, "none follows from these files", ok=False)
        return
    low, high = found
    if of is None:
        if high < _NARROW * low:
            yield claim(name, claimed, f"{low:,.6g} to {high:,.6g} $/h", ok=False)
        return
    room = _SHARE_OF_WIDTH * (high - low)
    near = abs(of.low - low) <= room and abs(of.high - high) <= room
    ok = near and of.meaning == true_cost_meaning(of.low, of.high)
    yield claim(name, claimed, f"{low:,.6g} to {high:,.6g} $/h", ok)


def _post_processing(certificate: Certificate) -> PostProcessing:
    of = certificate.post_processing
    if of is None:
        return NO_POST_PROCESSING
    return at_buses(certificate.load_buses, of.consumers, of.power_factor, of.bias_corrected)


def _bound(name: str, claimed: float, found: float) -> Claim:
    ok = bool(abs(claimed - found) <= _EXACT)
    return claim(name, f"{claimed:.3g}", f"{found:.3g}", ok)
