"""The files of a release: what is in the folder, digests, and the page made again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from gridveil.arrays import IntArray
from gridveil.claims import Claim, claim, stated
from gridveil.errors import GridveilError
from gridveil.network.case_file import CaseFile
from gridveil.network.conversion import build_network, in_service
from gridveil.network.network import Network
from gridveil.network.source_loads import loads_at_buses
from gridveil.publication.certificate_file import ReadCertificate
from gridveil.publication.folder import (
    HISTORY,
    LOADS,
    NETWORK,
    POSITIONS,
    REPORT,
)
from gridveil.publication.report.detail import SHORT, WHOLE, Detail
from gridveil.publication.report.passive import is_passive
from gridveil.publication.report.redraw import redrawn_page
from gridveil.publication.verification.certified_files import (
    CertifiedFiles,
    harmful_page,
    listing_claim,
    page_claim,
    written_by,
)
from gridveil.publication.verification.loads_file import (
    LoadsFile,
    lists,
    read_loads_file,
    sums_hold,
)
from gridveil.publication.verification.model_file import is_model
from gridveil.publication.verification.page_files import history_claims, positions_claim

_SPELLED = 3
"""The first version whose table of loads is spelled in one way."""


@dataclass(frozen=True)
class ReleaseFiles(CertifiedFiles):
    """The certified files of a release of single loads."""

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
    return listing_claim(folder, read, wanted, optional)


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
    """Make the page again and compare; those of versions 0.1 and 0.2 are searched for harm alone.

    Version 0.3.0 showed networks of any size in full detail, so that is compared too.
    """
    claimed = "what the certificate and the network give"
    if files.read.version > 2:
        drawings = [partial(_redrawn, files, detail) for detail in (SHORT, WHOLE)]
        return page_claim(files, claimed, drawings)
    if not is_passive(files.contents[REPORT], needs_policy=False):
        return harmful_page(claimed)
    by = written_by(files.certificate)
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
