"""What a certificate says about protection: the mechanism, the promise, and what is not covered."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from gridveil.claims import Claim, claim, number_claim, stated, unchecked
from gridveil.errors import GridveilError
from gridveil.privacy.calibration import exact
from gridveil.privacy.guarantee import NOT_COVERED
from gridveil.privacy.mechanisms.base import StatedProtection, checked_claims
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.privacy.relative_distance import relative_distance_at
from gridveil.publication.certificate import Certificate
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.certificate_v2 import invariants_before
from gridveil.publication.spent import spent_sentence
from gridveil.publication.statements import (
    DISPATCH,
    EARLIER_RELEASES,
    FIRST_RELEASE,
    LARGEST_BASE,
    SMALLEST_BASE,
    SOFTWARE,
    SOLVERS,
    TARGET_PRIVATE,
    invariants,
    is_plausible_base,
    is_private_as_a_whole,
    ratings_source,
    uncovered,
    whole_statement,
)

_EXACT = 1e-9
"""Relative difference of figures that follow from each other."""
_PARAMETERS_SHOWN = 20
_LEDGERS_SHOWN = 3
_WITH_LEDGERS = 3
"""The version of certificates from which on they name rows of ledgers."""
_VERSION = re.compile(r"[0-9A-Za-z.+!_-]{1,40}")


def protection_claims(read: ReadCertificate) -> Iterator[Claim]:
    """Check that the parts of the promise fit together, and say what has to be believed."""
    certificate = read.certificate
    stated_of, base = certificate.protection, certificate.base_mva
    wanted = f"{SMALLEST_BASE:g} to {LARGEST_BASE:g} MVA"
    yield claim("base", f"{base:g} MVA", f"plausible: {wanted}", is_plausible_base(base))
    yield from _mechanism(certificate)
    if read.version > 1:
        yield _named_parameters(certificate)
    if stated_of.alpha_pu is not None and stated_of.alpha_mva is not None:
        yield number_claim("α in MVA", stated_of.alpha_mva, stated_of.alpha_pu * base, _EXACT)
    if stated_of.floor_pu is not None and stated_of.floor_mva is not None:
        yield number_claim("floor in MVA", stated_of.floor_mva, stated_of.floor_pu * base, _EXACT)
    yield _invariants(read)
    yield _not_covered(certificate)
    yield _paid(certificate)
    yield from owner_claims(read)
    if stated_of.bounds:
        yield stated("public bounds", stated_of.bounds, "only the owner knows where they are from")
    yield named_claim(certificate)


@dataclass(frozen=True)
class OwnLoss:
    """What a release of a series alone takes of the budget of a load."""

    least: float
    """The ε of its promise: within its window."""
    most: float
    """In all its hours together, should its ledger count within so many."""
    distance_mva: float
    """The least distance of a load."""


def owner_claims(read: ReadCertificate, own: OwnLoss | None = None) -> Iterator[Claim]:
    """Check what is said of budget, draw and ledger, which only the owner knows.

    Args:
        read: The certificate.
        own: For a series, what this release alone spends.
    """
    certificate = read.certificate
    yield from _spent(certificate, own)
    loads = len(certificate.load_buses) + len(certificate.idle_load_buses)
    of = certificate.protection
    yield claim("loads", str(of.loads), str(loads), of.loads == loads)
    yield _drawn(certificate)
    yield from _ledgers(certificate, read.version, own)


def whole_claim(certificate: Certificate) -> Claim:
    """Check that what is said of the folder as a whole follows from its parts."""
    provenance, kept = certificate.provenance, certificate.kept
    epsilon, target = certificate.protection.epsilon, certificate.target
    statement = whole_statement(provenance, kept, epsilon, target)
    whole = is_private_as_a_whole(provenance, kept)
    same = (certificate.statement, certificate.private_as_a_whole) == (statement, whole)
    name = "private as a whole" if certificate.private_as_a_whole else "not private as a whole"
    if not same:
        return claim(name, certificate.statement, f"as stated, it would be: {statement}", ok=False)
    why = "follows from what is stated of dispatch and source; only the owner knows that these hold"
    if certificate.costs is not None:
        why = (
            "follows from what is stated of costs and source; only the owner knows that these hold"
        )
    return stated(name, certificate.statement, why)


def _mechanism(certificate: Certificate) -> Iterator[Claim]:
    """Let the mechanism check what is stated of it, or say claim by claim that none can."""
    of = certificate.protection
    try:
        mechanism = MECHANISMS.get(of.mechanism)
    except GridveilError:
        why = f"the mechanism {of.mechanism!r} is not known here; install its package"
        for name, value in (
            ("mechanism", of.mechanism),
            ("promise", of.promise),
            ("metric", of.metric),
            ("noise scale (p.u.)", str(of.noise_scale_pu)),
            *(
                (f"parameter {name}", value)
                for name, value in islice(of.parameters.items(), _PARAMETERS_SHOWN)
            ),
        ):
            yield unchecked(name, value, why)
        return
    yield from checked_claims(
        mechanism,
        StatedProtection(
            promise=of.promise,
            unit=of.unit,
            epsilon=of.epsilon,
            epsilon_costs=of.epsilon_costs,
            delta=of.delta,
            alpha_pu=of.alpha_pu,
            metric=of.metric,
            grid_step_pu=of.grid_step_pu,
            noise_scale_pu=of.noise_scale_pu,
            caution=of.caution,
            parameters=of.parameters,
            base_mva=certificate.base_mva,
            bounds=of.bounds,
            kind=of.kind,
            relative_distance=of.relative_distance,
            floor_pu=of.floor_pu,
            loads=of.loads,
        ),
    )


def _named_parameters(certificate: Certificate) -> Claim:
    """Check that the exact parameters are there, and are those of the mechanism and its bounds."""
    of = certificate.protection
    named = of.parameters.get("mechanism", "none"), of.parameters.get("bounds", "")
    ok = named == (of.mechanism, of.bounds)
    return claim("mechanism and bounds", of.mechanism, named[0] if ok else str(named), ok)


def _invariants(read: ReadCertificate) -> Claim:
    """Check that what is said to be public is what follows from the costs and what is kept."""
    certificate = read.certificate
    held_to, done = certificate.stated_target, certificate.post_processing
    source = "" if held_to is None else held_to.source
    consumers = False if done is None else bool(done.consumers)
    factor = None if done is None else done.power_factor
    ratings = ratings_source(certificate.protection.parameters)
    wanted = (
        invariants(
            certificate.provenance,
            source,
            certificate.kept,
            consumers,
            factor,
            ratings,
            certificate.target,
        )
        if read.version > 2
        else invariants_before(certificate.provenance, source)
    )
    ok = tuple((one.what, one.provenance) for one in certificate.invariants) == wanted
    return claim("what is public", "as it follows", "as stated" if ok else "otherwise", ok)


def _not_covered(certificate: Certificate) -> Claim:
    """Check that nothing was left out of what the promise does not cover."""
    of = certificate.protection
    wanted = uncovered(NOT_COVERED, certificate.provenance, of.delta, certificate.target)
    claimed = f"{len(of.not_covered)} sentences"
    if of.not_covered == wanted:
        return claim("what is not covered", claimed, "as it follows", ok=True)
    if MECHANISMS.is_ours(of.mechanism):
        return claim("what is not covered", claimed, "sentences are missing or other", ok=False)
    return stated("what is not covered", claimed, "in the words of the mechanism's package")


def _paid(certificate: Certificate) -> Claim:
    """Check that a part of ε was paid for private costs or a private dispatch only."""
    paid, target = certificate.protection.epsilon_costs, certificate.target
    ok = not paid or (bool(target) and certificate.provenance == TARGET_PRIVATE)
    name = "paid for dispatch" if target == DISPATCH else "paid for costs"
    are = "is" if target == DISPATCH else "are"
    found = f"{target} {are} {certificate.provenance}" if target else "there are none"
    return claim(name, f"ε = {paid:g}", found, ok)


def _drawn(certificate: Certificate) -> Claim:
    """Check that the time of the draw is one, as ledgers write it; it has to be believed."""
    claimed = f"drawn at {certificate.drawn_at}, {certificate.protection.entropy}"
    if not _is_time(certificate.drawn_at):
        return claim("noise", claimed, "drawn at no time in UTC", ok=False)
    return stated("noise", claimed, "only the owner knows that these loads were drawn so")


def _is_time(text: str) -> bool:
    """Whether a text is a time in UTC, as ledgers write it."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat(timespec="seconds") == text
    except (ValueError, OverflowError):
        return False


