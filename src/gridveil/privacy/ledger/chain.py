"""The rows of a ledger, chained by hash: none can be changed or taken away unnoticed.

The head of a row is the SHA-256 of the head before it and of all that the row says. What other
tables hold for a row is named in its content by a digest.
"""

import hashlib
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from gridveil.privacy.ledger.records import Event
from gridveil.privacy.ledger.store import Transaction

START = "0" * 64
"""What stands in place of a head before the first row."""


def append(transaction: Transaction, kind: str, content: dict[str, Any], at: str = "") -> Event:
    """Add a row and return it."""
    rows = transaction.all("SELECT number, head FROM rows ORDER BY number DESC LIMIT 1")
    number, before = (rows[0][0] + 1, rows[0][1]) if rows else (1, START)
    at = at or now()
    head = head_of(before, number, at, kind, content)
    transaction.run(
        "INSERT INTO rows VALUES (?, ?, ?, ?, ?)", (number, at, kind, json_of(content), head)
    )
    return Event(number, at, kind, content, head)


def head_of(before: str, number: int, at: str, kind: str, content: dict[str, Any]) -> str:
    """Return the hash of a row, given that of the row before it."""
    text = json_of([before, number, at, kind, content])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_of(rows: Iterable[object]) -> str:
    """Return a digest of values that stand in another table."""
    return hashlib.sha256(json_of(list(rows)).encode("utf-8", "surrogatepass")).hexdigest()


def json_of(value: object) -> str:
    """Return a value as JSON in one spelling."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def now() -> str:
    """Return date and time, UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def events(rows: Iterable[tuple[Any, ...]]) -> list[Event]:
    """Return rows of the table as events."""
    return [Event(n, at, kind, json.loads(content), head) for n, at, kind, content, head in rows]


def broken_rows(history: Iterable[Event]) -> list[str]:
    """Say which rows do not follow from those before them."""
    found, before, wanted = [], START, 1
    for event in history:
        if event.row != wanted:
            found.append(f"row {wanted} is missing")
        head = head_of(before, event.row, event.at, event.kind, event.content)
        if head != event.head:
            found.append(f"row {event.row} ({event.kind}) does not follow from the rows before it")
        before, wanted = event.head, event.row + 1
    return found
