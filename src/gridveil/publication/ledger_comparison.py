"""Whether releases and the ledger they name tell the same history.

A certificate names the row of the ledger that charged it, and the hash of that row, which follows
from all rows before it. A ledger that was turned back, or two copies of one that both went on,
write a row a second time: with another hash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.total import total_id
from gridveil.publication.certificate import Certificate, LedgerRow
from gridveil.publication.certificate_file import read_certificate
from gridveil.publication.folder import CERTIFICATE
from gridveil.publication.verification.folder_reader import LIMITS, read_release_file


class RowState(Enum):
    """What was found of a row that a certificate names."""

    FOUND = "in the ledger"
    GONE = "not in the ledger any more"
    OTHER = "another row stands there in the ledger"
    TWICE = "claimed by another release as well"
    ELSEWHERE = "of another ledger"
    ALONE = "claimed by no other of these releases; no ledger was looked at"
    UNKNOWN = "the certificate names no row: it was made before version 0.3"

    @property
    def ok(self) -> bool:
        """Whether it contradicts neither the ledger nor another release."""
        return self not in (RowState.GONE, RowState.OTHER, RowState.TWICE)


@dataclass(frozen=True)
class ComparedRow:
    """A row that a release names."""

    certificate: Path
    release_id: str
    row: LedgerRow | None
    state: RowState

    def figures(self) -> dict[str, object]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "certificate": str(self.certificate),
            "release": self.release_id,
            "ledger": None if self.row is None else self.row.ledger,
            "row": None if self.row is None else self.row.row,
            "state": self.state.value,
        }


def compare_rows(certificates: Sequence[Path], ledger: Ledger | None) -> list[ComparedRow]:
    """Compare the rows that certificates name with a ledger, and with each other.

    Args:
        certificates: Certificates, or folders of releases.
        ledger: The ledger; None compares them with each other only.
    """
    named: list[tuple[Path, str, LedgerRow | None]] = []
    for path in certificates:
        read = _read(path)
        named += [(path, read.release_id, row) for row in read.ledgers or (None,)]
    claims: dict[tuple[str, int], set[tuple[str, str]]] = {}
    for _, release, row in named:
        if row is not None:
            claims.setdefault((row.ledger, row.row), set()).add((release, row.head))
    return [
        ComparedRow(
            path,
            release,
            row,
            RowState.UNKNOWN if row is None else _state(release, row, claims, ledger),
        )
        for path, release, row in named
    ]


def _state(
    release: str,
    row: LedgerRow,
    claims: dict[tuple[str, int], set[tuple[str, str]]],
    ledger: Ledger | None,
) -> RowState:
    if ledger is not None and row.ledger == ledger.identity:
        head = ledger.head_of(row.row)
        if head is None:
            return RowState.GONE
        if head != row.head or not _is_of(release, ledger.release_at(row.row)):
            return RowState.OTHER
    if len(claims[row.ledger, row.row]) > 1:
        return RowState.TWICE
    if ledger is None:
        return RowState.ALONE
    return RowState.FOUND if row.ledger == ledger.identity else RowState.ELSEWHERE


def _is_of(release: str, charged: str | None) -> bool:
    """Whether what a row charged is a release, its total, or a party's part of it."""
    return charged is not None and (
        charged in (release, total_id(release)) or charged.startswith(f"{release}/")
    )


def _read(path: Path) -> Certificate:
    folder, name = (path, CERTIFICATE) if path.is_dir() else (path.parent, path.name)
    return read_certificate(read_release_file(folder, name, LIMITS[CERTIFICATE])).certificate
