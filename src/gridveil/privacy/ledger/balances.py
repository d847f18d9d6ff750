"""What accounts have spent and may spend, read from and written to the tables of a ledger."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from gridveil.privacy.ledger.accounting import DatedLoss, Spent, together
from gridveil.privacy.ledger.chain import digest_of
from gridveil.privacy.ledger.records import DEFAULT_CAP, Cap, Charge, Hours
from gridveil.privacy.ledger.schema import ANY, NO_ACCOUNT
from gridveil.privacy.ledger.store import Transaction
from gridveil.privacy.metric import Metric

EVERY_REGISTER = 0
"""In place of a register: a cap or a distance of all registers without one of their own."""
_MOST_VALUES = 500
"""Values of one statement; more accounts take several."""


@dataclass(frozen=True)
class Group:
    """Loads of one owner, whose losses add up."""

    id: int
    name: str
    accounts: tuple[int, ...]
    """Those that its owner named, and those that may be one of them."""
    cap: Fraction | None
    """None where it is that of a load."""


@dataclass
class Sums:
    """What accounts have spent, computed once for all accounts that have spent the same."""

    spent: Mapping[int, Spent]
    others_than: frozenset[int] | None = None
    """Where accounts are listed that have spent nothing: all but these, listed elsewhere."""
    _known: dict[tuple[Spent, Fraction | None, int | None], Fraction] = field(default_factory=dict)

    def of(self, account: int | None) -> Spent:
        """Return all that an account has spent."""
        return self.spent.get(account, _NOTHING) if account is not None else _NOTHING

    def lists(self, account: int) -> bool:
        """Whether an account is listed here: it has spent something, or nothing anywhere."""
        listed = self.others_than is not None and account not in self.others_than
        return account in self.spent or listed

    def at(self, spent: Spent, cap: Cap) -> Fraction:
        """Return what was spent at the distance and in the window of a cap."""
        key = (spent, cap.distance, cap.hours)
        if key not in self._known:
            self._known[key] = spent.at(cap.distance, cap.hours)
        return self._known[key]


_NOTHING = Spent({})


def sums_of(transaction: Transaction, metric: Metric, register: int | None = None) -> Sums:
    """Return what the accounts of a register, or all accounts, have spent in a metric."""
    where, values = ("", ()) if register is None else (" AND a.register = ?", (register,))
    undated: dict[int, tuple[tuple[str, str], ...]] = {}
    for account, distance, epsilon in transaction.all(
        "SELECT s.account, s.distance, s.epsilon FROM sums s JOIN accounts a ON a.id = s.account "
        f"WHERE s.metric = ?{where} ORDER BY s.account, s.distance",
        (metric.value, *values),
    ):
        undated[account] = (*undated.get(account, ()), (distance, epsilon))
    dated: dict[int, list[tuple[str, str]]] = {}
    rows = transaction.all(
        "SELECT d.account, d.release, d.distance FROM dated d JOIN accounts a ON a.id = d.account "
        f"WHERE d.metric = ?{where} ORDER BY d.account, d.release",
        (metric.value, *values),
    )
    hours = hours_of(transaction, {release for _, release, _ in rows})
    for account, release, distance in rows:
        dated.setdefault(account, []).append((release, distance))
    alike: dict[tuple[object, object], Spent] = {}
    found = {}
    for account in undated.keys() | dated.keys():
        key = undated.get(account, ()), tuple(dated.get(account, ()))
        if key not in alike:
            alike[key] = Spent(
                {distance_of(at): Fraction(epsilon) for at, epsilon in key[0]},
                [DatedLoss(hours[release], distance_of(at)) for release, at in key[1]],
            )
        found[account] = alike[key]
    return Sums(found)


def hours_of(transaction: Transaction, releases: Iterable[str]) -> dict[str, Hours]:
    """Return the hours of dated releases."""
    found = {}
    for some in _pieces(sorted(releases)):
        for release, first, losses in transaction.all(
            f"SELECT id, first_hour, losses FROM releases WHERE id IN ({_marks(some)})", some
        ):
            found[release] = Hours(first, tuple(map(Fraction, json.loads(losses))))
    return found


def add_charges(
    transaction: Transaction,
    row: int,
    release: str,
    accounts: Sequence[tuple[int, Charge]],
    hours: Hours | None,
    before: Sums,
) -> None:
    """Write the charges of a release, and add them to what the accounts have spent before."""
    transaction.run_many(
        "INSERT INTO charges VALUES (?, ?, ?, ?, ?)",
        (charge_row(account, row, charge) for account, charge in accounts),
    )
    if hours is not None:
        transaction.run_many(
            "INSERT INTO dated VALUES (?, ?, ?, ?)",
            (
                (account, release, charge.metric.value, text_of(charge.distance))
                for account, charge in accounts
            ),
        )
        return
    totals: dict[tuple[Spent, Charge], str] = {}
    rows = []
    for account, charge in accounts:
        key = before.of(account), charge
        if key not in totals:
            spent = key[0].undated.get(charge.distance, Fraction(0))
            totals[key] = str(spent + charge.epsilon)
        rows.append((account, charge.metric.value, text_of(charge.distance), totals[key]))
    transaction.run_many(
        "INSERT INTO sums VALUES (?, ?, ?, ?, 1) ON CONFLICT (account, metric, distance) "
        "DO UPDATE SET epsilon = excluded.epsilon, releases = sums.releases + 1",
        rows,
    )


def charge_digest(transaction: Transaction, row: int) -> str:
    """Return a digest of the charges of a row, as the chain has it."""
    return digest_of(
        transaction.all(
            "SELECT account, metric, distance, epsilon FROM charges WHERE row_number = ? "
            "ORDER BY account, metric, distance",
            (row,),
        )
    )


def digest_of_charges(charges: Iterable[tuple[int, Charge]]) -> str:
    """Return the same digest of charges that are not written yet."""
    return digest_of(
        sorted((a, c.metric.value, text_of(c.distance), str(c.epsilon)) for a, c in charges)
    )


def charge_row(account: int, row: int, charge: Charge) -> tuple[int, int, str, str, str]:
    """Return a charge as a row of its table."""
    return account, row, charge.metric.value, text_of(charge.distance), str(charge.epsilon)


class Caps:
    """The caps of a register's accounts in a metric."""

    def __init__(
        self, transaction: Transaction, register: int, metric: Metric, window: int | None = None
    ) -> None:
        """Read them; a register that is not opened yet has those of all registers.

        Args:
            transaction: The open transaction.
            register: The register.
            metric: The metric.
            window: The hours within which a release promises something. Where they are more than
                those of the register, they count: no cap is kept by looking at fewer hours.
        """
        self._epsilon: dict[tuple[int, int], Fraction] = {}
        for of_metric in dict.fromkeys((in_place_of(metric), metric)):
            rows = transaction.all(
                "SELECT register, account, epsilon FROM caps "
                "WHERE metric = ? AND register IN (?, ?)",
                (of_metric.value, register, EVERY_REGISTER),
            )
            self._epsilon.update({(of, account): Fraction(cap) for of, account, cap in rows})
        self._register = register
        self._distances = _distances(transaction, register, metric)
        if metric is Metric.ENERGY:
            self.hours: int | None = 1
        else:
            known = (window_of(transaction, register, metric), window)
            self.hours = max((hours for hours in known if hours is not None), default=None)
        is_relative = metric is Metric.RELATIVE
        self.floor = floor_of(transaction, register) if is_relative else None
        self._may_be: dict[int, list[int]] = {}
        for account, other in transaction.all("SELECT account, other FROM may_be"):
            self._may_be.setdefault(account, []).append(other)

    def distance(self, account: int | None) -> Fraction | None:
        """Return the distance that an account is counted at: its own, else that of its register."""
        places = (
            (self._register, account or NO_ACCOUNT),
            (self._register, NO_ACCOUNT),
            (EVERY_REGISTER, NO_ACCOUNT),
        )
        return next((self._distances[p] for p in places if p in self._distances), None)

    def of(self, account: int | None) -> Cap:
        """Return the cap of an account: its own, else the least of those that it may be."""
        own = self._epsilon.get((self._register, account or NO_ACCOUNT))
        if account is None or own is None:
            places = ((self._register, NO_ACCOUNT), (EVERY_REGISTER, NO_ACCOUNT))
            common = next((self._epsilon[p] for p in places if p in self._epsilon), DEFAULT_CAP)
            others = ((self._register, other) for other in self._may_be.get(account or 0, ()))
            own = min([common, *(self._epsilon[o] for o in others if o in self._epsilon)])
        return Cap(own, self.distance(account), self.hours, self.floor)

    def of_group(self, group: Group) -> Cap:
        """Return the cap of a group, that of a single load where it has none of its own."""
        common = self.of(None)
        distances = {self.distance(account) for account in group.accounts}
        return Cap(
            common.epsilon if group.cap is None else group.cap,
            next(iter(distances)) if len(distances) == 1 else None,
            self.hours,
            self.floor,
            distances_differ=len(distances) > 1,
        )


