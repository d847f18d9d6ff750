"""What a certificate says about the released network: limits kept, and costs or dispatch."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.claims import Claim, claim, number_claim, stated, unchecked
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, CostGaps
from gridveil.fidelity.registry import METHODS
from gridveil.network.conversion import in_service
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.publication.certificate import Certificate, StatedCosts, StatedDispatch
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.post_processing import (
    NO_POST_PROCESSING,
    PostProcessing,
    at_buses,
)
from gridveil.publication.statements import (
    TARGET_DERIVED,
    TARGET_PRIVATE,
    TARGET_PUBLISHED,
    cost_digits,
    derived_source,
    dispatch_rounded,
    keeps_beta,
    private_source,
    rounded,
    true_cost_meaning,
)
from gridveil.publication.true_cost import stated_interval
from gridveil.publication.verification.recompute import (
    Recomputed,
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
_SAME_SHARE = 1e-4
"""How far shares of ranges may differ that two solvers of a proportional dispatch find."""
_SHARE_OF_WIDTH = 0.1
"""By how much of its width an interval may differ, which follows from prices of an AC-OPF."""
_NARROW = 2.7
"""An interval whose ends differ by less than this factor is published, whatever an AC-OPF's last
digits are: wider ones, up to a factor of 3, may be too wide on another machine."""


def fidelity_claims(files: ReleaseFiles, given: FloatArray | None) -> Iterator[Claim]:
    """Compute every figure of the released network again.

    Args:
        files: The release.
        given: The published costs, or the published dispatch, to hold what is stated against.
    """
    certificate, case = files.certificate, files.case
    of, found = certificate.fidelity, recompute(case)
    rows = (np.flatnonzero(in_service(case).generator) + 1).tolist()
    held_to = certificate.stated_target
    if held_to is not None:
        values = np.array(_values(held_to))
        listed = held_to.generators == rows and len(values) == len(rows)
        name = f"generators with {_short(certificate)}"
        yield claim(name, str(len(values)), str(len(rows)), listed)
        if not listed:
            return
        yield from target_claims(files, found, values, given)
    for name, value in found.violations.items():
        yield _bound(f"violation: {name.replace('_', ' ')}", getattr(of.violations, name), value)
    largest = found.largest_violation
    yield _bound("largest violation", of.max_violation, largest)
    yield claim("AC-feasible", f"to {_FEASIBLE:g} p.u.", f"{largest:.1e}", largest <= _FEASIBLE)
    if certificate.costs is not None:
        yield from _costs_of_dispatch(files, found, certificate.costs)
    elif certificate.dispatch is not None:
        yield from _dispatch(files, found, certificate.dispatch)
    else:
        yield from kept_claims(certificate, CostGaps())
    yield stated("solver's status", of.status, "how the solver of the release ended")


def _costs_of_dispatch(
    files: ReleaseFiles, found: Recomputed, costs: StatedCosts
) -> Iterator[Claim]:
    """Check what the published dispatch costs, and the cheapest one."""
    of, targets = files.certificate.fidelity, np.array(costs.dollars_per_hour)
    target, total = float(targets.sum()), float(found.generator_costs.sum())
    gap = relative_difference(total, target)
    worst = worst_generator(found.generator_costs, targets)
    for name, claimed, value in (
        ("cost O* ($/h)", of.cost_target, target),
        ("cost of the dispatch ($/h)", of.cost_dispatch, total),
        ("its gap to O*", of.cost_gap_dispatch, gap),
        ("worst generator's gap", of.worst_generator_gap, worst),
    ):
        yield number_claim(name, _stated(claimed), value, _EXACT, _EXACT)
    fresh = solve_acopf(files.network)
    if not fresh.status.solved:
        claimed_cost = f"{_stated(of.cost_optimal):,.2f}"
        yield claim("optimal cost ($/h)", claimed_cost, fresh.status.value, ok=False)
        return
    optimal = relative_difference(fresh.cost, target)
    yield number_claim("optimal cost ($/h)", _stated(of.cost_optimal), fresh.cost, _SOLVED, _SOLVED)
    yield number_claim("its gap to O*", _stated(of.cost_gap_optimal), optimal, _SOLVED, _SOLVED)
    yield from kept_claims(files.certificate, CostGaps(gap, worst, optimal))
    yield from _true_cost(files.read, fresh)


def _dispatch(files: ReleaseFiles, found: Recomputed, dispatch: StatedDispatch) -> Iterator[Claim]:
    """Check how far the published dispatch is from p*, and the proportional one of no costs."""
    of, base = files.certificate.fidelity, files.case.base_mva
    megawatts = np.array(dispatch.megawatts)
    largest = found.largest_deviation(megawatts, base)
    name = "largest deviation from p*"
    yield number_claim(name, _stated(of.largest_deviation), largest, _EXACT, _EXACT)
    yield from kept_claims(files.certificate, CostGaps(deviation=largest))
    name, claimed = "proportional dispatch from p*", of.proportional_deviation
    if found.has_costs and claimed is None:
        return
    if found.has_costs or claimed is None:
        yield claim(
            name, str(claimed), "stated of networks without costs, and only these", ok=False
        )
        return
    fresh = solve_acopf(files.network)
    if not fresh.status.solved:
        yield claim(name, f"{claimed:.3g}", fresh.status.value, ok=False)
        return
    again = replace(found, megawatts=fresh.point.p * base)
    value = again.largest_deviation(megawatts, base)
    yield number_claim(name, claimed, value, _SAME_SHARE, _SAME_SHARE)


def target_claims(
    files: ReleaseFiles, found: Recomputed, values: FloatArray, given: FloatArray | None
) -> Iterator[Claim]:
    """Check what can be checked of O* or p*, which follow from loads that are not published."""
    certificate, base = files.certificate, files.case.base_mva
    held_to, beta = certificate.stated_target, certificate.fidelity.beta
    assert held_to is not None
    short, on_costs = _short(certificate), certificate.costs is not None
    proportional = not on_costs and not found.has_costs
    if held_to.provenance != TARGET_PUBLISHED:
        source = derived_source(proportional)
        if held_to.provenance == TARGET_PRIVATE:
            source = private_source(certificate.protection.epsilon_costs, proportional)
        yield claim(f"source of {short}", held_to.source, source, held_to.source == source)
    if held_to.provenance != TARGET_PUBLISHED and files.read.version > 2:
        digits = f"{cost_digits(beta)}, what β can use" if on_costs else "what β can use"
        rounder = (
            rounded(values, cost_digits(beta))
            if on_costs
            else dispatch_rounded(values, found.ranges, beta, base)
        )
        few = bool(np.array_equal(values, rounder))
        yield claim(f"digits of {short}", digits, "no more" if few else "more", few)
    if given is not None:
        same = values.shape == given.shape and bool(
            np.allclose(values, given, rtol=_EXACT, atol=0.0)
        )
        yield claim(f"{short} is that of the file", "yes", "yes" if same else "no", same)
    whose = {
        TARGET_PRIVATE: "only the owner has the private loads that they follow from",
        TARGET_DERIVED: "only the owner has the raw loads; the owner declares them public",
    }
    why = whose.get(held_to.provenance, "only the owner knows that they were published there")
    name = certificate.target.removeprefix("the ")
    yield stated(name, f"{held_to.provenance}: {held_to.source}", why)


def _values(held_to: StatedCosts | StatedDispatch) -> list[float]:
    if isinstance(held_to, StatedCosts):
        return held_to.dollars_per_hour
    return held_to.megawatts


def _short(certificate: Certificate) -> str:
    return "O*" if certificate.costs is not None else "p*"


def _stated(figure: float | None) -> float:
    """Return a figure that the schema demands."""
    assert figure is not None
    return figure


def kept_claims(certificate: Certificate, gaps: CostGaps) -> Iterator[Claim]:
    """Check what the method promises about costs or the dispatch.

    Args:
        certificate: The certificate.
        gaps: What was found.
    """
    of = certificate.fidelity
    what = "dispatch keeps β" if of.band == "dispatch" else "costs keep β"
    name, claimed = what, f"within {of.beta:g}"
    try:
        method = METHODS.get(of.method)
    except GridveilError:
        why = f"the method {of.method!r} is not known here; install its package"
        yield unchecked(_promise_name(certificate), of.promise, why)
        yield unchecked(name, claimed, why)
        return
    band = BandKind(of.band)
    promise, gap = method.promise(of.beta, band), method.kept_gap(gaps, band)
    yield claim(_promise_name(certificate), of.promise, promise, of.promise == promise)
    if band is not BandKind.NONE:
        yield claim(name, claimed, f"{gap:.3g}", keeps_beta(gap, of.beta))


def _promise_name(certificate: Certificate) -> str:
    return "promise about costs" if certificate.costs is not None else "promise about dispatch"


def _true_cost(read: ReadCertificate, opf: OPFResult) -> Iterator[Claim]:
    """Compute the interval for the true optimal cost again, and find one that was left out."""
    certificate = read.certificate
    assert certificate.costs is not None
    of, name = certificate.costs.true_cost, "interval for the true cost"
    claimed = "none" if of is None else f"{of.low:,.6g} to {of.high:,.6g} $/h"
    found = None
    if certificate.costs.provenance == TARGET_PRIVATE and read.version > 2:
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
