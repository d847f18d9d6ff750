"""Checks a release as its recipient would: every claim of its certificate, recomputed.

Nothing is taken from who made the release: figures come from the files, by the formulas of
recompute.py, and from an AC-OPF solved anew; what a mechanism or a method promises it says itself.
"""

import csv
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gridveil.arrays import IntArray
from gridveil.claims import Claim, ClaimVerdict, claim, number_claim, unchecked
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, CostGaps
from gridveil.fidelity.registry import METHODS
from gridveil.frames import frame_of_rows
from gridveil.html_table import html_table
from gridveil.network.case_file import CaseFile
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network, in_service
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.network import Network
from gridveil.network.problems import CaseError
from gridveil.opf.acopf import solve_acopf
from gridveil.privacy.mechanisms.base import StatedProtection, checked_claims
from gridveil.privacy.mechanisms.registry import MECHANISMS
from gridveil.publication.certificate import Certificate
from gridveil.publication.certificate_file import ReadCertificate, read_certificate
from gridveil.publication.costs import read_costs
from gridveil.publication.folder import CERTIFICATE, LOADS, NETWORK, REPORT, SIGNATURE
from gridveil.publication.folder_reader import (
    list_release_folder,
    read_optional_file,
    read_release_file,
)
from gridveil.publication.recompute import recompute, relative_difference, worst_generator
from gridveil.publication.signing import (
    SignatureState,
    VerificationKey,
    as_verification_key,
    check_signature,
)
from gridveil.publication.statements import (
    COSTS_BOUGHT,
    LOADS_COLUMNS,
    invariants,
    keeps_beta,
)

_FEASIBLE = 1e-6
"""The largest violation, in p.u. or radians, that a release may have."""
_EXACT = 1e-9
"""Relative difference of figures that follow from the files alone."""
_SOLVED = 1e-6
"""Relative difference of costs that two AC-OPFs, on other machines, may have."""


@dataclass(frozen=True, repr=False)
class Verification:
    """What a check of a release found, claim by claim."""

    claims: tuple[Claim, ...]

    @property
    def ok(self) -> bool:
        """Whether every claim was checked and holds."""
        return all(claim.ok for claim in self.claims)

    def count(self, verdict: ClaimVerdict) -> int:
        """Return how many claims have a verdict."""
        return sum(claim.verdict is verdict for claim in self.claims)

    def to_frame(self) -> Any:
        """Return the claims as a pandas DataFrame."""
        return frame_of_rows(
            [{**vars(claim), "verdict": claim.verdict.value} for claim in self.claims]
        )

    def __repr__(self) -> str:
        return f"Verification({self.count(ClaimVerdict.HOLDS)} of {len(self.claims)} claims hold)"

    def _repr_html_(self) -> str:
        rows = [(c.name, c.claimed, c.found, c.verdict.value) for c in self.claims]
        return html_table(repr(self), ("claim", "claimed", "found", "verdict"), rows)


def verify(
    folder: Path | str,
    key: VerificationKey | Ed25519PublicKey | Path | str | None = None,
    costs: Path | str | None = None,
) -> Verification:
    """Check a release: schema, digests, network, an AC-OPF of its own, every claim recomputed.

    Args:
        folder: The folder of the release.
        key: A public key, or the PEM file of it or of an X.509 certificate with it: then the
            signature is checked as well. Who issued a certificate is not checked.
        costs: A CSV file as `release --costs` takes it: then that these are the costs it aims for.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import release, verify
        >>> folder = mkdtemp()
        >>> release("case5_pjm", folder + "/ledger.sqlite", beta=0.05).save(folder + "/out")
        >>> verify(folder + "/out").ok
        True
    """
    public = as_verification_key(key)
    table = None if costs is None else Path(costs)
    return Verification(tuple(_claims(Path(folder), public, table)))


def _claims(folder: Path, key: VerificationKey | None, costs: Path | None) -> Iterator[Claim]:
    data = read_release_file(folder, CERTIFICATE)
    try:
        read = read_certificate(data)
    except GridveilError as error:
        yield claim("schema", "valid", str(error), ok=False)
        return
    certificate = read.certificate
    yield claim("schema", "valid", "valid", ok=True)
    yield _digest(read)
    yield from _signature(folder, key, data)
    files = _files(folder, certificate)
    yield files
    digests = [files, *(_digests(folder, certificate) if files.ok else ())]
    yield from digests[1:]
    yield from _protection(certificate)
    if read.version > 1:
        yield _named_parameters(certificate)
    if not all(claim.ok for claim in digests):
        yield claim("network", "as certified", "not examined: a file was changed", ok=False)
        return
    try:
        case = _case(folder, certificate)
        network = build_network(case, _load_rows(case, certificate))
    except GridveilError as error:
        yield claim("network", "readable", f"not readable: {error}", ok=False)
        return
    yield claim("network", "readable", f"{len(network.buses)} buses", ok=True)
    yield number_claim("base (MVA)", certificate.base_mva, case.base_mva, _EXACT)
    yield _loads(folder, case, certificate)
    yield from _fidelity(certificate, case, network)
    if costs is not None:
        yield _public_costs(certificate, costs, network)


