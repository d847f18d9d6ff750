"""What checks of snapshots and of series have in common: the folder, digests, the page."""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from gridveil.claims import Claim, claim, unchecked
from gridveil.errors import GridveilError
from gridveil.network.case_file import CaseFile
from gridveil.network.checks import check_case
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.problems import CaseError
from gridveil.printable import excerpt
from gridveil.publication.certificate import Certificate
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.folder import CERTIFICATE, NETWORK, REPORT, SIGNATURE
from gridveil.publication.report.passive import is_passive
from gridveil.publication.verification.folder_reader import (
    list_release_folder,
    read_release_file,
)

_SHOWN = 200
"""Characters of a list of files that are shown."""
_LONGEST_VERSION = 20


@dataclass(frozen=True)
class CertifiedFiles:
    """The certified files of a release, whose digests are those of its certificate."""

    read: ReadCertificate
    contents: Mapping[str, bytes]

    @property
    def certificate(self) -> Certificate:
        """The certificate, in the terms of the present version."""
        return self.read.certificate

    @cached_property
    def case(self) -> CaseFile:
        """The network as its file has it, if nothing is wrong with it."""
        text = self.contents[NETWORK].decode("utf-8", "surrogateescape")
        case = parse_matpower(text, NETWORK, self.certificate.network)
        problems = check_case(case)
        if problems:
            raise CaseError(case.source, problems)
        return case


def listing_claim(
    folder: Path, read: ReadCertificate, wanted: Collection[str], optional: Collection[str]
) -> Claim:
    """Check that the folder holds what the certificate lists, and nothing else."""
    shown = ", ".join(sorted(wanted))
    try:
        there = set(list_release_folder(folder)) - {CERTIFICATE, SIGNATURE}
    except GridveilError as error:
        return claim("files", shown, str(error), ok=False)
    listed = set(read.certificate.files)
    ok = listed == there and set(wanted) <= listed <= {*wanted, *optional}
    return claim("files", shown, ", ".join(sorted(there))[:_SHOWN], ok)


def read_files(
    folder: Path, read: ReadCertificate, limits: Mapping[str, int] | None = None
) -> tuple[dict[str, bytes], list[Claim]]:
    """Return the files that the certificate lists, and a claim on the digest of each.

    Args:
        folder: The folder of the release.
        read: Its certificate.
        limits: The most bytes of files that may be larger than others of their name.
    """
    contents: dict[str, bytes] = {}
    claims = []
    for name, claimed in sorted(read.certificate.files.items()):
        try:
            contents[name] = read_release_file(folder, name, (limits or {}).get(name))
            found = hashlib.sha256(contents[name]).hexdigest()
        except GridveilError as error:
            found = f"not readable: {error}"
        claims.append(claim(f"digest of {name}", claimed, found, claimed == found))
    return contents, claims


def page_claim(
    files: CertifiedFiles, claimed: str, drawings: Iterable[Callable[[], bytes]]
) -> Claim:
    """Make the page again and compare; one of another version can only be searched for harm.

    Args:
        files: The files of the release.
        claimed: What the page follows from, in words.
        drawings: Each makes the page in a way that this version of Gridveil has made it.
    """
    page = files.contents[REPORT]
    try:
        is_same = any(page == drawn() for drawn in drawings)
    except Exception as error:  # whatever hostile numbers do to a drawing
        return claim(REPORT, claimed, f"cannot be made again: {type(error).__name__}", ok=False)
    if is_same:
        return claim(REPORT, claimed, "the same, byte by byte", ok=True)
    by = written_by(files.certificate)
    if by == version("gridveil"):
        return claim(REPORT, claimed, "another page", ok=False)
    if not is_passive(page, needs_policy=True):
        return harmful_page(claimed)
    why = f"verify with Gridveil {by}, which it names: this version draws another page"
    return unchecked(REPORT, claimed, why)


def harmful_page(claimed: str) -> Claim:
    """Return the claim on a page that does more than show itself."""
    found = "may run a script or load something: do not open it"
    return claim(REPORT, claimed, found, ok=False)


def written_by(certificate: Certificate) -> str:
    """Return the version of Gridveil that a certificate names, as it can be shown."""
    return named_version(certificate, "gridveil") or "unknown"


def named_version(certificate: Certificate, package: str) -> str:
    """Return the version of a package that a certificate names, cut to what can be shown."""
    return excerpt(certificate.software.get(package, ""), _LONGEST_VERSION)
