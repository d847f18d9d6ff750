"""The files of a release: what is in the folder, digests, and the page made again."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import numpy as np

from gridveil.arrays import IntArray
from gridveil.claims import Claim, claim, stated, unchecked
from gridveil.errors import GridveilError
from gridveil.network.case_file import CaseFile
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network, in_service
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.network import Network
from gridveil.network.problems import CaseError
from gridveil.network.source_loads import loads_at_buses
from gridveil.printable import excerpt
from gridveil.publication.certificate import Certificate
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.folder import (
    CERTIFICATE,
    HISTORY,
    LOADS,
    NETWORK,
    POSITIONS,
    REPORT,
    SIGNATURE,
)
from gridveil.publication.report.detail import SHORT, WHOLE, Detail
from gridveil.publication.report.passive import is_passive
from gridveil.publication.report.redraw import redrawn_page
from gridveil.publication.verification.folder_reader import (
    list_release_folder,
    read_release_file,
)
from gridveil.publication.verification.loads_file import (
    LoadsFile,
    lists,
    read_loads_file,
    sums_hold,
)
from gridveil.publication.verification.model_file import is_model
from gridveil.publication.verification.page_files import history_claims, positions_claim

_SHOWN = 200
"""Characters of a list of files that are shown."""
_LONGEST_VERSION = 20
_SPELLED = 3
"""The first version whose table of loads is spelled in one way."""


@dataclass(frozen=True)
class ReleaseFiles:
    """The certified files of a release, whose digests are those of its certificate."""

    read: ReadCertificate
    contents: Mapping[str, bytes]

    @property
    def certificate(self) -> Certificate:
        """The certificate, in the terms of the present version."""
        return self.read.certificate

    @cached_property
    def case(self) -> CaseFile:
        """The released network as its file has it, if nothing is wrong with it."""
        text = self.contents[NETWORK].decode("utf-8", "surrogateescape")
        case = parse_matpower(text, NETWORK, self.certificate.network)
        problems = check_case(case)
        if problems:
            raise CaseError(case.source, problems)
        return case

    @cached_property
    def load_rows(self) -> IntArray:
        """The row of each released load in the bus table, in the order of the file."""
        numbers = np.array(self.certificate.load_buses, dtype=float)
        parts = in_service(self.case)
        rows = parts.rows_of(numbers)
        if not len(rows):
            raise GridveilError("the certificate lists no load bus")
        if (rows < 0).any() or not parts.bus[rows].all():
            raise GridveilError("a load bus of the certificate is not in service in the network")
        if (np.diff(rows) < 0).any():
            raise GridveilError(
                "the load buses of the certificate are not in the order of the network"
            )
        return rows

    @cached_property
    def loads(self) -> LoadsFile:
        """The table of loads, if it lists those of the certificate."""
        file = read_loads_file(self.contents[LOADS])
        if not lists(file, self.certificate.load_buses, self.certificate.idle_load_buses):
            raise GridveilError(f"{LOADS} has other loads than the certificate lists")
        return file

    @cached_property
    def released_case(self) -> CaseFile:
        """The network's file with its loads one by one."""
        p, q = self.loads.values.T.tolist()
        loads = loads_at_buses(self.loads.buses, p, q, in_service=len(self.load_rows))
        return replace(self.case, loads=loads)

    @cached_property
    def network(self) -> Network:
        """The released network."""
        assert len(self.load_rows)
        return build_network(self.released_case)


def folder_claim(folder: Path, read: ReadCertificate) -> Claim:
    """Check that the folder holds what the certificate lists, and nothing else."""
    wanted = {NETWORK, LOADS, REPORT} | ({POSITIONS} if read.version > 2 else set())
    optional = {HISTORY} if read.version > 2 else set()
    shown = ", ".join(sorted(wanted))
    try:
        there = set(list_release_folder(folder)) - {CERTIFICATE, SIGNATURE}
    except GridveilError as error:
        return claim("files", shown, str(error), ok=False)
    listed = set(read.certificate.files)
    ok = listed == there and wanted <= listed <= wanted | optional
    return claim("files", shown, ", ".join(sorted(there))[:_SHOWN], ok)


