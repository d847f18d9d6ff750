"""The ledger: how much budget each load has spent, with a hard cap, whatever stores it.

A release is one transaction: the register of its loads found, caps checked, private loads drawn,
budget charged, all of it stored, and only then returned. Killed at any moment, it has happened
wholly or not at all; asked again under the same id, it returns what was stored. The ledger holds
private loads: no raw ones, no noise. What has been spent is computed by the rules of accounting.py.
"""

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.arrays import IntArray
from gridveil.errors import GridveilError
from gridveil.frames import frame_of_rows
from gridveil.html_table import html_table
from gridveil.privacy.calibration import Number, exact
from gridveil.privacy.ledger import caps as cap_rows
from gridveil.privacy.ledger.accounting import Spent, together
from gridveil.privacy.ledger.balances import (
    Caps,
    Sums,
    add_charges,
    digest_of_charges,
    floor_of,
    group_spent,
    groups_of,
    spent_of,
    sums_of,
    text_of,
    window_of,
)
from gridveil.privacy.ledger.chain import append, digest_of, events, json_of, now
from gridveil.privacy.ledger.copying import Tables, read_tables, refuse_filled, write_tables
from gridveil.privacy.ledger.inspection import Inspection, inspect
from gridveil.privacy.ledger.postgresql import PostgreSQLStore, is_address, shown_place
from gridveil.privacy.ledger.records import (
    Account,
    BudgetExceededError,
    Cap,
    Charge,
    Entry,
    Event,
    LoadOwner,
    Seal,
    Spending,
)
from gridveil.privacy.ledger.registers import (
    Resolution,
    add_loads,
    inherited,
    record,
    register_named,
    resolve,
)
from gridveil.privacy.ledger.schema import ANY, EACH, NO_ACCOUNT, VERSION
from gridveil.privacy.ledger.sqlite import SQLiteStore, create_file
from gridveil.privacy.ledger.store import Store, Transaction
from gridveil.privacy.ledger.version_1 import take_over
from gridveil.privacy.metric import Metric
from gridveil.privacy.relative_distance import relative_distance_at

PATH_VARIABLE = "GRIDVEIL_LEDGER"
NEW = "no earlier release of any load is known here"
"""What a ledger says that knows no release."""

Place = Path | str
"""A path, or the address of a database: postgresql://…"""


def default_place() -> Place:
    """Return the ledger of this user: GRIDVEIL_LEDGER, or a file in the user's data folder."""
    if PATH_VARIABLE in os.environ:
        return os.environ[PATH_VARIABLE]
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "gridveil" / "ledger.sqlite"


