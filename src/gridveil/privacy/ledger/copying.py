"""Copies a ledger from one store to another, rows and all."""

from collections.abc import Mapping

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.chain import append
from gridveil.privacy.ledger.store import Row, Transaction

TABLES = (
    "ledger", "rows", "registers", "accounts", "surroundings", "branches", "may_be", "caps",
    "distances", "windows", "floors", "load_groups", "members", "group_caps",
    "releases", "charges", "sums", "dated",
)  # fmt: skip
"""Each after those that it refers to."""

Tables = Mapping[str, list[Row]]


def read_tables(transaction: Transaction, target: str) -> Tables:
    """Note in a ledger that it is copied, and return all of it."""
    append(transaction, "copied", {"to": target})
    return {name: transaction.all(f"SELECT * FROM {name}") for name in TABLES}


def write_tables(transaction: Transaction, tables: Tables) -> None:
    """Fill the empty tables of another ledger."""
    for name in TABLES:
        rows = tables[name]
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            transaction.run_many(f"INSERT INTO {name} VALUES ({marks})", rows)


def refuse_filled(is_made: bool, place: str) -> None:
    """Refuse to copy over a ledger that is there."""
    if not is_made:
        raise GridveilError(f"{place}: there is a ledger already; nothing is copied over it")
