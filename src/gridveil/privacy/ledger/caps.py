"""Caps, the distances they are counted at, and groups of loads: every change is a row."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.balances import EVERY_REGISTER, reference, text_of
from gridveil.privacy.ledger.chain import append
from gridveil.privacy.ledger.registers import Register, accounts_of, register_named
from gridveil.privacy.ledger.schema import NO_ACCOUNT
from gridveil.privacy.ledger.store import Transaction
from gridveil.privacy.metric import Metric

EVERY_METRIC = "all"
"""In place of a metric: a cap of all of them."""
_LONGEST_HOURS = 10 * 366 * 24


@dataclass(frozen=True)
class CapChange:
    """A new cap."""

    epsilon: Fraction
    register: str | None
    """None for all registers without a cap of their own."""
    loads: tuple[str, ...] | None
    """Keys of loads; None for all of the register."""
    group: str | None
    distance: Fraction | None
    """The distance at which budgets are counted; None keeps it."""
    hours: int | None
    """The window within which budgets are counted; None keeps it."""
    metric: Metric | None
    """None for all metrics, which keep their distances."""
    reason: str

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that it is for."""
        return tuple(Metric) if self.metric is None else (self.metric,)

    def check(self) -> None:
        """Refuse what no cap can be."""
        if self.epsilon < 0:
            raise GridveilError(f"cap: {float(self.epsilon):g} must not be negative")
        if self.distance is not None and self.distance <= 0:
            raise GridveilError(f"cap: the distance {float(self.distance):g} must be above 0")
        if self.hours is not None and not 0 < self.hours <= _LONGEST_HOURS:
            raise GridveilError(f"cap: a window of {self.hours} hours makes no sense")
        if self.register is None and (self.loads is not None or self.group is not None):
            raise GridveilError("a cap of certain loads needs the register they belong to")
        if self.loads is not None and self.group is not None:
            raise GridveilError("a cap is of certain loads or of a group, not of both")
        if not self.reason.isprintable():
            raise GridveilError("the reason of a cap must be printable text")
        if self.metric is None and (self.distance is not None or self.hours is not None):
            raise GridveilError("a distance or a window is one of a certain metric")


def change_cap(transaction: Transaction, change: CapChange) -> None:
    """Write a new cap, with what held before."""
    change.check()
    register = None if change.register is None else register_named(transaction, change.register)
    change_one = _change_accounts if change.group is None else _change_group
    before = {m.value: change_one(transaction, register, change, m) for m in change.metrics}
    content: dict[str, object] = {
        "register": change.register,
        "loads": None if change.loads is None else list(change.loads),
        "group": change.group,
        "metric": EVERY_METRIC if change.metric is None else change.metric.value,
        "cap": str(change.epsilon),
        "before": {metric: caps for metric, caps in before.items() if caps},
        "sets_distance": change.distance is not None or change.hours is not None,
        "reason": change.reason,
    }
    if change.metric is not None and content["sets_distance"]:
        content |= _change_distance(transaction, register, change, change.metric)
    append(transaction, "cap", content)


def _change_distance(
    transaction: Transaction, register: Register | None, change: CapChange, metric: Metric
) -> dict[str, object]:
    """Write at which distance and within which window is counted, and return it with the last."""
    number = EVERY_REGISTER if register is None else register.id
    last, last_hours = reference(transaction, number, metric)
    distance, hours = change.distance or last, change.hours or last_hours
    accounts = [NO_ACCOUNT]
    if register is not None and change.loads is not None:
        accounts = accounts_of(transaction, register, change.loads)
    for account in accounts:
        _write_distance(transaction, (number, account, metric.value), distance, hours)
    return {
        "distance": text_of(distance),
        "distance_before": text_of(last),
        "hours": hours,
        "hours_before": last_hours,
    }