class Ledger:
    """An open ledger; safe to use from many processes, and in a database from many hosts."""

    def __init__(self, place: Place | None = None) -> None:
        """Open a ledger, making a new one if nothing is there.

        Args:
            place: Its file, or the address of a PostgreSQL database, postgresql://ROLE@HOST/NAME;
                None for the user's own (GRIDVEIL_LEDGER, or in the data folder).

        Example:
            >>> from tempfile import mkdtemp
            >>> from gridveil import Ledger
            >>> Ledger(mkdtemp() + "/ledger.sqlite").accounts()
            []
        """
        self._store, self.was_made = _open(default_place() if place is None else place)
        self.place = self._store.place
        self.identity, self.opened_at = self._store.work(
            lambda t: t.all("SELECT identity, opened_at FROM ledger")[0], write=False
        )

    def __repr__(self) -> str:
        return f"Ledger({self.place!r}: {_summary(self.accounts())})"

    def _repr_html_(self) -> str:
        rows = [
            (account.register, account.key, float(account.spent), float(account.left))
            for account in self.accounts()
        ]
        return html_table(repr(self), ("register", "load", "spent ε", "left ε"), rows)

    def to_frame(self) -> Any:
        """Return the budget of every load as a pandas DataFrame."""
        return frame_of_rows([account.figures() for account in self.accounts()])

    def close(self) -> None:
        """Close the file or the connection."""
        self._store.close()

    def spend(self, release_id: str, spending: Spending, draw: Callable[[], IntArray]) -> IntArray:
        """Charge a release and return its private loads, drawn once and stored before use.

        `draw` is called only for an id that is not in the ledger yet.
        """
        if not release_id.strip():
            raise GridveilError("a release needs an id")
        if not release_id.isprintable():
            raise GridveilError("a release id must be printable text")

        def task(transaction: Transaction) -> IntArray:
            found = resolve(transaction, spending.owner)
            stored = _stored(transaction, release_id, spending, found)
            if stored is not None:
                return stored
            found = record(transaction, spending.owner, found)
            asked = _at_floor(transaction, spending, found)
            _note_distance(transaction, found, asked)
            _note_window(transaction, found, asked)
            allowed = _refuse_overspending(transaction, asked, found)
            values = draw()
            _store_release(transaction, release_id, asked, found, values, allowed)
            return values

        return self._store.work(task)

    def check(self, spending: Spending) -> Fraction:
        """Return what a release would cost, or raise `BudgetExceededError`; change nothing."""

        def task(transaction: Transaction) -> Fraction:
            found = resolve(transaction, spending.owner)
            asked = _at_floor(transaction, spending, found)
            return _refuse_overspending(transaction, asked, found).cost

        return self._store.work(task, write=False)

    def least_left(self, spending: Spending) -> Fraction:
        """Return the least that any of the loads has left, at the distance they are counted at."""

        def task(transaction: Transaction) -> Fraction:
            found = resolve(transaction, spending.owner)
            asked = _at_floor(transaction, spending, found)
            balances, _, sums = _balances(transaction, asked, found)
            left = (one.cap.epsilon - sums.at(one.spent, one.cap) for one in balances)
            return min(left, default=Fraction(0))

        return self._store.work(task, write=False)

    def spent_elsewhere(self, spending: Spending) -> dict[str, Fraction]:
        """Return the most that any of the loads has spent in promises of other metrics."""
        return self._store.work(
            lambda t: _spent_elsewhere(t, resolve(t, spending.owner), spending), write=False
        )

    def distance_of(self, spending: Spending) -> Fraction | None:
        """Return the distance at which the budget of a release's register is counted."""

        def task(transaction: Transaction) -> Fraction | None:
            found = resolve(transaction, spending.owner)
            number = 0 if found.register is None else found.register.id
            return Caps(transaction, number, spending.charge.metric).distance(None)

        return self._store.work(task, write=False)

    def open_register(self, owner: LoadOwner) -> str:
        """Give every load of an owner an account, and return the name of its register."""
        found = self._store.work(lambda t: record(t, owner, resolve(t, owner)))
        return found.name

    def register_of(self, spending: Spending) -> str:
        """Return the name of the register that a release would be charged to."""
        return self._store.work(lambda t: resolve(t, spending.owner), write=False).name

    def registers(self) -> list[str]:
        """Return the names of all registers, the oldest first."""
        rows = self._store.work(lambda t: t.all("SELECT name FROM registers ORDER BY id"), False)
        return [name for (name,) in rows]

    def knows(self, release_id: str) -> bool:
        """Whether a release of that id was drawn."""
        rows = self._store.work(
            lambda t: t.all("SELECT 1 FROM releases WHERE id = ?", (release_id,)), write=False
        )
        return bool(rows)

    @property
    def is_empty(self) -> bool:
        """Whether no release of any load is known."""
        rows = self._store.work(lambda t: t.all("SELECT 1 FROM releases LIMIT 1"), write=False)
        return not rows

    def entry(self, release_id: str) -> Entry:
        """Return what is known of a release."""

        def task(transaction: Transaction) -> Entry:
            rows = transaction.all(
                "SELECT r.at, e.charge, e.cumulative, e.distance, e.elsewhere, r.number, r.head, "
                "e.first, e.register, r.content FROM releases e "
                "JOIN rows r ON r.number = e.row_number WHERE e.id = ?",
                (release_id,),
            )
            if not rows:
                raise GridveilError(f"no release {release_id!r} in {self.place}")
            at, charge, cumulative, distance, elsewhere, number, head, first, register, said = rows[
                0
            ]
            is_relative = json.loads(said).get("metric") == Metric.RELATIVE.value
            return Entry(
                at,
                Fraction(charge),
                Fraction(cumulative),
                None if distance in (ANY, EACH) else Fraction(distance),
                floor_of(transaction, register) if is_relative else None,
                distance == EACH,
                {metric: Fraction(most) for metric, most in json.loads(elsewhere).items()},
                (Seal(self.identity, self.opened_at, number, head, bool(first)),),
            )

        return self._store.work(task, write=False)

    def set_cap(
        self,
        epsilon: Number,
        register: str | None = None,
        loads: Sequence[str] | None = None,
        *,
        group: str | None = None,
        distance: Number | None = None,
        distance_metric: Metric | None = None,
        hours: int | None = None,
        metric: Metric | None = None,
        reason: str = "",
    ) -> None:
        """Set the cap of all registers, of one, of some of its loads, or of a group of them.

        Args:
            epsilon: The most that may be spent.
            register: Whose loads; None for all registers without a cap of their own.
            loads: Which of its loads, by their keys; None for all of them.
            group: Which of its groups.
            distance: The distance of two values at which budgets are counted; None keeps it.
            distance_metric: What it is measured in: that of `metric`, or MVA, if None.
            hours: The window of hours within which budgets are counted; None keeps it.
            metric: For promises in which metric the cap and the window are; None for all.
            reason: Why; it is kept in the ledger.
        """
        change = cap_rows.CapChange(
            exact(epsilon, "cap"),
            register,
            None if loads is None else tuple(loads),
            group,
            None if distance is None else exact(distance, "distance"),
            distance_metric or metric or Metric.ABSOLUTE,
            hours,
            metric,
            reason,
        )
        self._store.work(lambda t: cap_rows.change_cap(t, change))

    def set_group(self, register: str, name: str, loads: Sequence[str]) -> None:
        """Say which loads of a register have one owner; their losses add up.

        Args:
            register: The register.
            name: The owner, or what the group is called.
            loads: Keys of its loads; none at all dissolves the group.
        """
        self._store.work(lambda t: cap_rows.set_group(t, register, name, tuple(loads)))

    def add_loads(self, register: str, loads: Sequence[str], reason: str) -> None:
        """Say that loads are new to a register, so that nothing was ever spent on them.

        Args:
            register: The register.
            loads: Their keys.
            reason: Why; it is kept in the ledger.
        """
        self._store.work(lambda t: add_loads(t, register_named(t, register), tuple(loads), reason))

    def accounts(self, register: str | None = None) -> list[Account]:
        """Return the budget of every load, of all registers or of one.

        A load is listed once for each metric in which it has spent something; for absolute
        distances where it has spent nothing.
        """
        return self._store.work(lambda t: _accounts(t, register), write=False)

    def groups(self, register: str | None = None) -> list[Account]:
        """Return the budget of every group of loads, of all registers or of one."""
        return self._store.work(lambda t: _group_accounts(t, register), write=False)

    def inspect(self) -> Inspection:
        """Read the whole ledger, and say what does not follow from its chain."""
        if isinstance(self._store, SQLiteStore):
            self._store.check_file()
        return self._store.work(inspect, write=False)

    def head_of(self, row: int) -> str | None:
        """Return the hash of a row, None if there is no such row."""
        rows = self._store.work(
            lambda t: t.all("SELECT head FROM rows WHERE number = ?", (row,)), write=False
        )
        return str(rows[0][0]) if rows else None

    def release_at(self, row: int) -> str | None:
        """Return the id of the release that a row charged, None if it charged none."""
        rows = self._store.work(
            lambda t: t.all("SELECT id FROM releases WHERE row_number = ?", (row,)), write=False
        )
        return str(rows[0][0]) if rows else None

    def copy_to(self, place: Place) -> None:
        """Copy the ledger to a new file or database; both note it, and have the same identity.

        Spend from one of them only: of two that go on, each would have rows the other lacks.
        """
        target = str(place)
        tables: list[Tables] = []

        def fill(transaction: Transaction) -> None:
            if not tables:
                tables.append(self._store.work(lambda t: read_tables(t, shown_place(target))))
            write_tables(transaction, tables[0])

        if is_address(target):
            database = PostgreSQLStore(target)
            try:
                refuse_filled(not database.version and database.create(fill), database.place)
            finally:
                database.close()
        else:
            path = checked_path(place)
            refuse_filled(not path.exists() and create_file(path, fill), str(path))

    def grant(self, role: str, may_spend: bool) -> None:
        """Let a role of the database use the ledger: to spend, or to look at what was spent.

        Neither may change caps, or anything that was written before; to look at does not show
        private loads.
        """
        if not isinstance(self._store, PostgreSQLStore):
            raise GridveilError(
                f"{self.place}: only a ledger in a database has roles; files have permissions"
            )
        self._store.grant(role, may_spend)

    def history(self, register: str | None = None) -> list[Event]:
        """Return the rows of the ledger, of all registers or of one, the oldest first."""
        rows = self._store.work(
            lambda t: t.all("SELECT number, at, kind, content, head FROM rows ORDER BY number"),
            write=False,
        )
        return [e for e in events(rows) if register in (None, e.content.get("register"))]


