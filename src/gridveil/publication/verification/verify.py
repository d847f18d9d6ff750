"""Checks a release as its recipient would, and says of every claim how far it can be known.

Nothing is taken from who made the release: figures come from the files, by the formulas of
recompute.py, and from an AC-OPF solved anew; what a mechanism or a method promises it says itself.
A claim is recomputed, or proved by a theorem, or stated: then nobody but the owner can know.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gridveil.claims import Claim, ClaimVerdict, claim, number_claim
from gridveil.device import Device, DeviceError
from gridveil.errors import GridveilError
from gridveil.frames import frame_of_rows
from gridveil.html_table import html_table
from gridveil.network.network import Network
from gridveil.opf.solvers import Solver, using
from gridveil.printable import excerpt
from gridveil.publication.certificate_file import ReadCertificate, read_certificate
from gridveil.publication.costs import read_costs
from gridveil.publication.dispatch import read_dispatch
from gridveil.publication.folder import CERTIFICATE, LOADS, SIGNATURE
from gridveil.publication.signing import (
    SignatureCheck,
    SignatureState,
    VerificationKey,
    as_verification_key,
    check_signature,
)
from gridveil.publication.targets import Target
from gridveil.publication.verification.certified_files import read_files
from gridveil.publication.verification.fidelity import fidelity_claims
from gridveil.publication.verification.folder_reader import (
    read_optional_file,
    read_release_file,
)
from gridveil.publication.verification.post_processing import (
    kept_claims,
    post_processing_claims,
)
from gridveil.publication.verification.protection import protection_claims, whole_claim
from gridveil.publication.verification.release_files import (
    ReleaseFiles,
    file_claims,
    folder_claim,
)
from gridveil.publication.verification.series.files import (
    LIMITS,
    SeriesFiles,
    series_file_claims,
    series_folder_claim,
)
from gridveil.publication.verification.series.hours import series_fidelity_claims
from gridveil.publication.verification.series.protection import (
    series_protection_claims,
    series_whole_claim,
)

_EXACT = 1e-9
"""Relative difference of figures that follow from the files alone."""
_READERS: Mapping[str, Callable[[Path, str, Network], Target]] = {
    "costs": read_costs,
    "dispatch": read_dispatch,
}
_LONGEST = 2000
"""Characters of a text of a claim."""
NO_STATEMENT = "What the certificate says of the folder as a whole does not follow from its parts."


@dataclass(frozen=True, repr=False)
class Verification:
    """What a check of a release found, claim by claim."""

    claims: tuple[Claim, ...]
    statement: str
    """Whether the folder is private as a whole, as it follows from what the certificate states."""
    private_as_a_whole: bool | None
    """None where the certificate cannot be read, or says so of itself though it does not follow."""
    signature: SignatureCheck

    @property
    def ok(self) -> bool:
        """Whether no claim is broken, and none was left unchecked."""
        return all(claim.ok for claim in self.claims)

    def count(self, verdict: ClaimVerdict) -> int:
        """Return how many claims have a verdict."""
        return sum(claim.verdict is verdict for claim in self.claims)

    def figures(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "ok": self.ok,
            "private_as_a_whole": self.private_as_a_whole,
            "statement": self.statement,
            **{verdict.name.lower(): self.count(verdict) for verdict in ClaimVerdict},
            "signed": self.signature.state is SignatureState.GENUINE,
            "signature": {
                "state": self.signature.state.name.lower(),
                "meaning": self.signature.state.value,
                "key_id": self.signature.key_id,
                "subject": self.signature.subject,
                "expires": _date(self.signature.expires),
            },
            "claims": [
                {
                    "name": one.name,
                    "claimed": one.claimed,
                    "found": one.found,
                    "ok": one.ok,
                    "verdict": one.verdict.name.lower(),
                }
                for one in self.claims
            ],
        }

    def signature_sentence(self) -> str:
        """Say who signed the release, as far as that is known."""
        check = self.signature
        parts = [
            f"key {check.key_id[:16]}…" if check.key_id else "",
            f"of {check.subject}" if check.subject else "",
            f"valid until {_date(check.expires)}" if check.expires else "",
        ]
        known = " ".join(filter(None, parts))
        if check.key_id and not check.expires and check.state is SignatureState.GENUINE:
            known += ", without an expiry"
        return f"{check.state.value} ({known})" if known else check.state.value

    def summary(self) -> str:
        """Say how many claims there are of each kind."""
        counts = {verdict: self.count(verdict) for verdict in ClaimVerdict}
        broken, unchecked = counts[ClaimVerdict.BROKEN], counts[ClaimVerdict.UNCHECKED]
        parts = [
            f"{counts[ClaimVerdict.RECOMPUTED]} claims recomputed",
            f"{counts[ClaimVerdict.PROVED]} proved",
            f"{counts[ClaimVerdict.STATED]} stated, which only the owner can know",
        ]
        if unchecked:
            parts.append(f"{unchecked} NOT CHECKED")
        if broken:
            parts.append(f"{broken} BROKEN")
        return ", ".join(parts)

    def to_frame(self) -> Any:
        """Return the claims as a pandas DataFrame."""
        return frame_of_rows(
            [{**vars(claim), "verdict": claim.verdict.value} for claim in self.claims]
        )

    def __repr__(self) -> str:
        return f"Verification({self.summary()}; {self.signature.state.value})"

    def _repr_html_(self) -> str:
        broken_first = sorted(self.claims, key=lambda claim: claim.ok)
        rows = [(c.name, c.claimed, c.found, c.verdict.value) for c in broken_first]
        return html_table(repr(self), ("claim", "claimed", "found", "verdict"), rows)


def verify(
    folder: Path | str,
    key: VerificationKey | Ed25519PublicKey | Path | str | None = None,
    costs: Path | str | None = None,
    dispatch: Path | str | None = None,
    solver: Solver | str | None = None,
    device: Device | str | None = None,
    full: bool = False,
) -> Verification:
    """Check a release: schema, digests, network, an AC-OPF of its own, the page made again.

    Args:
        folder: The folder of the release.
        key: A public key, or the PEM file of it or of an X.509 certificate with it: then the
            signature is checked as well. Who issued a certificate is not checked.
        costs: A CSV file as `release --costs` takes it: then that these are the costs it aims for.
        dispatch: A CSV file as `release --dispatch` takes it: then that this is its dispatch p*.
        solver: What solves the AC-OPF: "ipopt", "interior-point" or "auto". It need not be the one
            of the release.
        device: Where it is solved: "cpu", "gpu" or "auto". It need not be that of the release.
        full: Of a series, whether the optimal costs of all hours are solved for, and not those of
            a sample that is drawn here.

    Example:
        >>> from tempfile import mkdtemp
        >>> from gridveil import release, verify
        >>> folder = mkdtemp()
        >>> release("case5_pjm", folder + "/ledger.sqlite", beta=0.05).save(folder + "/out")
        >>> verify(folder + "/out").ok
        True
    """
    path, public = Path(folder), as_verification_key(key)
    data = read_release_file(path, CERTIFICATE)
    signature, signed = _signature(path, data, public)
    try:
        read = read_certificate(data)
    except GridveilError as error:
        broken = claim("schema", "valid", str(error), ok=False)
        claims = tuple(map(_shown, (broken, *signed)))
        return Verification(claims, "the certificate cannot be read", None, signature)
    tables = {"costs": costs, "dispatch": dispatch}
    is_series = read.certificate.series is not None
    whole = (series_whole_claim if is_series else whole_claim)(read.certificate)
    with (
        using(solver, device),
        np.errstate(all="ignore"),
        catch_warnings(),
    ):  # a hostile folder may hold any numbers
        simplefilter("ignore", RuntimeWarning)
        claims = (
            claim("schema", "valid", "valid", ok=True),
            *signed,
            *(
                _series_claims(path, read, tables, whole, full)
                if is_series
                else _claims(path, read, tables, whole)
            ),
        )
    is_whole = read.certificate.private_as_a_whole if whole.ok else None
    statement = whole.claimed if whole.ok else NO_STATEMENT
    return Verification(tuple(map(_shown, claims)), statement, is_whole, signature)


def _claims(
    folder: Path, read: ReadCertificate, tables: Mapping[str, Path | str | None], whole: Claim
) -> Iterator[Claim]:
    certificate = read.certificate
    in_folder = folder_claim(folder, read)
    contents, digests = read_files(folder, read) if in_folder.ok else ({}, [])
    yield from _before_the_network(read, in_folder, digests, whole, protection_claims(read))
    if not _are_certified(in_folder, digests):
        return
    files = ReleaseFiles(read, contents)
    unreadable = list(_unreadable(files))
    if unreadable:
        yield from unreadable
        return
    yield claim("network", "readable", f"{len(files.network.buses)} buses", ok=True)
    yield number_claim("base (MVA)", certificate.base_mva, files.case.base_mva, _EXACT)
    given = None
    for name, table in tables.items():
        if table is not None:
            if getattr(certificate, name) is None:
                yield claim(f"{name} of the file", "those of the release", "it has none", ok=False)
                continue
            given = _READERS[name](Path(table), "the file given", files.network).values
    yield from _guarded("files", file_claims(files))
    yield from _guarded("post-processing", kept_claims(files))
    yield from _guarded("fidelity", fidelity_claims(files, given))


def _series_claims(
    folder: Path,
    read: ReadCertificate,
    tables: Mapping[str, Path | str | None],
    whole: Claim,
    full: bool,
) -> Iterator[Claim]:
    certificate = read.certificate
    for name, table in tables.items():
        if table is not None:
            found = "a series has private ones of its own for every hour"
            yield claim(f"{name} of the file", "those of the release", found, ok=False)
    in_folder = series_folder_claim(folder, read)
    contents, digests = read_files(folder, read, LIMITS) if in_folder.ok else ({}, [])
    protection = series_protection_claims(read)
    yield from _before_the_network(read, in_folder, digests, whole, protection)
    if not _are_certified(in_folder, digests):
        return
    files = SeriesFiles(read, contents)
    try:
        buses, rows = len(files.network.buses), len(files.tables.released)
    except Exception as error:  # whatever hostile tables do to a reader
        why = str(error) if isinstance(error, GridveilError) else type(error).__name__
        yield claim("network and tables", "readable", f"not readable: {why}", ok=False)
        return
    yield claim("network and tables", "readable", f"{buses} buses, {rows} hours", ok=True)
    yield number_claim("base (MVA)", certificate.base_mva, files.case.base_mva, _EXACT)
    yield from _guarded("files", series_file_claims(files))
    yield from _guarded("fidelity", series_fidelity_claims(files, full))


def _before_the_network(
    read: ReadCertificate,
    in_folder: Claim,
    digests: Sequence[Claim],
    whole: Claim,
    protection: Iterator[Claim],
) -> Iterator[Claim]:
    """Give what can be said of any release before its network is looked at."""
    claimed, found = read.certificate.digest, read.computed_digest
    yield claim("digest of the certificate", claimed, found, claimed == found)
    yield from (in_folder, *digests)
    yield whole
    yield from _guarded("protection", protection)
    yield from _guarded("post-processing", post_processing_claims(read.certificate))
    if not _are_certified(in_folder, digests):
        yield claim("network", "as certified", "not examined: a file was changed", ok=False)


def _are_certified(in_folder: Claim, digests: Sequence[Claim]) -> bool:
    return all(one.ok for one in (in_folder, *digests))


def _unreadable(files: ReleaseFiles) -> Iterator[Claim]:
    """Give a claim for the first of the network and its loads that cannot be read."""
    parts: tuple[tuple[str, Callable[[], object]], ...] = (
        ("network", lambda: files.load_rows),
        (LOADS, lambda: files.loads),
        ("network", lambda: files.network),
    )
    for name, part in parts:
        try:
            part()
        except Exception as error:  # whatever hostile tables do to a reader
            why = str(error) if isinstance(error, GridveilError) else type(error).__name__
            yield claim(name, "readable", f"not readable: {why}", ok=False)
            return


def _guarded(name: str, claims: Iterator[Claim]) -> Iterator[Claim]:
    """Give claims; whatever hostile numbers do to a computation is a claim that does not hold."""
    try:
        yield from claims
    except DeviceError:  # of this machine, and not of the release
        raise
    except Exception as error:
        found = f"failed: {type(error).__name__}"
        yield claim(f"checks of {name}", "possible", found, ok=False)


def _shown(one: Claim) -> Claim:
    """Return a claim as it can be shown: short, and without a character that controls anything."""
    name, claimed, found = (excerpt(t, _LONGEST) for t in (one.name, one.claimed, one.found))
    return replace(one, name=name, claimed=claimed, found=found)


def _signature(
    folder: Path, certificate: bytes, key: VerificationKey | None
) -> tuple[SignatureCheck, list[Claim]]:
    """Check the signature with a key; without one, that it is a signature if it is there."""
    name, claimed = "signature", "by the owner of the key"
    try:
        signature = read_optional_file(folder, SIGNATURE)
    except GridveilError as error:
        check = SignatureCheck(SignatureState.MALFORMED)
        return check, [claim(name, "readable", str(error), ok=False)]
    check = check_signature(signature, certificate, key)
    if key is None and check.state is not SignatureState.MALFORMED:
        return check, []
    ok = check.state is SignatureState.GENUINE
    return check, [claim(name, claimed, check.state.value, ok)]


def _date(time: datetime | None) -> str | None:
    return None if time is None else time.date().isoformat()
