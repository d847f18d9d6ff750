"""A ledger in one SQLite file."""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.schema import BYTES, TABLES, VERSION
from gridveil.privacy.ledger.store import (
    Row,
    Store,
    Transaction,
    damaged,
    not_a_ledger,
    other_version,
    unusable,
)

T = TypeVar("T")

_APPLICATION_ID = 0x47564C47  # "GVLG"
_BUSY_SECONDS = 120
_CHECKED_BYTES = 32 * 2**20
"""Files up to this size are checked whole whenever they are opened; `check` does it for all."""
_ADVICE = "see whether the file may be written, the disk is full, or another process is using it"


class SQLiteStore(Store):
    """One file, which SQLite locks."""

    def __init__(self, path: Path) -> None:
        """Open an existing file; refuse one that is no ledger, damaged, or of another version."""
        self.path = path
        self.place = str(path)
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
            self.version = self._check()
        except BaseException:
            self._database.close()
            raise

    def _check(self) -> int:
        database = self._database
        try:
            application, version = (
                database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            )
            if application != _APPLICATION_ID:
                raise not_a_ledger(self.place)
            if not 1 <= version <= VERSION:
                raise other_version(self.place, version, VERSION)
            database.execute("PRAGMA synchronous = EXTRA")
            pages, size = (
                database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "page_size")
            )
            if pages * size <= _CHECKED_BYTES:
                self.check_file()
        except sqlite3.Error as error:
            raise _trouble(self.path, error) from error
        return int(version)

    def check_file(self) -> None:
        """Read the whole file, and refuse it if SQLite finds it damaged."""
        try:
            verdict = self._database.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            raise _trouble(self.path, error) from error
        if verdict != "ok":
            raise damaged(self.place, verdict)

    def work(self, task: Callable[[Transaction], T], write: bool = True) -> T:
        """Run a task as one transaction: all of it, or nothing."""
        database = self._database
        try:
            database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        except sqlite3.Error as error:
            raise _trouble(self.path, error) from error
        try:
            result = task(_SQLiteTransaction(database))
            database.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                if database.in_transaction:
                    database.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise _trouble(self.path, error) from error
            raise
        return result

    def copy_file(self, target: Path) -> None:
        """Copy the file as it is, through SQLite: reading it otherwise would drop its locks."""
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            with closing(sqlite3.connect(temporary)) as copy, closing(self._reader()) as reader:
                reader.backup(copy)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    def _reader(self) -> sqlite3.Connection:
        """Return another connection, as one that writes cannot be copied from."""
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


class _SQLiteTransaction:
    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def all(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        return self._database.execute(statement, tuple(values)).fetchall()

    def run(self, statement: str, values: Sequence[object] = ()) -> None:
        self._database.execute(statement, tuple(values))

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        self._database.executemany(statement, map(tuple, rows))


def create_file(path: Path, fill: Callable[[Transaction], Any]) -> bool:
    """Make a ledger whole before it gets its name, so that no half-made one can be seen.

    Returns:
        Whether it was made here; another process may have been faster, with one as good.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    except OSError as error:
        raise GridveilError(f"cannot make a ledger at {path}: {error.strerror}") from error
    temporary = Path(name)
    try:
        database = sqlite3.connect(temporary, isolation_level=None)
        database.execute("BEGIN")
        create_tables(_SQLiteTransaction(database))
        fill(_SQLiteTransaction(database))
        database.execute("COMMIT")
        database.close()
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            return False
        except OSError:  # no hard links here
            temporary.rename(path)
    except sqlite3.Error as error:
        raise GridveilError(f"cannot make a ledger at {path}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return True


def create_tables(transaction: Transaction) -> None:
    """Create the tables of an empty ledger."""
    transaction.run(f"PRAGMA application_id = {_APPLICATION_ID}")
    transaction.run(f"PRAGMA user_version = {VERSION}")
    for statement in TABLES.replace(BYTES, "BLOB").split(";"):
        if statement.strip():
            transaction.run(statement)


def _trouble(path: Path, error: sqlite3.Error) -> GridveilError:
    """Tell a damaged ledger from one that cannot be used just now."""
    if "not a database" in str(error):
        return not_a_ledger(str(path))
    if type(error) is sqlite3.DatabaseError:
        return damaged(str(path), str(error))
    return unusable(str(path), error, _ADVICE)