def _distances(
    transaction: Transaction, register: int, metric: Metric
) -> dict[tuple[int, int], Fraction]:
    """Return distances by register and account."""
    rows = transaction.all(
        "SELECT register, account, distance FROM distances WHERE metric = ? AND register IN (?, ?)",
        (metric.value, register, EVERY_REGISTER),
    )
    return {(of, account): Fraction(at) for of, account, at in rows}


def in_place_of(metric: Metric) -> Metric:
    """Return in which metric a cap holds for another one that has none of its own.

    Caps of all metrics that are older than promises about energy did not name it.
    """
    return Metric.ABSOLUTE if metric is Metric.ENERGY else metric


def window_of(transaction: Transaction, register: int, metric: Metric) -> int | None:
    """Return the window of a register, in hours."""
    windows: dict[int, int] = dict(
        transaction.all(
            "SELECT register, hours FROM windows WHERE metric = ? AND register IN (?, ?)",
            (metric.value, register, EVERY_REGISTER),
        )
    )
    return windows.get(register, windows.get(EVERY_REGISTER))


def floor_of(transaction: Transaction, register: int) -> Fraction | None:
    """Return the floor of a register's relative distances, None before its first release."""
    rows = transaction.all("SELECT floor FROM floors WHERE register = ?", (register,))
    return Fraction(rows[0][0]) if rows else None


