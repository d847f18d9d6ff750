"""A ledger in a schema of a PostgreSQL database, for several hosts at once.

Tasks that write take one lock after the other, so that caps hold whoever asks. A connection to
another host is encrypted and the server's certificate checked, unless the address says otherwise in
words. psycopg is an extra: pip install 'gridveil[postgres]'.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.schema import BYTES, TABLES, VERSION
from gridveil.privacy.ledger.store import (
    Row,
    Store,
    Transaction,
    damaged,
    other_version,
    unusable,
)

T = TypeVar("T")

PREFIXES = ("postgresql://", "postgres://")
SCHEMA = "gridveil"
_LOCK = 0x47564C47  # "GVLG"
_PATIENCE_SECONDS = 60.0
"""How long a server that was lost is waited for before a task is given up."""
_PAUSE_SECONDS = 0.2
_VALUES = "VALUES ("
_ROWS_AT_ONCE = 10_000
_LOCAL = ("", "localhost", "127.0.0.1", "::1")
_ADVICE = "see whether the server runs, the address is right and this role may use the ledger"


_ADDED_TO = (
    "rows", "registers", "accounts", "surroundings", "branches", "may_be", "distances",
    "windows", "floors", "releases", "charges", "sums", "dated",
)  # fmt: skip
"""What a release writes."""
_CHANGED = ("registers", "accounts", "sums")
"""What a release changes: known keys of loads, and sums, which follow from charges."""
_WITHOUT_LOADS = (
    "ledger", "rows", "registers", "accounts", "surroundings", "branches", "may_be", "caps",
    "distances", "windows", "floors", "load_groups", "members", "group_caps", "charges", "sums",
    "dated",
)  # fmt: skip
_RELEASE_COLUMNS = (
    "id", "row_number", "register", "specification", "names", "first_hour", "losses", "charge",
    "cumulative", "distance", "elsewhere", "first",
)  # fmt: skip
"""All but the private loads."""


class PostgreSQLStore(Store):
    """A schema of a database, whose writers wait for one lock."""

    def __init__(self, address: str) -> None:
        """Connect; `create` makes the tables where there are none."""
        self._psycopg = _import_psycopg()
        self._parameters = self._connection_parameters(address)
        self.place = _shown(self._parameters)
        self._database: Any = None
        self.version: int | None = None
        self.version = self.work(self._version, write=False)

    def work(self, task: Callable[[Transaction], T], write: bool = True) -> T:
        """Run a task as one transaction; run it again where the server was lost before its end.

        A task whose end the server may or may not have kept is run again too: so it has to find
        what it did, as a release finds its id.
        """
        deadline = time.monotonic() + (_PATIENCE_SECONDS if self.version is not None else 0)
        while True:
            try:
                return self._once(task, write)
            except (self._psycopg.OperationalError, self._psycopg.InterfaceError) as error:
                self._drop()
                if time.monotonic() > deadline or not _may_return(error):
                    raise unusable(self.place, _first_line(error), _ADVICE) from None
                time.sleep(_PAUSE_SECONDS)
            except self._psycopg.Error as error:
                raise unusable(self.place, _first_line(error), _ADVICE) from None

    def _once(self, task: Callable[[Transaction], T], write: bool) -> T:
        database = self._connected()
        try:
            if write:
                database.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            else:
                database.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            result = task(_PostgreSQLTransaction(database))
            database.commit()
        except BaseException:
            with suppress(self._psycopg.Error):
                database.rollback()
            raise
        return result

    def create(self, fill: Callable[[Transaction], Any]) -> bool:
        """Make the tables of an empty ledger, unless another process was faster."""

        def task(transaction: Transaction) -> bool:
            if self._version(transaction):
                return False
            transaction.run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            for statement in TABLES.replace(BYTES, "BYTEA").split(";"):
                if statement.strip():
                    transaction.run(statement)
            fill(transaction)
            return True

        made = self.work(task)
        self.version = self.work(self._version, write=False)
        return made

    def grant(self, role: str, may_spend: bool) -> None:
        """Let a role spend, or look at what was spent; see `Ledger.grant`."""
        name = self._psycopg.sql.Identifier(role).as_string(None)
        rights = [f"GRANT USAGE ON SCHEMA {SCHEMA} TO {name}"]
        if may_spend:
            rights += [
                f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {name}",
                f"GRANT INSERT ON {', '.join(_ADDED_TO)} TO {name}",
                f"GRANT UPDATE ON {', '.join(_CHANGED)} TO {name}",
            ]
        else:
            rights += [
                f"GRANT SELECT ON {', '.join(_WITHOUT_LOADS)} TO {name}",
                f"GRANT SELECT ({', '.join(_RELEASE_COLUMNS)}) ON releases TO {name}",
            ]

        def task(transaction: Transaction) -> None:
            for right in rights:
                transaction.run(right)

        self.work(task)

    def close(self) -> None:
        """Close the connection."""
        self._drop()

    def _version(self, transaction: Transaction) -> int:
        """Return the version of the ledger, 0 if there is none."""
        # Not by to_regclass: it goes by a cache that may not know yet what another process made.
        if not transaction.all(
            "SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = ? AND tablename = 'ledger'",
            (SCHEMA,),
        ):
            return 0
        rows = transaction.all("SELECT version FROM ledger")
        if len(rows) != 1:
            raise damaged(self.place, "it does not say who it is")
        version = int(rows[0][0])
        if version != VERSION:
            raise other_version(self.place, version, VERSION)
        return version

    def _connected(self) -> Any:
        if self._database is None or self._database.closed:
            self._database = self._psycopg.connect(
                **self._parameters, options=f"-c search_path={SCHEMA} -c synchronous_commit=on"
            )
        return self._database

    def _drop(self) -> None:
        if self._database is not None:
            with suppress(Exception):
                self._database.close()
        self._database = None

    def _connection_parameters(self, address: str) -> dict[str, str]:
        try:
            given = self._psycopg.conninfo.conninfo_to_dict(address)
        except self._psycopg.Error:
            raise GridveilError(
                "--ledger: this is no address of a database; it looks like "
                "postgresql://ROLE@HOST/DATABASE"
            ) from None
        parameters = {key: str(value) for key, value in given.items() if value is not None}
        hosts = parameters.get("host", "").split(",")
        if not all(host in _LOCAL or host.startswith("/") for host in hosts):
            parameters.setdefault("sslmode", "verify-full")
            parameters.setdefault("sslrootcert", "system")
        parameters.setdefault("connect_timeout", "10")
        parameters.setdefault("application_name", "gridveil")
        return parameters


class _PostgreSQLTransaction:
    def __init__(self, database: Any) -> None:
        self._database = database

    def all(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        rows: list[Row] = self._database.execute(_statement(statement), tuple(values)).fetchall()
        return rows

    def run(self, statement: str, values: Sequence[object] = ()) -> None:
        self._database.execute(_statement(statement), tuple(values))

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for many rows: an insertion of many at once, as arrays of its columns."""
        before, insertion, after = statement.partition(_VALUES)
        every = [tuple(row) for row in rows]
        if not insertion:
            with self._database.cursor() as cursor:
                cursor.executemany(_statement(statement), every)
            return
        values, _, rest = after.partition(")")
        for start in range(0, len(every), _ROWS_AT_ONCE):
            columns = [list(c) for c in zip(*every[start : start + _ROWS_AT_ONCE], strict=True)]
            self.run(f"{before}{_select(values, columns)}{rest}", columns)