LedgerLike = Ledger | Path | str
"""An open ledger, or the place of one."""


@contextmanager
def opened_ledger(ledger: LedgerLike | None = None) -> Iterator[Ledger]:
    """Open a ledger, making it if it is not there, and close it again; one that is open stays."""
    if isinstance(ledger, Ledger):
        yield ledger
        return
    opened = Ledger(ledger)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def existing_ledger(ledger: LedgerLike | None = None) -> Iterator[Ledger]:
    """Open a ledger to look at; where there is none, an empty one that leaves no trace.

    A file of an earlier version is left as it is, and a copy of it is looked at.
    """
    if isinstance(ledger, Ledger):
        yield ledger
        return
    where = default_place() if ledger is None else ledger
    with tempfile.TemporaryDirectory() as folder:
        if not is_address(str(where)):
            file = checked_path(where)
            copy = Path(folder) / "ledger.sqlite"
            if not file.exists() or _copied_version_1(file, copy):
                where = copy
        with opened_ledger(where) as opened:
            yield opened


def _copied_version_1(file: Path, copy: Path) -> bool:
    """Copy a file of an earlier version; return whether it is one."""
    store = SQLiteStore(file)
    try:
        if store.version < VERSION:
            store.copy_file(copy)
        return store.version < VERSION
    finally:
        store.close()


