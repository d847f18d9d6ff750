"""The ledger: how much budget each load has spent, with a hard cap, in one SQLite file.

A release is one transaction: caps checked, private loads drawn, budget charged, all of it stored,
and only then returned. Killed at any moment, it has happened wholly or not at all; asked again
under the same id, it returns what was stored. The file holds private loads: no raw ones, no noise.

Budgets add up (sequential composition) at one distance D per network, that of its first release: a
release with ε at a smaller distance α is charged ε·D/α, since its loss grows with the distance.
"""

import hashlib
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import IntArray
from gridveil.errors import GridveilError
from gridveil.frames import frame_of_rows
from gridveil.html_table import html_table
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number, exact

DEFAULT_CAP = Fraction(3)
"""Total ε a load may spend where no other cap is set."""
PATH_VARIABLE = "GRIDVEIL_LEDGER"

_APPLICATION_ID = 0x47564C47  # "GVLG"
_VERSION = 1
_BUSY_SECONDS = 120
_EVERY_NETWORK, _EVERY_BUS = "", -1

_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {_VERSION};
CREATE TABLE networks (id TEXT PRIMARY KEY, label TEXT NOT NULL, distance TEXT);
CREATE TABLE caps (
    network TEXT NOT NULL, bus INTEGER NOT NULL, epsilon TEXT NOT NULL,
    PRIMARY KEY (network, bus)
);
CREATE TABLE releases (
    id TEXT PRIMARY KEY, network TEXT NOT NULL REFERENCES networks (id), drawn_at TEXT NOT NULL,
    charge TEXT NOT NULL, specification TEXT NOT NULL
);
CREATE TABLE private_loads (
    release TEXT NOT NULL REFERENCES releases (id), position INTEGER NOT NULL,
    bus INTEGER NOT NULL, p INTEGER NOT NULL, q INTEGER NOT NULL,
    PRIMARY KEY (release, position)
);
CREATE INDEX by_bus ON private_loads (bus);
"""


class BudgetExceededError(GridveilError):
    """A release that would take loads over their cap; nothing was drawn or charged."""


@dataclass(frozen=True)
class Spending:
    """What a release asks of the budget of which loads."""

    network: str
    label: str
    """The network's name, for people."""
    buses: Sequence[int]
    epsilon: Number
    distance: Number | None
    """α in MVA; None where ε holds at any distance."""
    specification: str
    """Everything that makes the release what it is, as text: the same id needs the same."""