def read_files(folder: Path, read: ReadCertificate) -> tuple[dict[str, bytes], list[Claim]]:
    """Return the files that the certificate lists, and a claim on the digest of each."""
    contents: dict[str, bytes] = {}
    claims = []
    for name, claimed in sorted(read.certificate.files.items()):
        try:
            contents[name] = read_release_file(folder, name)
            found = hashlib.sha256(contents[name]).hexdigest()
        except GridveilError as error:
            found = f"not readable: {error}"
        claims.append(claim(f"digest of {name}", claimed, found, claimed == found))
    return contents, claims


def file_claims(files: ReleaseFiles) -> Iterator[Claim]:
    """Check the files against each other."""
    yield _model(files)
    yield _loads(files)
    if files.read.version > 2:
        of = files.certificate
        yield positions_claim(files.contents[POSITIONS], files.network, of.software)
        yield from history_claims(files.contents.get(HISTORY), of.fidelity.method)
    yield _page(files)


def _model(files: ReleaseFiles) -> Claim:
    """Check that the case file has nothing but the model of the network, as we would write it."""
    kept, text = files.certificate.kept, files.case.text
    claimed = f"the model, {' and '.join(kept)}" if kept else "the model and nothing else"
    if files.read.version > 2 and not is_model(files.case, text, kept):
        return claim(NETWORK, claimed, "something else stands in it", ok=False)
    if not kept:
        return claim(NETWORK, claimed, claimed, ok=True)
    why = f"{' and '.join(kept)} of the source file stand in it; only the owner knows them"
    return stated(NETWORK, claimed, why)


def _loads(files: ReleaseFiles) -> Claim:
    """Check that the network has the sums of the loads in the table, and no others."""
    claimed = "each load, and the network their sums"
    if not sums_hold(files.loads, files.case, files.load_rows):
        return claim(LOADS, claimed, "the network has other loads", ok=False)
    same = files.read.version < _SPELLED or files.loads.spelled() == files.contents[LOADS]
    return claim(LOADS, claimed, claimed if same else "in another spelling", same)


def _page(files: ReleaseFiles) -> Claim:
    """Make the page again and compare; one of another version can only be searched for harm.

    Version 0.3.0 showed networks of any size in full detail, so that is compared too.
    """
    page, claimed = files.contents[REPORT], "what the certificate and the network give"
    by = excerpt(files.certificate.software.get("gridveil", ""), _LONGEST_VERSION) or "unknown"
    is_comparable = files.read.version > 2
    if is_comparable:
        try:
            is_same = any(page == _redrawn(files, detail) for detail in (SHORT, WHOLE))
        except Exception as error:  # whatever hostile numbers do to a drawing
            found = f"cannot be made again: {type(error).__name__}"
            return claim(REPORT, claimed, found, ok=False)
        if is_same:
            return claim(REPORT, claimed, "the same, byte by byte", ok=True)
        if by == version("gridveil"):
            return claim(REPORT, claimed, "another page", ok=False)
    if not is_passive(page, needs_policy=is_comparable):
        found = "may run a script or load something: do not open it"
        return claim(REPORT, claimed, found, ok=False)
    if is_comparable:
        why = f"verify with Gridveil {by}, which it names: this version draws another page"
        return unchecked(REPORT, claimed, why)
    why = f"by version {by}, whose page cannot be made again; it runs no foreign script"
    return stated(REPORT, claimed, why)


def _redrawn(files: ReleaseFiles, detail: Detail) -> bytes:
    return redrawn_page(
        files.certificate,
        files.released_case,
        files.contents[POSITIONS],
        files.contents.get(HISTORY),
        detail,
    )