def groups_of(transaction: Transaction, register: int, metric: Metric) -> list[Group]:
    """Return the groups of a register, with their caps in a metric."""
    members: dict[int, list[int]] = {}
    for group, account in transaction.all(
        "SELECT m.load_group, m.account FROM members m JOIN load_groups g ON g.id = m.load_group "
        "WHERE g.register = ? UNION SELECT m.load_group, b.account FROM members m "
        "JOIN load_groups g ON g.id = m.load_group JOIN may_be b ON b.other = m.account "
        "WHERE g.register = ? ORDER BY 2",
        (register, register),
    ):
        members.setdefault(group, []).append(account)
    return [
        Group(id_, name, tuple(members.get(id_, ())), None if cap is None else Fraction(cap))
        for id_, name, cap in transaction.all(
            "SELECT g.id, g.name, COALESCE(c.epsilon, o.epsilon) FROM load_groups g "
            "LEFT JOIN group_caps c ON c.load_group = g.id AND c.metric = ? "
            "LEFT JOIN group_caps o ON o.load_group = g.id AND o.metric = ? "
            "WHERE g.register = ? ORDER BY g.id",
            (metric.value, in_place_of(metric).value, register),
        )
    ]


def group_spent(
    group: Group,
    metric: Metric,
    sums: Sums,
    distances: Mapping[int, Fraction | None],
    charges: Mapping[int, Spent] | None = None,
) -> Spent:
    """Return what a group has spent, each load at its distance, with further charges if any."""
    members = []
    for account in group.accounts:
        spent = sums.of(account)
        if charges is not None and account in charges:
            spent = together((spent, charges[account]))
        counted = spent.counted_at_worst_hour if metric is Metric.ENERGY else spent.counted_at
        members.append(counted(distances[account]))
    return together(members)


def spent_of(charge: Charge, hours: Hours | None) -> Spent:
    """Return what one release spends."""
    if hours is None:
        return Spent({charge.distance: charge.epsilon})
    return Spent({}, (DatedLoss(hours, charge.distance),))


def text_of(distance: Fraction | None) -> str:
    """Return a distance as the tables have it."""
    return ANY if distance is None else str(distance)


def distance_of(text: str) -> Fraction | None:
    """Return a distance from its text in the tables."""
    return None if text == ANY else Fraction(text)


def _pieces(values: Sequence[object]) -> Iterable[Sequence[object]]:
    return (values[i : i + _MOST_VALUES] for i in range(0, len(values), _MOST_VALUES))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