@dataclass(frozen=True)
class Account:
    """The budget of one load."""

    network: str
    label: str
    bus: int
    spent: Fraction
    cap: Fraction
    releases: int

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.cap - self.spent

    def figures(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON and frames."""
        return {
            "network": self.network,
            "label": self.label,
            "bus": self.bus,
            "spent": float(self.spent),
            "cap": float(self.cap),
            "left": float(self.left),
            "releases": self.releases,
        }


@dataclass(frozen=True)
class Entry:
    """What the ledger knows of one release."""

    drawn_at: str
    """Date and time of the draw, UTC."""
    charge: Fraction
    """ε charged to each load, at the network's distance."""
    cumulative: Fraction
    """The most any of its loads had spent with this release, earlier ones included."""
    distance: Fraction | None
    """The distance, in MVA, at which the network's budget is counted."""


def network_id(network: Network) -> str:
    """Return an identity of the network made of public facts alone: the numbers of its buses.

    Lines, limits and the order of rows may change without a load getting a second budget.
    """
    numbers = np.sort(network.buses.number).astype(">i8")
    return hashlib.sha256(numbers.tobytes()).hexdigest()[:16]


def default_path() -> Path:
    """Return the ledger of this user: GRIDVEIL_LEDGER, or a file in the user's data folder."""
    if PATH_VARIABLE in os.environ:
        return Path(os.environ[PATH_VARIABLE])
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "gridveil" / "ledger.sqlite"


class Ledger:
    """An open ledger; safe to use from many processes at once."""

    def __init__(self, path: Path | str | None = None) -> None:
        """Open a ledger, making a new one if nothing is there.

        Args:
            path: Its file; None for the user's own (GRIDVEIL_LEDGER, or in the data folder).

        Example:
            >>> from tempfile import mkdtemp
            >>> from gridveil import Ledger
            >>> Ledger(mkdtemp() + "/ledger.sqlite").accounts()
            []
        """
        path = default_path() if path is None else _checked_path(path)
        self.path = path
        if not path.exists():
            _create(path)
        try:
            # The file is opened by SQLite alone: closing another descriptor of it would drop the
            # locks of every connection this process has.
            self._database = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=rw",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise _trouble(path, error) from error
        try:
            self._check()
        except BaseException:
            self._database.close()
            raise

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}: {_summary(self.accounts())})"

    def _repr_html_(self) -> str:
        rows = [
            (account.label, account.bus, float(account.spent), float(account.left))
            for account in self.accounts()
        ]
        return html_table(repr(self), ("network", "bus", "spent ε", "left ε"), rows)

    def to_frame(self) -> Any:
        """Return the budget of every load that has spent any as a pandas DataFrame."""
        return frame_of_rows([account.figures() for account in self.accounts()])

    def _check(self) -> None:
        """Refuse a file that is no ledger, of another version, or damaged; none is written to."""
        database = self._database
        try:
            application, version = (
                database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            )
            if application != _APPLICATION_ID:
                raise GridveilError(f"{self.path}: this is not a ledger; it was left untouched")
            if version != _VERSION:
                raise GridveilError(
                    f"{self.path}: a ledger of version {version}, but this program knows version "
                    f"{_VERSION}; it was left untouched"
                )
            database.execute("PRAGMA synchronous = EXTRA")
            verdict = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            raise _trouble(self.path, error) from error
        if verdict != "ok":
            raise _damaged(self.path, verdict)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def spend(self, release_id: str, spending: Spending, draw: Callable[[], IntArray]) -> IntArray:
        """Charge a release and return its private loads, drawn once and stored before use.

        `draw` is called only for an id that is not in the ledger yet.
        """
        if not release_id.strip():
            raise GridveilError("a release needs an id")
        if not release_id.isprintable():
            raise GridveilError("a release id must be printable text")
        with self._transaction() as database:
            stored = self._stored(database, release_id, spending)
            if stored is not None:
                return stored
            charge = self._charge(database, spending)
            self._refuse_overspending(database, spending, charge)
            values = draw()
            database.execute(
                "INSERT INTO releases VALUES (?, ?, ?, ?, ?)",
                (
                    release_id,
                    spending.network,
                    datetime.now(UTC).isoformat(timespec="seconds"),
                    str(charge),
                    spending.specification,
                ),
            )
            database.executemany(
                "INSERT INTO private_loads VALUES (?, ?, ?, ?, ?)",
                (
                    (release_id, i, bus, int(values[i, 0]), int(values[i, 1]))
                    for i, bus in enumerate(spending.buses)
                ),
            )
        return values

    def check(self, spending: Spending) -> Fraction:
        """Return what a release would cost, or raise `BudgetExceededError`; change nothing."""
        with self._transaction(write=False) as database:
            charge = self._charge(database, spending, note=False)
            self._refuse_overspending(database, spending, charge)
            return charge

    def least_left(self, spending: Spending) -> Fraction:
        """Return the least that any of the loads has left, at the distance they are counted at."""
        with self._transaction(write=False) as database:
            balances = self._balances(database, spending)
            return min((cap - spent for _, spent, cap in balances), default=Fraction(0))

    def knows(self, release_id: str) -> bool:
        """Whether a release of that id was drawn."""
        with self._transaction(write=False) as database:
            row = database.execute("SELECT 1 FROM releases WHERE id = ?", (release_id,)).fetchone()
        return row is not None

    def entry(self, release_id: str) -> Entry:
        """Return what is known of a release."""
        with self._transaction(write=False) as database:
            row = database.execute(
                "SELECT r.rowid, r.network, r.drawn_at, r.charge, n.distance FROM releases r "
                "JOIN networks n ON n.id = r.network WHERE r.id = ?",
                (release_id,),
            ).fetchone()
            if row is None:
                raise GridveilError(f"no release {release_id!r} in {self.path}")
            order, network, drawn_at, charge, distance = row
            spent: dict[int, Fraction] = {}
            for bus, text in database.execute(
                "SELECT l.bus, r.charge FROM private_loads l JOIN releases r ON r.id = l.release "
                "WHERE r.network = ? AND r.rowid <= ?",
                (network, order),
            ):
                spent[bus] = spent.get(bus, Fraction(0)) + Fraction(text)
        kept = None if distance is None else Fraction(distance)
        return Entry(drawn_at, Fraction(charge), max(spent.values(), default=Fraction(0)), kept)

    def set_cap(
        self, epsilon: Number, network: str | None = None, buses: Sequence[int] | None = None
    ) -> None:
        """Set the cap of all loads, of a network's loads, or of some of a network's loads."""
        cap = exact(epsilon, "cap")
        if cap < 0:
            raise GridveilError(f"cap: {epsilon} must not be negative")
        if buses is not None and network is None:
            raise GridveilError("a cap for certain buses needs the network they belong to")
        with self._transaction() as database:
            database.executemany(
                "INSERT OR REPLACE INTO caps VALUES (?, ?, ?)",
                [
                    (network or _EVERY_NETWORK, bus, str(cap))
                    for bus in (buses if buses is not None else [_EVERY_BUS])
                ],
            )

    def accounts(self, network: str | None = None) -> list[Account]:
        """Return the budget of every load that has spent any, or of one network's."""
        with self._transaction(write=False) as database:
            rows = database.execute(
                "SELECT n.id, n.label, l.bus, r.charge FROM private_loads l "
                "JOIN releases r ON r.id = l.release JOIN networks n ON n.id = r.network "
                "WHERE ?1 IS NULL OR n.id = ?1 ORDER BY n.label, n.id, l.bus",
                (network,),
            ).fetchall()
            spent: dict[tuple[str, str, int], list[Fraction]] = {}
            for id_, label, bus, charge in rows:
                spent.setdefault((id_, label, bus), []).append(Fraction(charge))
            return [
                Account(
                    id_, label, bus, sum(charges, Fraction(0)), self._cap(database, id_, bus),
                    len(charges),
                )
                for (id_, label, bus), charges in spent.items()
            ]  # fmt: skip

    @contextmanager
    def _transaction(self, write: bool = True) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction: all of it, or nothing."""
        database = self._database
        try:
            database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        except sqlite3.Error as error:
            raise _trouble(self.path, error) from error
        try:
            yield database
            database.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                if database.in_transaction:
                    database.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise _trouble(self.path, error) from error
            raise

    def _stored(
        self, database: sqlite3.Connection, release_id: str, spending: Spending
    ) -> IntArray | None:
        row = database.execute(
            "SELECT network, specification FROM releases WHERE id = ?", (release_id,)
        ).fetchone()
        if row is None:
            return None
        loads = database.execute(
            "SELECT bus, p, q FROM private_loads WHERE release = ? ORDER BY position", (release_id,)
        ).fetchall()
        same = row == (spending.network, spending.specification)
        if not same or [bus for bus, _, _ in loads] != list(spending.buses):
            raise GridveilError(
                f"release id {release_id!r} was drawn for another network or with other "
                "parameters; its loads cannot be drawn again. Choose another id"
            )
        return np.array([(p, q) for _, p, q in loads], dtype=np.int64).reshape(-1, 2)

    def _charge(
        self, database: sqlite3.Connection, spending: Spending, note: bool = True
    ) -> Fraction:
        """Return ε at the network's distance, noting that distance with its first release."""
        epsilon = exact(spending.epsilon, "epsilon")
        asked = None if spending.distance is None else exact(spending.distance, "distance")
        if epsilon <= 0 or (asked is not None and asked <= 0):
            raise GridveilError("epsilon and alpha must be above 0")
        row = database.execute(
            "SELECT distance FROM networks WHERE id = ?", (spending.network,)
        ).fetchone()
        if note and row is None:
            distance = None if asked is None else str(asked)
            database.execute(
                "INSERT INTO networks VALUES (?, ?, ?)",
                (spending.network, spending.label, distance),
            )
        elif note and row[0] is None and asked is not None:
            database.execute(
                "UPDATE networks SET distance = ? WHERE id = ?", (str(asked), spending.network)
            )
        kept = asked if row is None or row[0] is None else Fraction(row[0])
        if asked is None or kept is None:
            return epsilon
        return epsilon * max(Fraction(1), kept / asked)

    def _refuse_overspending(
        self, database: sqlite3.Connection, spending: Spending, charge: Fraction
    ) -> None:
        balances = self._balances(database, spending)
        over = [balance for balance in balances if balance[1] + charge > balance[2]]
        if not over:
            return
        bus, before, cap = over[0]
        left, rate = max(cap - before, Fraction(0)), exact(spending.epsilon, "epsilon") / charge
        others = f" and {len(over) - 1} more loads" if len(over) > 1 else ""
        raise BudgetExceededError(
            f"over budget: bus {bus} of {spending.label}{others}. It has spent ε = "
            f"{float(before):g} of its cap of {float(cap):g}, and this release would cost "
            f"{float(charge):g} more. Every release of a load adds to what can be learnt about it. "
            f"Release with ε of at most {float(left * rate):g}, or raise the cap with 'gridveil "
            "budget cap' if that weaker protection is acceptable"
        )

    def _balances(
        self, database: sqlite3.Connection, spending: Spending
    ) -> list[tuple[int, Fraction, Fraction]]:
        """Return bus, spent budget and cap of every load."""
        spent: dict[int, Fraction] = {}
        for bus, text in database.execute(
            "SELECT l.bus, r.charge FROM private_loads l JOIN releases r ON r.id = l.release "
            "WHERE r.network = ?",
            (spending.network,),
        ):
            spent[bus] = spent.get(bus, Fraction(0)) + Fraction(text)
        return [
            (bus, spent.get(bus, Fraction(0)), self._cap(database, spending.network, bus))
            for bus in spending.buses
        ]

    def _cap(self, database: sqlite3.Connection, network: str, bus: int) -> Fraction:
        for key in ((network, bus), (network, _EVERY_BUS), (_EVERY_NETWORK, _EVERY_BUS)):
            row = database.execute(
                "SELECT epsilon FROM caps WHERE network = ? AND bus = ?", key
            ).fetchone()
            if row is not None:
                return Fraction(row[0])
        return DEFAULT_CAP