def checked_path(place: object) -> Path:
    """Return a place as a path."""
    if not isinstance(place, str | Path):
        raise GridveilError(f"ledger: a path expected, not {type(place).__name__}")
    return Path(place)


def _open(place: Place) -> tuple[Store, bool]:
    """Open the store of a ledger, making it or taking it over; and whether it was made now."""
    if is_address(str(place)):
        database = PostgreSQLStore(str(place))
        return database, not database.version and database.create(_fill)
    path = checked_path(place)
    made = not path.exists() and create_file(path, _fill)
    file = SQLiteStore(path)
    if file.version < VERSION:
        try:
            take_over(file)
        except BaseException:
            file.close()
            raise
    return file, made


def _fill(transaction: Transaction) -> None:
    """Write the first row of an empty ledger."""
    identity, at = secrets.token_hex(16), now()
    transaction.run("INSERT INTO ledger VALUES (?, ?, ?)", (identity, VERSION, at))
    append(transaction, "opened", {"ledger": identity, "version": VERSION}, at)


def _stored(
    transaction: Transaction, release_id: str, spending: Spending, found: Resolution
) -> IntArray | None:
    rows = transaction.all(
        "SELECT register, specification, names, steps, first_hour, losses FROM releases "
        "WHERE id = ?",
        (release_id,),
    )
    if not rows:
        return None
    register, specification, names, steps, first_hour, losses = rows[0]
    drawn_for: list[list[str]] = json.loads(names)
    same = (
        found.register is not None
        and register == found.register.id
        and specification == spending.specification
        and sorted(drawn_for) == sorted(map(list, spending.owner.keys))
        and (first_hour, losses) == _hours(spending)
    )
    if not same:
        raise GridveilError(
            f"release id {release_id!r} was drawn for another network or with other "
            "parameters; its loads cannot be drawn again. Choose another id"
        )
    values = np.frombuffer(bytes(steps), dtype=">i8").astype(np.int64).reshape(len(drawn_for), -1)
    position = {tuple(keys): i for i, keys in enumerate(drawn_for)}  # rows may be in another order
    return np.asarray(values[[position[tuple(keys)] for keys in spending.owner.keys]])