def _digest(read: ReadCertificate) -> Claim:
    claimed, found = read.certificate.digest, read.computed_digest
    return claim("digest of the certificate", claimed, found, claimed == found)


def _signature(folder: Path, key: VerificationKey | None, certificate: bytes) -> Iterator[Claim]:
    """Check the signature with a key; without one, that it is a signature if it is there."""
    try:
        signature = read_optional_file(folder, SIGNATURE)
    except GridveilError as error:
        yield claim("signature", "readable", str(error), ok=False)
        return
    state = check_signature(signature, certificate, key).state
    if key is not None or state is SignatureState.MALFORMED:
        ok = state is SignatureState.GENUINE
        yield claim("signature", "by the owner of the key", state.value, ok)


def _files(folder: Path, certificate: Certificate) -> Claim:
    """Check that the folder holds what the certificate lists, and nothing else."""
    wanted = {NETWORK, LOADS, REPORT}
    try:
        there = set(list_release_folder(folder)) - {CERTIFICATE, SIGNATURE}
    except GridveilError as error:
        return claim("files", ", ".join(sorted(wanted)), str(error), ok=False)
    ok = set(certificate.files) == wanted == there
    return claim("files", ", ".join(sorted(wanted)), ", ".join(sorted(there))[:200], ok)


def _digests(folder: Path, certificate: Certificate) -> Iterator[Claim]:
    for name, claimed in sorted(certificate.files.items()):
        try:
            found = hashlib.sha256(read_release_file(folder, name)).hexdigest()
        except GridveilError:
            found = "not readable"
        yield claim(f"digest of {name}", claimed, found, claimed == found)


def _protection(certificate: Certificate) -> Iterator[Claim]:
    """Check that the parts of the promise fit together."""
    stated, base = certificate.protection, certificate.base_mva
    yield from _mechanism(certificate)
    if stated.alpha_pu is not None and stated.alpha_mva is not None:
        yield number_claim("α in MVA", stated.alpha_mva, stated.alpha_pu * base, _EXACT)
    provenance, source = certificate.costs.provenance, certificate.costs.source
    kept = [(one.what, one.provenance) for one in certificate.invariants]
    ok = kept == list(invariants(provenance, source))
    found = "as stated" if ok else "otherwise"
    yield claim("invariants", "as they follow from the costs", found, ok)
    paid = stated.epsilon_costs > 0
    yield claim(
        "costs paid for",
        provenance,
        f"ε = {stated.epsilon_costs:g}",
        (provenance == COSTS_BOUGHT) == paid,
    )
    spent = stated.epsilon
    if stated.alpha_mva is not None and stated.cumulative_distance_mva is not None:
        spent *= max(1.0, stated.cumulative_distance_mva / stated.alpha_mva)
    enough = stated.cumulative_epsilon >= spent * (1 - _EXACT)
    yield claim("cumulative ε", f"{stated.cumulative_epsilon:g}", f"at least {spent:g}", enough)
    loads = len(certificate.load_buses)
    yield claim("loads", str(stated.loads), str(loads), stated.loads == loads)


def _named_parameters(certificate: Certificate) -> Claim:
    """Check that the exact parameters are there, and are those of the mechanism and its bounds."""
    stated = certificate.protection
    named = stated.parameters.get("mechanism", "none"), stated.parameters.get("bounds", "")
    ok = named == (stated.mechanism, stated.bounds)
    return claim("mechanism and bounds", stated.mechanism, named[0] if ok else str(named), ok)


def _mechanism(certificate: Certificate) -> Iterator[Claim]:
    """Let the mechanism check what is stated of it, or say claim by claim that none can."""
    stated = certificate.protection
    try:
        mechanism = MECHANISMS.get(stated.mechanism)
    except GridveilError:
        why = f"the mechanism {stated.mechanism!r} is not known here; install its package"
        for name, value in (
            ("mechanism", stated.mechanism),
            ("promise", stated.promise),
            ("metric", stated.metric),
            ("noise scale (p.u.)", str(stated.noise_scale_pu)),
            *(
                (f"parameter {name}", value)
                for name, value in islice(stated.parameters.items(), 20)
            ),
        ):
            yield unchecked(name, value, why)
        return
    yield from checked_claims(
        mechanism,
        StatedProtection(
            promise=stated.promise,
            unit=stated.unit,
            epsilon=stated.epsilon,
            epsilon_costs=stated.epsilon_costs,
            delta=stated.delta,
            alpha_pu=stated.alpha_pu,
            metric=stated.metric,
            grid_step_pu=stated.grid_step_pu,
            noise_scale_pu=stated.noise_scale_pu,
            caution=stated.caution,
            parameters=stated.parameters,
            base_mva=certificate.base_mva,
        ),
    )