def _select(values: str, columns: Sequence[Sequence[object]]) -> str:
    """Return a query whose rows are values of a statement, each ? taken from an array."""
    names = [f"column_{i}" for i in range(len(columns))]
    types = [_type(column) for column in columns]
    sources = iter(
        "NULL" if type_ is None else name for name, type_ in zip(names, types, strict=True)
    )
    selected = ", ".join(next(sources) if value == "?" else value for value in values.split(", "))
    arrays = ", ".join(f"?::{type_ or 'text'}[]" for type_ in types)
    return f"SELECT {selected} FROM unnest({arrays}) AS given ({', '.join(names)})"


def _type(values: Iterable[object]) -> str | None:
    """Return the type of a column of values; None if all are NULL."""
    kinds = {type(value) for value in values if value is not None}
    return {int: "bigint", str: "text", bytes: "bytea"}[kinds.pop()] if kinds else None


def is_address(place: str) -> bool:
    """Whether a place is the address of a database, and not a path."""
    return place.startswith(PREFIXES)


def _statement(text: str) -> str:
    return text.replace("?", "%s")


def _import_psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise GridveilError(
            "psycopg is not installed, which a ledger in a database needs; "
            "pip install 'gridveil[postgres]'"
        ) from None
    return psycopg


def _may_return(error: Any) -> bool:
    """Whether a lost connection may come back: not where the role or database is refused."""
    state = getattr(error, "sqlstate", None)
    refused = ("password", "does not exist", "certificate", "no pg_hba.conf", "SSL")
    return (state is None or state[:2] in ("08", "57", "40", "53")) and not any(
        word in str(error) for word in refused
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def shown_place(place: str) -> str:
    """Return a path, or an address as messages show it, without a password."""
    if not is_address(place):
        return place
    return _shown(_import_psycopg().conninfo.conninfo_to_dict(place))


def _shown(parameters: dict[str, str]) -> str:
    """Return an address as messages show it, without a password."""
    user, host = parameters.get("user", ""), parameters.get("host", "localhost")
    port = f":{parameters['port']}" if "port" in parameters else ""
    at = f"{user}@" if user else ""
    return f"postgresql://{at}{host}{port}/{parameters.get('dbname', '')}"