def set_distance(
    transaction: Transaction,
    register: int,
    name: str,
    metric: Metric,
    distances: Mapping[str | None, tuple[int, Fraction]],
    hours: int | None,
) -> None:
    """Write at which distances a register's budget is counted, as its first release has them.

    Args:
        transaction: The open transaction.
        register: The register.
        name: Its name.
        metric: The metric.
        distances: By key, the account of a load and its distance; None for all loads.
        hours: The window, which stays.
    """
    for account, distance in distances.values():
        _write_distance(transaction, (register, account, metric.value), distance, hours)
    content = {
        "register": name,
        "metric": metric.value,
        "loads": None if None in distances else list(distances),
        "distance": [text_of(distance) for _, distance in distances.values()],
        "hours": hours,
        "reason": "that of the first release",
    }
    append(transaction, "distance", content)


def set_group(transaction: Transaction, register: str, name: str, loads: tuple[str, ...]) -> None:
    """Write which loads have one owner."""
    if not name.strip() or not name.isprintable():
        raise GridveilError("a group needs a name of printable characters")
    known = register_named(transaction, register)
    accounts = accounts_of(transaction, known, loads)
    rows = transaction.all(
        "SELECT id FROM load_groups WHERE register = ? AND name = ?", (known.id, name)
    )
    if rows:
        group = rows[0][0]
        transaction.run("DELETE FROM members WHERE load_group = ?", (group,))
    else:
        group = transaction.all("SELECT COALESCE(MAX(id), 0) + 1 FROM load_groups")[0][0]
        transaction.run("INSERT INTO load_groups VALUES (?, ?, ?)", (group, known.id, name))
    transaction.run_many(
        "INSERT INTO members VALUES (?, ?)", ((group, account) for account in set(accounts))
    )
    if not loads:
        transaction.run("DELETE FROM group_caps WHERE load_group = ?", (group,))
        transaction.run("DELETE FROM load_groups WHERE id = ?", (group,))
    append(transaction, "group", {"register": register, "group": name, "loads": sorted(loads)})


def _change_accounts(
    transaction: Transaction, register: Register | None, change: CapChange, metric: Metric
) -> dict[str, str]:
    """Write caps of loads, and return those before, by load."""
    number = EVERY_REGISTER if register is None else register.id
    accounts = {"all": NO_ACCOUNT}
    if register is not None and change.loads is not None:
        found = accounts_of(transaction, register, change.loads)
        accounts = dict(zip(change.loads, found, strict=True))
    held: dict[int, str] = dict(
        transaction.all(
            "SELECT account, epsilon FROM caps WHERE register = ? AND metric = ?",
            (number, metric.value),
        )
    )
    transaction.run_many(
        "INSERT INTO caps VALUES (?, ?, ?, ?) ON CONFLICT (register, account, metric) "
        "DO UPDATE SET epsilon = excluded.epsilon",
        ((number, a, metric.value, str(change.epsilon)) for a in accounts.values()),
    )
    return {key: held[a] for key, a in accounts.items() if a in held}


def _change_group(
    transaction: Transaction, register: Register | None, change: CapChange, metric: Metric
) -> dict[str, str]:
    assert register is not None
    rows = transaction.all(
        "SELECT id FROM load_groups WHERE register = ? AND name = ?", (register.id, change.group)
    )
    if not rows:
        raise GridveilError(f"register {register.name!r} has no group {change.group!r}")
    key = (rows[0][0], metric.value)
    held = transaction.all(
        "SELECT epsilon FROM group_caps WHERE load_group = ? AND metric = ?", key
    )
    transaction.run(
        "INSERT INTO group_caps VALUES (?, ?, ?) ON CONFLICT (load_group, metric) "
        "DO UPDATE SET epsilon = excluded.epsilon",
        (*key, str(change.epsilon)),
    )
    return {str(change.group): held[0][0]} if held else {}


def _write_distance(
    transaction: Transaction,
    key: tuple[int, int, str],
    distance: Fraction | None,
    hours: int | None,
) -> None:
    """Write the distance of a register, account and metric; its window is that of the register."""
    where = "register = ? AND account = ? AND metric = ?"
    if transaction.all(f"SELECT 1 FROM distances WHERE {where}", key):
        statement = f"UPDATE distances SET distance = ?, hours = ? WHERE {where}"
        transaction.run(statement, (text_of(distance), hours, *key))
    else:
        values = (*key, text_of(distance), hours)
        transaction.run("INSERT INTO distances VALUES (?, ?, ?, ?, ?)", values)