def _summary(accounts: Sequence[Account]) -> str:
    if not accounts:
        return "nothing spent"
    networks = len({account.network for account in accounts})
    least = float(min(account.left for account in accounts))
    return f"{len(accounts)} loads of {networks} networks, at least ε = {least:g} left for each"


@contextmanager
def existing_ledger(path: Path | str | None = None) -> Iterator[Ledger]:
    """Open a ledger to look at; where there is none, an empty one that leaves no trace."""
    file = default_path() if path is None else _checked_path(path)
    with tempfile.TemporaryDirectory() as folder:
        yield Ledger(file if file.exists() else Path(folder) / "empty.sqlite")


def _checked_path(path: object) -> Path:
    if not isinstance(path, str | Path):
        raise GridveilError(f"ledger: a path expected, not {type(path).__name__}")
    return Path(path)


def _create(path: Path) -> None:
    """Make an empty ledger whole before it gets its name, so that no half-made one can be seen."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    except OSError as error:
        raise GridveilError(f"cannot make a ledger at {path}: {error.strerror}") from error
    temporary = Path(name)
    try:
        database = sqlite3.connect(temporary)
        database.executescript(_SCHEMA)
        database.close()
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            pass  # another process was faster; its ledger is as good
        except OSError:  # no hard links here
            temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)


def _trouble(path: Path, error: sqlite3.Error) -> GridveilError:
    """Tell a damaged ledger from one that cannot be used just now."""
    if "not a database" in str(error):
        return GridveilError(f"{path}: this is not a ledger; it was left untouched")
    if type(error) is sqlite3.DatabaseError:
        return _damaged(path, str(error))
    return GridveilError(
        f"{path}: the ledger cannot be used: {error}. Nothing was charged; see whether the file "
        "may be written, the disk is full, or another process is using it"
    )


def _damaged(path: Path, detail: str) -> GridveilError:
    return GridveilError(
        f"{path}: the ledger is damaged ({detail}) and was left untouched. Restore it from a "
        "backup: without it, what was spent is unknown and nothing should be released"
    )
