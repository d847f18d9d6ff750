"""The interface of a store: where the tables of a ledger are, and how a transaction runs there.

Statements are written once, for SQLite and PostgreSQL alike, with `?` for each value.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from gridveil.errors import GridveilError

T = TypeVar("T")
Row = tuple[Any, ...]


class Transaction(Protocol):
    """An open transaction."""

    def all(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Run a query and return its rows."""

    def run(self, statement: str, values: Sequence[object] = ()) -> None:
        """Run a statement."""

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once for each row of values."""


class Store(ABC):
    """Where a ledger is kept; safe to use from many processes at once."""

    place: str
    """What messages call it: the path, or the address without a password."""

    @abstractmethod
    def work(self, task: Callable[[Transaction], T], write: bool = True) -> T:
        """Run a task as one transaction: all of it, or nothing.

        Tasks that write run one after the other. A task may be run again where its transaction
        was lost before anything of it was kept.

        Raises:
            GridveilError: The store cannot be used, or is damaged.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


def damaged(place: str, detail: str) -> GridveilError:
    """Return the error for a ledger that cannot be believed any more."""
    return GridveilError(
        f"{place}: the ledger is damaged ({detail}) and was left untouched. Restore it from a "
        "backup: without it, what was spent is unknown and nothing should be released"
    )


def unusable(place: str, cause: object, advice: str) -> GridveilError:
    """Return the error for a ledger that cannot be used just now."""
    return GridveilError(
        f"{place}: the ledger cannot be used: {cause}. Nothing was charged by this step; {advice}"
    )


def not_a_ledger(place: str) -> GridveilError:
    """Return the error for something else in the place of a ledger."""
    return GridveilError(f"{place}: this is not a ledger; it was left untouched")


def other_version(place: str, found: object, known: int) -> GridveilError:
    """Return the error for a ledger that a later program wrote."""
    return GridveilError(
        f"{place}: a ledger of version {found}, but this program knows version {known}; it was "
        "left untouched"
    )
