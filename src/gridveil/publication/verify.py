"""Checks a release as whoever receives it would: every claim of its certificate, recomputed."""

import csv
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gridveil.errors import GridveilError
from gridveil.fidelity.result import relative_gap, worst_gap
from gridveil.network.checks import check_case
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.problems import CaseError
from gridveil.opf.acopf import solve_acopf
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, violations
from gridveil.privacy.guarantee import UNIT, Guarantee
from gridveil.publication.case_file import PublishedCase, load_rows, read_published
from gridveil.publication.certificate import Certificate, read_certificate
from gridveil.publication.costs import read_costs
from gridveil.publication.folder import CERTIFICATE, LOADS, NETWORK, REPORT, SIGNATURE
from gridveil.publication.make import LOADS_HEADER, cost_gap, invariants, is_kept
from gridveil.publication.signing import is_signed

_EXACT = 1e-9
"""Relative difference of figures that follow from the files alone."""
_SOLVED = 1e-6
"""Relative difference of costs that two AC-OPFs, on other machines, may have."""
_LARGEST_FILE = 2**28


@dataclass(frozen=True)
class Claim:
    """One claim, what was found, and whether they agree."""

    name: str
    claimed: str
    found: str
    ok: bool


@dataclass(frozen=True)
class Verification:
    """The verdict on a release."""

    claims: tuple[Claim, ...]

    @property
    def ok(self) -> bool:
        """Whether every claim holds."""
        return all(claim.ok for claim in self.claims)


def verify(
    folder: Path | str, key: Ed25519PublicKey | None = None, costs: Path | None = None
) -> Verification:
    """Check a release: schema, digests, network, an AC-OPF of its own, every claim recomputed.

    With a key also the signature; with `costs` (a CSV as `release --costs` takes) that these are
    the costs it aims for.
    """
    return Verification(tuple(_claims(Path(folder), key, costs)))


def _claims(folder: Path, key: Ed25519PublicKey | None, costs: Path | None) -> Iterator[Claim]:
    data = _read(folder / CERTIFICATE)
    try:
        certificate = read_certificate(data)
    except GridveilError as error:
        yield Claim("schema", "valid", str(error), ok=False)
        return
    yield Claim("schema", "valid", "valid", ok=True)
    digest = certificate.computed_digest()
    yield Claim(
        "digest of the certificate", certificate.digest, digest, certificate.digest == digest
    )
    if key is not None:
        yield _signature(folder, key, data)
    files = _files(folder, certificate)
    yield files
    digests = [files, *(_digests(folder, certificate) if files.ok else ())]
    yield from digests[1:]
    yield from _protection(certificate)
    if not all(claim.ok for claim in digests):
        yield Claim("network", "as certified", "not examined: a file was changed", ok=False)
        return
    try:
        published = _network(folder, certificate)
    except GridveilError as error:
        yield Claim("network", "readable", f"not readable: {error}", ok=False)
        return
    yield Claim("network", "readable", f"{len(published.network.buses)} buses", ok=True)
    yield _number("base (MVA)", certificate.base_mva, published.network.base_mva, _EXACT)
    yield _loads(folder, published)
    yield from _fidelity(certificate, published)
    if costs is not None:
        yield _public_costs(certificate, costs, published)


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise GridveilError(f"{path}: is not a file")
        if path.stat().st_size > _LARGEST_FILE:
            raise GridveilError(f"{path}: is too large for a file of a release")
        return path.read_bytes()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise GridveilError(
            f"{path}: {reason}; a release is a folder with {NETWORK}, {LOADS} and {CERTIFICATE}"
        ) from error


def _signature(folder: Path, key: Ed25519PublicKey, certificate: bytes) -> Claim:
    path = folder / SIGNATURE
    if not path.is_file():
        return Claim("signature", "by the owner of the key", "none", ok=False)
    ok = is_signed(key, certificate, path.read_bytes())
    return Claim("signature", "by the owner of the key", "genuine" if ok else "not genuine", ok)


def _files(folder: Path, certificate: Certificate) -> Claim:
    """Check that the folder holds what the certificate lists, and nothing else."""
    wanted = {NETWORK, LOADS, REPORT}
    there = {path.name for path in folder.iterdir()} - {CERTIFICATE, SIGNATURE}
    ok = set(certificate.files) == wanted == there
    return Claim("files", ", ".join(sorted(wanted)), ", ".join(sorted(there))[:200], ok)


def _digests(folder: Path, certificate: Certificate) -> Iterator[Claim]:
    for name, claimed in sorted(certificate.files.items()):
        try:
            found = hashlib.sha256(_read(folder / name)).hexdigest()
        except GridveilError:
            found = "not readable"
        yield Claim(f"digest of {name}", claimed, found, claimed == found)


def _protection(certificate: Certificate) -> Iterator[Claim]:
    """Check that the parts of the promise fit together."""
    told, base = certificate.protection, certificate.base_mva
    guarantee = Guarantee(
        told.mechanism,
        told.epsilon,
        told.alpha_pu,
        told.metric,
        told.grid_step_pu,
        told.noise_scale_pu,
        caution=told.caution,
    )
    sentence = guarantee.sentence(base)
    yield Claim("promise", told.promise, sentence, told.promise == sentence)
    if told.alpha_pu is not None and told.alpha_mva is not None:
        yield _number("α in MVA", told.alpha_mva, told.alpha_pu * base, _EXACT)
        if told.noise_scale_pu is not None:
            scale = (told.alpha_pu + 2 * told.grid_step_pu) / (told.epsilon - told.epsilon_costs)
            yield _number("noise scale (p.u.)", told.noise_scale_pu, scale, _EXACT)
    known = invariants(certificate.costs.provenance, certificate.costs.source)
    told_rightly = certificate.invariants == known and told.unit == UNIT
    yield Claim("invariants", "as they follow from the costs", _said(told_rightly), told_rightly)
    bought = certificate.costs.provenance == "bought"
    yield Claim(
        "costs paid for",
        certificate.costs.provenance,
        f"ε = {told.epsilon_costs:g}",
        bought == (told.epsilon_costs > 0),
    )
    spent = told.epsilon
    if told.alpha_mva is not None and told.cumulative_distance_mva is not None:
        spent *= max(1.0, told.cumulative_distance_mva / told.alpha_mva)
    enough = told.cumulative_epsilon >= spent * (1 - _EXACT)
    yield Claim("cumulative ε", f"{told.cumulative_epsilon:g}", f"at least {spent:g}", enough)
    loads = len(certificate.load_buses)
    yield Claim("loads", str(told.loads), str(loads), told.loads == loads)