def _ledgers(certificate: Certificate, version: int, own: OwnLoss | None) -> Iterator[Claim]:
    """Check what is said of the rows of ledgers; the ledgers themselves only their owners have."""
    known = all(
        _is_time(row.opened_at) and row.earlier in (FIRST_RELEASE, EARLIER_RELEASES)
        for row in certificate.ledgers
    )
    rows = [(row.ledger, row.row) for row in certificate.ledgers]
    claimed = ", ".join(f"row {row} of {ledger[:8]}" for ledger, row in rows[:_LEDGERS_SHOWN])
    if not known or len(set(rows)) < len(rows) or (version >= _WITH_LEDGERS and not rows):
        yield claim("ledger", claimed or "none", "no row as ledgers write it", ok=False)
        return
    first = bool(rows) and all(row.earlier == FIRST_RELEASE for row in certificate.ledgers)
    spent = certificate.protection.cumulative_epsilon
    if first and spent > _spent_here(certificate, own, at_most=True) * (1 + _EXACT):
        yield claim("ledger", FIRST_RELEASE, "more was spent than by this release", ok=False)
        return
    if rows:
        why = f"{_earlier(first)}; 'gridveil ledger compare' finds a row that was claimed twice"
        yield stated("ledger", claimed, why)


def _earlier(first: bool) -> str:
    return FIRST_RELEASE if first else EARLIER_RELEASES