def _case(folder: Path, certificate: Certificate) -> CaseFile:
    text = read_release_file(folder, NETWORK).decode("utf-8", "surrogateescape")
    case = parse_matpower(text, str(folder / NETWORK), certificate.network)
    problems = check_case(case)
    if problems:
        raise CaseError(case.source, problems)
    return case


def _load_rows(case: CaseFile, certificate: Certificate) -> IntArray:
    """Return the rows of the released loads in the bus table."""
    rows = in_service(case).rows_of(np.array(certificate.load_buses, dtype=float))
    if min(rows.tolist(), default=0) < 0:
        raise GridveilError("a load bus of the certificate is not in the network")
    return rows


def _loads(folder: Path, case: CaseFile, certificate: Certificate) -> Claim:
    """Check that the table of loads is that of the network."""
    bus, listed = case.tables["bus"], _load_rows(case, certificate)
    wanted = [
        (int(bus.column("bus_i")[row]), *(float(bus.column(n)[row]) for n in ("Pd", "Qd")))
        for row in listed
    ]
    try:
        rows = list(csv.reader(io.StringIO(read_release_file(folder, LOADS).decode())))
        found = [(int(n), float(p), float(q)) for n, p, q in rows[1:]]
        same = found == wanted and rows[0] == list(LOADS_COLUMNS)
    except (ValueError, csv.Error, IndexError):
        same = False
    others = bus.column("Pd").astype(bool) | bus.column("Qd").astype(bool)
    others[listed] = False
    if others.any():
        return claim("loads.csv", "all loads of the network", "a load is not in it", ok=False)
    verdict = "the same" if same else "others"
    return claim("loads.csv", "all loads of the network", verdict, same)


def _fidelity(certificate: Certificate, case: CaseFile, network: Network) -> Iterator[Claim]:
    stated = certificate.fidelity
    rows = (np.flatnonzero(in_service(case).generator) + 1).tolist()
    costs = np.array(certificate.costs.dollars_per_hour)
    listed = certificate.costs.generators == rows and len(costs) == len(rows)
    yield claim("generators with public costs", str(len(costs)), str(len(rows)), listed)
    if not listed:
        return
    target, found = float(costs.sum()), recompute(case)
    yield number_claim("cost O* ($/h)", stated.cost_target, target, _EXACT)
    for name, value in found.violations.items():
        label = f"violation: {name.replace('_', ' ')}"
        yield _bound(label, getattr(stated.violations, name), value)
    largest = found.largest_violation
    yield _bound("largest violation", stated.max_violation, largest)
    yield claim("AC-feasible", f"to {_FEASIBLE:g} p.u.", f"{largest:.1e}", largest <= _FEASIBLE)
    total = float(found.generator_costs.sum())
    gap = relative_difference(total, target)
    worst = worst_generator(found.generator_costs, costs)
    yield number_claim("cost of the dispatch ($/h)", stated.cost_dispatch, total, _EXACT)
    yield number_claim("its gap to O*", stated.cost_gap_dispatch, gap, _EXACT)
    yield number_claim("worst generator's gap", stated.worst_generator_gap, worst, _EXACT)
    fresh = solve_acopf(network)
    if not fresh.status.solved:
        claimed = f"{stated.cost_optimal:,.2f}"
        yield claim("optimal cost ($/h)", claimed, fresh.status.value, ok=False)
        return
    optimal = relative_difference(fresh.cost, target)
    yield number_claim("optimal cost ($/h)", stated.cost_optimal, fresh.cost, _SOLVED)
    yield number_claim("its gap to O*", stated.cost_gap_optimal, optimal, _SOLVED)
    yield from _kept(certificate, CostGaps(gap, worst, optimal))


def _kept(certificate: Certificate, gaps: CostGaps) -> Iterator[Claim]:
    """Check what the method promises about costs."""
    stated = certificate.fidelity
    name, claimed = "costs keep β", f"within {stated.beta:g}"
    try:
        method = METHODS.get(stated.method)
    except GridveilError:
        why = f"the method {stated.method!r} is not known here; install its package"
        yield unchecked("promise about costs", stated.promise, why)
        yield unchecked(name, claimed, why)
        return
    band = BandKind(stated.band)
    promise, gap = method.promise(stated.beta, band), method.kept_gap(gaps, band)
    yield claim("promise about costs", stated.promise, promise, stated.promise == promise)
    yield claim(name, claimed, f"{gap:.3g}", keeps_beta(gap, stated.beta))


def _public_costs(certificate: Certificate, path: Path, network: Network) -> Claim:
    given = read_costs(path, "the file given", network).values
    stated = np.array(certificate.costs.dollars_per_hour)
    same = stated.shape == given.shape and bool(np.allclose(stated, given, rtol=_EXACT, atol=0.0))
    return claim("O* is that of the file", "yes", "yes" if same else "no", same)


def _bound(name: str, claimed: float, found: float) -> Claim:
    ok = bool(abs(claimed - found) <= _EXACT)
    return claim(name, f"{claimed:.3g}", f"{found:.3g}", ok)