@dataclass(frozen=True)
class _Allowed:
    """What a release costs that no cap forbids."""

    cost: Fraction
    """The most that it costs any load, as their caps count."""
    spent: Fraction
    """The most that any of them has spent then."""
    counted_at: str
    """The distance at which that is counted, as the tables have it."""
    elsewhere: dict[str, Fraction]
    """The most that any of them has spent in promises of other metrics, by metric."""
    before: Sums


def _store_release(
    transaction: Transaction,
    release_id: str,
    spending: Spending,
    found: Resolution,
    values: IntArray,
    allowed: _Allowed,
) -> None:
    assert found.register is not None
    is_first = not transaction.all("SELECT 1 FROM releases LIMIT 1")
    charged = [
        (found.accounts[key], charge)
        for keys, charge in zip(spending.owner.keys, spending.charges, strict=True)
        for key in keys
    ]
    steps = np.ascontiguousarray(values, dtype=">i8").tobytes()
    first_hour, losses = _hours(spending)
    elsewhere = json_of({m: str(most) for m, most in allowed.elsewhere.items()})
    event = append(
        transaction,
        "release",
        {
            "release": release_id,
            "register": found.name,
            "charge": str(spending.charge.epsilon),
            "cost": str(allowed.cost),
            "spent": str(allowed.spent),
            "counted_at": allowed.counted_at,
            "elsewhere": elsewhere,
            "first": int(is_first),
            "distance": text_of(spending.charge.distance),
            "metric": spending.charge.metric.value,
            "first_hour": first_hour,
            "losses": losses,
            "specification": digest_of([spending.specification]),
            "loads": _names(spending),
            "charges": digest_of_charges(charged),
            "private_loads": digest_of([steps.hex()]),
        },
    )
    transaction.run(
        "INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            release_id, event.row, found.register.id, spending.specification, _names(spending),
            steps, first_hour, losses, str(allowed.cost), str(allowed.spent),
            allowed.counted_at, elsewhere, int(is_first),
        ),
    )  # fmt: skip
    add_charges(transaction, event.row, release_id, charged, spending.hours, allowed.before)


def _names(spending: Spending) -> str:
    return json_of([list(keys) for keys in spending.owner.keys])


def _hours(spending: Spending) -> tuple[int | None, str | None]:
    if spending.hours is None:
        return None, None
    return spending.hours.first, json_of([str(loss) for loss in spending.hours.losses])


def _at_floor(transaction: Transaction, spending: Spending, found: Resolution) -> Spending:
    """Return what is asked with its relative distance as the floor of the register measures it."""
    if spending.floor is None or spending.charge.distance is None:
        return spending
    known = None if found.register is None else floor_of(transaction, found.register.id)
    counted = relative_distance_at(spending.charge.distance, spending.floor, known)
    return replace(spending, charge=replace(spending.charge, distance=counted))


def _note_distance(transaction: Transaction, found: Resolution, spending: Spending) -> None:
    """Let the first release with a distance say at which one each load is counted."""
    register, metric = found.register, spending.charge.metric
    assert register is not None
    if spending.floor is not None and floor_of(transaction, register.id) is None:
        cap_rows.set_floor(transaction, register, spending.floor)
    caps = Caps(transaction, register.id, metric)
    new: dict[str | None, tuple[int, Fraction]] = {}
    if spending.distances is not None:
        for keys, distance in zip(spending.owner.keys, spending.distances, strict=True):
            for key in keys:
                if caps.distance(found.accounts[key]) is None:
                    new[key] = found.accounts[key], distance
    elif caps.distance(None) is None and spending.charge.distance is not None:
        new[None] = NO_ACCOUNT, spending.charge.distance
    if new:
        cap_rows.set_distances(transaction, register, metric, new)


def _note_window(transaction: Transaction, found: Resolution, spending: Spending) -> None:
    """Let the first release with hours say within which window each load is counted."""
    register, metric = found.register, spending.charge.metric
    assert register is not None
    if spending.window is None or metric is Metric.ENERGY:
        return
    if window_of(transaction, register.id, metric) is None:
        cap_rows.set_window(transaction, register, metric, spending.window)