def named_claim(certificate: Certificate) -> Claim:
    """Check that what is named as software is versions of what the bytes of a release depend on."""
    claimed = f"{certificate.release_id} of {certificate.network}"
    software = certificate.software
    if not (software.keys() <= SOFTWARE and all(map(_VERSION.fullmatch, software.values()))):
        return claim("release", claimed, "its software is other than versions", ok=False)
    for solve in certificate.solves or ():
        if solve.solver not in SOLVERS or software.get(solve.solver) != solve.version:
            found = "a solver that is not among its software"
            return claim("release", claimed, found, ok=False)
    return stated("release", claimed, "names and versions of software are the owner's words")


def _spent_here(certificate: Certificate, own: OwnLoss | None, *, at_most: bool = False) -> float:
    """Return what this release alone spends at least or at most, at the distance counted at."""
    of = certificate.protection
    counted = of.cumulative_distance_mva
    if own is not None:
        spent, least = own.most if at_most else own.least, own.distance_mva
        return spent * max(1.0, (counted or least) / least)
    at = of.alpha_mva
    if of.relative_distance is not None:
        floor, ledgers = (exact(f or 1, "floor") for f in (of.floor_mva, of.cumulative_floor_mva))
        distance = exact(of.relative_distance, "distance")
        at = float(relative_distance_at(distance, floor, ledgers))
        counted = of.cumulative_relative_distance
    elif at is None:
        at = _least_of_ratings(certificate)
    if at is None or counted is None:
        return of.epsilon
    return of.epsilon * max(1.0, counted / at)


def _least_of_ratings(certificate: Certificate) -> float | None:
    """Return the least distance in MVA of a promise by ratings, None of others."""
    of = certificate.protection
    try:
        share, mva = exact(of.parameters["share"], "share"), json.loads(of.parameters["ratings"])
        return float(share * min(exact(rating, "rating") for rating in mva))
    except (GridveilError, KeyError, ValueError, TypeError, RecursionError):
        return None


def _spent(certificate: Certificate, own: OwnLoss | None) -> Iterator[Claim]:
    of, spent = certificate.protection, _spent_here(certificate, own)
    enough = of.cumulative_epsilon >= spent * (1 - _EXACT)
    has_distance = of.alpha_mva is not None or of.relative_distance is not None
    has_distance |= "ratings" in of.parameters or own is not None
    counted_at = (of.cumulative_distance_mva, of.cumulative_relative_distance)
    counted = not has_distance or of.cumulative_differs or any(at is not None for at in counted_at)
    found = f"at least {spent:g}" if counted else "it is counted at no distance"
    name, claimed = "cumulative ε", f"{of.cumulative_epsilon:g}"
    if enough and counted:
        yield stated(name, claimed, f"{found}, as it follows; how much more only the owner knows")
    else:
        yield claim(name, claimed, found, ok=False)
    yield stated("released before", spent_sentence(of), "only the owner's ledger knows")
