"""Caps, the distances they are counted at, and groups of loads: every change is a row."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.balances import EVERY_REGISTER, text_of
from gridveil.privacy.ledger.chain import append
from gridveil.privacy.ledger.registers import Register, accounts_of, register_named
from gridveil.privacy.ledger.schema import NO_ACCOUNT
from gridveil.privacy.ledger.store import Transaction
from gridveil.privacy.metric import Metric

EVERY_METRIC = "all"
"""In place of a metric: a cap of all of them."""
FIRST_METRICS = (Metric.ABSOLUTE, Metric.RELATIVE, Metric.LOG)
"""All of them in rows of 0.3 and before, which do not name them."""
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
    distance_metric: Metric
    """What that distance is measured in."""
    hours: int | None
    """The window within which budgets are counted; None keeps it."""
    metric: Metric | None
    """For promises in which metric the cap and the window are; None for all."""
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
        if self.metric not in (None, self.distance_metric) and self.distance is not None:
            raise GridveilError(
                f"cap: the distance is {self.distance_metric.value}, the cap of "
                f"{self.metric.value if self.metric else ''} promises"
            )
        if self.hours is not None and self.metric is Metric.ENERGY:
            raise GridveilError("promises about energy are about all hours, and have no window")
        if self.hours is not None and (self.loads is not None or self.group is not None):
            raise GridveilError("a window of hours is one of a register, or of all of them")


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
        "metrics": [metric.value for metric in change.metrics],
        "cap": str(change.epsilon),
        "before": {metric: caps for metric, caps in before.items() if caps},
        "reason": change.reason,
        **_change_distance(transaction, register, change),
        **_change_window(transaction, register, change),
    }
    append(transaction, "cap", content)


def _change_distance(
    transaction: Transaction, register: Register | None, change: CapChange
) -> dict[str, object]:
    """Write at which distance is counted, and return it with those of before."""
    if change.distance is None:
        return {}
    number, metric = _number(register), change.distance_metric.value
    accounts = [NO_ACCOUNT]
    if register is not None and change.loads is not None:
        accounts = accounts_of(transaction, register, change.loads)
    held: dict[int, str] = dict(
        transaction.all(
            "SELECT account, distance FROM distances WHERE register = ? AND metric = ?",
            (number, metric),
        )
    )
    transaction.run_many(
        "INSERT INTO distances VALUES (?, ?, ?, ?) ON CONFLICT (register, account, metric) "
        "DO UPDATE SET distance = excluded.distance",
        ((number, account, metric, text_of(change.distance)) for account in accounts),
    )
    return {
        "distance": text_of(change.distance),
        "distance_metric": metric,
        "distances_before": sorted({held[a] for a in accounts if a in held}),
    }


def _change_window(
    transaction: Transaction, register: Register | None, change: CapChange
) -> dict[str, object]:
    """Write within which window is counted, and return it with those of before."""
    if change.hours is None:
        return {}
    number = _number(register)
    held = transaction.all("SELECT metric, hours FROM windows WHERE register = ?", (number,))
    transaction.run_many(
        "INSERT INTO windows VALUES (?, ?, ?) ON CONFLICT (register, metric) "
        "DO UPDATE SET hours = excluded.hours",
        ((number, metric.value, change.hours) for metric in change.metrics),
    )
    return {"hours": change.hours, "hours_before": dict(held)}


def _number(register: Register | None) -> int:
    return EVERY_REGISTER if register is None else register.id


def set_distances(
    transaction: Transaction,
    register: Register,
    metric: Metric,
    distances: Mapping[str | None, tuple[int, Fraction]],
) -> None:
    """Write at which distances a register's budget is counted, as its first release has them.

    Args:
        transaction: The open transaction.
        register: The register.
        metric: The metric.
        distances: By key, the account of a load and its distance; None for all loads.
    """
    transaction.run_many(  # who may spend may add distances, and change none
        "INSERT INTO distances VALUES (?, ?, ?, ?)",
        (
            (register.id, account, metric.value, text_of(distance))
            for account, distance in distances.values()
        ),
    )
    content = {
        "register": register.name,
        "metric": metric.value,
        "loads": None if None in distances else list(distances),
        "distance": [text_of(distance) for _, distance in distances.values()],
        "reason": "that of the first release",
    }
    append(transaction, "distance", content)


def set_window(transaction: Transaction, register: Register, metric: Metric, hours: int) -> None:
    """Write within which hours a register's budget is counted, as its first series has them."""
    transaction.run("INSERT INTO windows VALUES (?, ?, ?)", (register.id, metric.value, hours))
    content = {
        "register": register.name,
        "metric": metric.value,
        "hours": hours,
        "reason": "that of the first release with hours",
    }
    append(transaction, "window", content)


def set_floor(transaction: Transaction, register: Register, floor: Fraction) -> None:
    """Write below which load, in MVA, relative distances of a register become absolute ones."""
    transaction.run("INSERT INTO floors VALUES (?, ?)", (register.id, str(floor)))
    content = {
        "register": register.name, "floor": str(floor), "reason": "that of the first release"
    }  # fmt: skip
    append(transaction, "floor", content)


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
    number = _number(register)
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