@dataclass(frozen=True)
class _Balance:
    """A load that a release charges, and what it has spent before."""

    key: str
    account: int | None
    spent: Spent
    charge: Charge
    cap: Cap


def _balances(
    transaction: Transaction, spending: Spending, found: Resolution
) -> tuple[list[_Balance], Caps, Sums]:
    """Return what every load that a release charges has spent, and may spend."""
    register = 0 if found.register is None else found.register.id
    metric = spending.charge.metric
    caps = Caps(transaction, register, metric, spending.window)
    sums = sums_of(transaction, metric, register) if register else Sums({})
    heritage = inherited(transaction, found, metric)
    balances = []
    for keys, charge in zip(spending.owner.keys, spending.charges, strict=True):
        for key in keys:
            account = found.accounts.get(key)
            cap = caps.of(account)
            if cap.distance is None:
                cap = replace(cap, distance=charge.distance)
            spent = heritage if account is None else sums.of(account)
            balances.append(_Balance(key, account, spent, charge, cap))
    return balances, caps, sums


def _refuse_overspending(
    transaction: Transaction, spending: Spending, found: Resolution
) -> _Allowed:
    """Return what a release costs.

    Raises:
        BudgetExceededError: A load or a group would spend more than its cap.
    """
    balances, caps, sums = _balances(transaction, spending, found)
    new = {one.charge: spent_of(one.charge, spending.hours) for one in balances}
    over: list[tuple[str, Fraction, Fraction, Cap]] = []
    most_cost, most_spent = Fraction(0), Fraction(0)
    for alike in _alike(balances):
        first = alike[0]
        before = sums.at(first.spent, first.cap)
        after = sums.at(together((first.spent, new[first.charge])), first.cap)
        most_cost, most_spent = max(most_cost, after - before), max(most_spent, after)
        if after > first.cap.epsilon:
            over.extend((one.key, before, after - before, first.cap) for one in alike)
    register = 0 if found.register is None else found.register.id
    charged = {one.account: new[one.charge] for one in balances if one.account is not None}
    noted = {one.account: one.cap.distance for one in balances if one.account is not None}
    for group in groups_of(transaction, register, spending.charge.metric):
        if not charged.keys() & set(group.accounts):
            continue
        cap = caps.of_group(group)
        at = {account: caps.distance(account) for account in group.accounts} | noted
        metric = spending.charge.metric
        before = group_spent(group, metric, sums, at).at(None, cap.hours)
        after = group_spent(group, metric, sums, at, charged).at(None, cap.hours)
        if after > cap.epsilon:
            over.append((f"the group {group.name!r}", before, after - before, cap))
    if over:
        raise _over_budget(spending, over)
    distances = {one.cap.distance for one in balances}
    counted_at = text_of(next(iter(distances))) if len(distances) == 1 else EACH
    elsewhere = _spent_elsewhere(transaction, found, spending)
    return _Allowed(most_cost, most_spent, counted_at, elsewhere, sums)


def _spent_elsewhere(
    transaction: Transaction, found: Resolution, spending: Spending
) -> dict[str, Fraction]:
    """Return the most that any of the loads has spent in each other metric."""
    if found.register is None:
        return {}
    charged = [found.accounts.get(key) for keys in spending.owner.keys for key in keys]
    most: dict[str, Fraction] = {}
    for metric in Metric:
        sums = sums_of(transaction, metric, found.register.id)
        if metric is spending.charge.metric or not sums.spent:
            continue
        caps = Caps(transaction, found.register.id, metric)
        spent = [sums.at(sums.of(account), caps.of(account)) for account in charged]
        if max(spent, default=Fraction(0)) > 0:
            most[metric.value] = max(spent)
    return most


def _alike(balances: Sequence[_Balance]) -> Iterable[list[_Balance]]:
    """Put loads together that have spent the same, and are charged the same under the same cap."""
    found: dict[tuple[object, ...], list[_Balance]] = {}
    for one in balances:
        distance = one.charge.distance
        key = (one.spent, one.cap.epsilon, one.cap.distance, distance)
        found.setdefault(key, []).append(one)
    return found.values()