def _network(folder: Path, certificate: Certificate) -> PublishedCase:
    path = folder / NETWORK
    text = _read(path).decode("utf-8", "surrogateescape")
    case = parse_matpower(text, str(path), certificate.network)
    problems = check_case(case)
    if problems:
        raise CaseError(case.source, problems)
    rows = load_rows(case, certificate.load_buses)
    if min(rows, default=0) < 0:
        raise GridveilError("a load bus of the certificate is not in the network")
    return read_published(case, rows)


def _loads(folder: Path, published: PublishedCase) -> Claim:
    """Check that the table of loads is that of the network."""
    network = published.network
    bus = network.case.tables["bus"]
    wanted = [
        (int(bus.column("bus_i")[row]), *(float(bus.column(n)[row]) for n in ("Pd", "Qd")))
        for row in network.loads.row
    ]
    try:
        rows = list(csv.reader(io.StringIO(_read(folder / LOADS).decode())))
        found = [(int(n), float(p), float(q)) for n, p, q in rows[1:]]
        same = found == wanted and rows[0] == list(LOADS_HEADER)
    except (ValueError, csv.Error, IndexError):
        same = False
    others = bus.column("Pd").astype(bool) | bus.column("Qd").astype(bool)
    others[network.loads.row] = False
    if others.any():
        return Claim("loads.csv", "all loads of the network", "a load is not in it", ok=False)
    verdict = "the same" if same else "others"
    return Claim("loads.csv", "all loads of the network", verdict, same)


def _fidelity(certificate: Certificate, published: PublishedCase) -> Iterator[Claim]:
    told, network = certificate.fidelity, published.network
    rows = (network.generators.row + 1).tolist()
    costs = np.array(certificate.costs.dollars_per_hour)
    listed = certificate.costs.generators == rows and len(costs) == len(rows)
    yield Claim("generators with public costs", str(len(costs)), str(len(rows)), listed)
    if not listed:
        return
    target = float(costs.sum())
    yield _number("cost O* ($/h)", told.cost_target, target, _EXACT)
    broken = violations(network, published.point)
    for name, value in vars(broken).items():
        yield _bound(f"violation: {name.replace('_', ' ')}", getattr(told.violations, name), value)
    yield _bound("largest violation", told.max_violation, broken.largest)
    yield Claim(
        "AC-feasible",
        f"to {FEASIBILITY_TOLERANCE:g} p.u.",
        f"{broken.largest:.1e}",
        broken.largest <= FEASIBILITY_TOLERANCE,
    )
    dispatch = network.generators.costs(published.point.p)
    total = float(dispatch.sum())
    yield _number("cost of the dispatch ($/h)", told.cost_dispatch, total, _EXACT)
    yield _number("its gap to O*", told.cost_gap_dispatch, relative_gap(total, target), _EXACT)
    worst = worst_gap(dispatch, costs)
    yield _number("worst generator's gap", told.worst_generator_gap, worst, _EXACT)
    fresh = solve_acopf(network)
    if not fresh.status.solved:
        yield Claim("optimal cost ($/h)", f"{told.cost_optimal:,.2f}", fresh.status.value, ok=False)
        return
    yield _number("optimal cost ($/h)", told.cost_optimal, fresh.cost, _SOLVED)
    gap = relative_gap(fresh.cost, target)
    yield _number("its gap to O*", told.cost_gap_optimal, gap, _SOLVED)
    yield _kept(certificate, relative_gap(total, target), worst, gap)


def _kept(certificate: Certificate, dispatch: float, worst: float, optimal: float) -> Claim:
    """Check what the method promises about costs."""
    found = certificate.fidelity.model_copy(
        update={
            "cost_gap_dispatch": dispatch,
            "worst_generator_gap": worst,
            "cost_gap_optimal": optimal,
        }
    )
    gap = f"{cost_gap(found):.3g}"
    return Claim("costs keep β", f"within {found.beta:g}", gap, is_kept(found))


def _public_costs(certificate: Certificate, path: Path, published: PublishedCase) -> Claim:
    given = read_costs(path, "the file given", published.network).values
    told = np.array(certificate.costs.dollars_per_hour)
    same = told.shape == given.shape and bool(np.allclose(told, given, rtol=_EXACT, atol=0.0))
    return Claim("O* is that of the file", "yes", "yes" if same else "no", same)


def _said(ok: bool) -> str:
    return "as told" if ok else "otherwise"


def _number(name: str, claimed: float, found: float, tolerance: float) -> Claim:
    ok = bool(abs(claimed - found) <= tolerance * max(1.0, abs(found)))
    return Claim(name, f"{claimed:.10g}", f"{found:.10g}", ok)


def _bound(name: str, claimed: float, found: float) -> Claim:
    ok = bool(abs(claimed - found) <= _EXACT)
    return Claim(name, f"{claimed:.3g}", f"{found:.3g}", ok)