def _over_budget(
    spending: Spending, over: Sequence[tuple[str, Fraction, Fraction, Cap]]
) -> BudgetExceededError:
    key, before, cost, cap = over[0]
    metric = spending.charge.metric
    possible = min(
        max(cap.epsilon - before, Fraction(0)) / cost * spending.charge.epsilon
        if cost
        else Fraction(0)
        for _, before, cost, cap in over
    )
    advice = f"Release with ε of at most {float(possible):g}, or raise" if possible else "Raise"
    others = f" and {len(over) - 1} more loads" if len(over) > 1 else ""
    return BudgetExceededError(
        f"over budget: {key} of {spending.owner.label}{others}. It has spent ε = "
        f"{float(before):g} of its cap of {float(cap.epsilon):g}, counted at "
        f"{cap.counted(metric)}, and this release would cost {float(cost):g} more. "
        f"Every release of a load adds to what can be learnt about it. {advice} the cap with "
        "'gridveil ledger cap' if that weaker protection is acceptable"
    )


def _accounts(transaction: Transaction, register: str | None) -> list[Account]:
    named = None if register is None else register_named(transaction, register).id
    groups: dict[int, tuple[str, ...]] = {}
    for account, name in transaction.all(
        "SELECT m.account, g.name FROM members m JOIN load_groups g ON g.id = m.load_group "
        "ORDER BY g.name"
    ):
        groups[account] = (*groups.get(account, ()), name)
    counts = _release_counts(transaction)
    rows = transaction.all(
        "SELECT a.id, r.id, r.name, a.key, a.kind FROM accounts a "
        "JOIN registers r ON r.id = a.register ORDER BY r.id, a.id"
    )
    found = []
    for metric, sums in _metrics(transaction, named):
        caps: dict[int, Caps] = {}
        for account, of, name, key, kind in rows:
            if named not in (None, of) or not sums.lists(account):
                continue
            if of not in caps:
                caps[of] = Caps(transaction, of, metric)
            spent, cap = sums.of(account), caps[of].of(account)
            count = counts.get((account, metric.value), 0)
            found.append(
                Account(
                    name, key, sums.at(spent, cap), cap, count, metric, kind,
                    groups.get(account, ()),
                )
            )  # fmt: skip
    return found


def _metrics(transaction: Transaction, register: int | None) -> list[tuple[Metric, Sums]]:
    """Return what was spent in each metric; what has spent nothing is listed in the first."""
    every = [(metric, sums_of(transaction, metric, register)) for metric in Metric]
    elsewhere = frozenset(account for _, sums in every[1:] for account in sums.spent)
    first = every[0][1]
    first.others_than = elsewhere - first.spent.keys()
    return every


def _release_counts(transaction: Transaction) -> dict[tuple[int, str], int]:
    counts: dict[tuple[int, str], int] = {}
    for account, metric, count in (
        *transaction.all(
            "SELECT account, metric, SUM(releases) FROM sums GROUP BY account, metric"
        ),
        *transaction.all("SELECT account, metric, COUNT(*) FROM dated GROUP BY account, metric"),
    ):
        counts[account, metric] = counts.get((account, metric), 0) + int(count)
    return counts


def _group_accounts(transaction: Transaction, register: str | None) -> list[Account]:
    found = []
    for id_, name in transaction.all("SELECT id, name FROM registers ORDER BY id"):
        if register not in (None, name):
            continue
        for metric, sums in _metrics(transaction, id_):
            caps = Caps(transaction, id_, metric)
            for group in groups_of(transaction, id_, metric):
                if not any(map(sums.lists, group.accounts)):
                    continue
                cap = caps.of_group(group)
                at = {account: caps.distance(account) for account in group.accounts}
                spent = group_spent(group, metric, sums, at).at(None, cap.hours)
                found.append(Account(name, group.name, spent, cap, 0, metric, kind="group"))
    return found


def _summary(accounts: Sequence[Account]) -> str:
    spent = [account for account in accounts if account.releases]
    if not spent:
        return "nothing spent"
    registers = len({account.register for account in spent})
    least = float(min(account.left for account in spent))
    return f"{len(spent)} loads of {registers} networks, at least ε = {least:g} left for each"
