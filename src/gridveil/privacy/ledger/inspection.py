"""Whether a ledger can be believed: its chain, and that its tables say what the chain says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from gridveil.privacy.ledger.balances import charge_digest
from gridveil.privacy.ledger.caps import EVERY_METRIC, FIRST_METRICS
from gridveil.privacy.ledger.chain import broken_rows, digest_of, events
from gridveil.privacy.ledger.records import Event
from gridveil.privacy.ledger.registers import seen_digest
from gridveil.privacy.ledger.store import Transaction

_COSTS = ("register", "cost", "spent", "counted_at", "elsewhere", "first")
_RELEASE, _TAKEN_OVER = "release", "release taken over"


@dataclass(frozen=True)
class Inspection:
    """What was found in a ledger."""

    rows: int
    releases: int
    head: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def figures(self) -> dict[str, object]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "ok": self.ok,
            "rows": self.rows,
            "releases": self.releases,
            "head": self.head,
            "problems": list(self.problems),
        }


def inspect(transaction: Transaction) -> Inspection:
    """Read a whole ledger, and say what does not follow from its chain."""
    history = events(
        transaction.all("SELECT number, at, kind, content, head FROM rows ORDER BY number")
    )
    problems = (
        *broken_rows(history),
        *_identity(transaction, history),
        *_registers(transaction, history),
        *_releases(transaction, history),
        *_sums(transaction),
        *_caps(transaction, history),
    )
    count = sum(event.kind in (_RELEASE, _TAKEN_OVER) for event in history)
    return Inspection(len(history), count, history[-1].head if history else "", problems)


def _identity(transaction: Transaction, history: list[Event]) -> Iterator[str]:
    rows = transaction.all("SELECT identity, opened_at FROM ledger")
    opened = history[0] if history else None
    if opened is None or rows != [(opened.content.get("ledger"), opened.at)]:
        yield "the ledger does not have the identity of its first row"


def _registers(transaction: Transaction, history: list[Event]) -> Iterator[str]:
    """Compare registers, and the keys of their accounts, with the rows that opened them."""
    said: dict[str, dict[int, str]] = {}
    seen: dict[str, str] = {}
    for event in history:
        content, name = event.content, event.content.get("register")
        if event.kind not in ("register", "loads") or name is None:
            continue
        first, renamed = content.get("first_account", 0), content.get("renamed", {})
        keys = {a: renamed.get(key, key) for a, key in said.get(name, {}).items()}
        added = content["loads" if event.kind == "register" else "added"]
        said[name] = {**keys, **dict(enumerate(added, first))}
        if "seen" in content:
            seen[name] = content["seen"]
        if event.kind == "loads" and not _has_inherited(transaction, event):
            yield f"row {event.row}: what loads inherited is not what the row says"
    held: dict[str, dict[int, str]] = {}
    for id_, name in transaction.all("SELECT id, name FROM registers"):
        accounts = transaction.all("SELECT id, key FROM accounts WHERE register = ?", (id_,))
        held[name] = dict(accounts)
        if name in seen and seen[name] != seen_digest(transaction, id_):
            yield f"what stands around the loads of register {name!r} is not what was seen there"
    wrong = [name for name in held.keys() | said.keys() if held.get(name) != said.get(name)]
    for name in sorted(wrong):
        yield f"register {name!r} has other loads than its rows say"


def _has_inherited(transaction: Transaction, event: Event) -> bool:
    charges = transaction.all(
        "SELECT account, metric, distance, epsilon FROM charges WHERE row_number = ? "
        "ORDER BY account, metric, distance",
        (event.row,),
    )
    may_be = transaction.all(
        "SELECT account, other FROM may_be WHERE row_number = ? ORDER BY account, other",
        (event.row,),
    )
    nothing = digest_of([])
    return (digest_of(charges), digest_of(may_be)) == (
        event.content.get("inherited", nothing),
        event.content.get("may_be", nothing),
    )


def _releases(transaction: Transaction, history: list[Event]) -> Iterator[str]:
    stored = {
        row[1]: row
        for row in transaction.all(
            "SELECT e.id, e.row_number, e.specification, e.names, e.steps, e.first_hour, e.losses, "
            "g.name, e.charge, e.cumulative, e.distance, e.elsewhere, e.first FROM releases e "
            "LEFT JOIN registers g ON g.id = e.register"
        )
    }
    for event in history:
        if event.kind not in (_RELEASE, _TAKEN_OVER):
            continue
        release, said = event.content.get("release"), event.content
        if event.row not in stored:
            yield f"row {event.row}: the private loads of release {release!r} are gone"
            continue
        id_, _, specification, names, steps, first_hour, losses, *costs = stored.pop(event.row)
        found = {
            "release": id_,
            "specification": digest_of([specification]),
            "loads": names,
            "private_loads": digest_of([bytes(steps).hex()]),
            "charges": charge_digest(transaction, event.row),
            "first_hour": first_hour,
            "losses": losses,
            **dict(zip(_COSTS, costs, strict=True)),
        }
        wrong = [name for name, value in found.items() if said.get(name) != value]
        if wrong:
            what = ", ".join(name.replace("_", " ") for name in wrong)
            yield f"row {event.row}: release {release!r} has other {what} than the row says"
    for id_, number, *_ in stored.values():
        yield f"release {id_!r} stands in no row {number}"


def _sums(transaction: Transaction) -> Iterator[str]:
    added: dict[tuple[int, str, str], Fraction] = {}
    for account, metric, distance, epsilon in transaction.all(
        "SELECT c.account, c.metric, c.distance, c.epsilon FROM charges c "
        "LEFT JOIN releases e ON e.row_number = c.row_number WHERE e.first_hour IS NULL"
    ):
        key = (account, metric, distance)
        added[key] = added.get(key, Fraction(0)) + Fraction(epsilon)
    held = {
        (account, metric, distance): Fraction(epsilon)
        for account, metric, distance, epsilon in transaction.all(
            "SELECT account, metric, distance, epsilon FROM sums"
        )
    }
    wrong = {key[0] for key in added.keys() | held.keys() if added.get(key) != held.get(key)}
    if wrong:
        yield f"what {len(wrong)} accounts have spent is not the sum of their charges"
    hours = transaction.all(
        "SELECT c.account, e.id FROM charges c JOIN releases e ON e.row_number = c.row_number "
        "WHERE e.first_hour IS NOT NULL"
    )
    if sorted(hours) != sorted(transaction.all("SELECT account, release FROM dated")):
        yield "the releases with hours are not those that were charged"


@dataclass(frozen=True)
class _Settings:
    """Caps, the distances they are counted at, and groups."""

    caps: dict[tuple[str | None, str | None, str], str]
    """By register, load and metric; None stands for all."""
    distances: dict[tuple[str | None, str | None, str], str]
    group_caps: dict[tuple[str | None, str, str], str]
    members: dict[tuple[str | None, str], frozenset[str]]
    windows: dict[tuple[str | None, str], int]
    floors: dict[str | None, str]


def _caps(transaction: Transaction, history: list[Event]) -> Iterator[str]:
    """Compare caps, distances and groups with the last rows that set them."""
    said, held = _said_settings(history), _held_settings(transaction)
    if said.members != held.members:
        yield "groups have other loads than the last rows that set them"
    if replace(said, members=held.members) != held:
        yield "caps are others than the last rows that set them"


def _said_settings(history: list[Event]) -> _Settings:
    found = _Settings({}, {}, {}, {}, {}, {})
    for event in history:
        said = event.content
        register, metric = said.get("register"), said.get("metric", "")
        if event.kind == "caps taken over":
            found.caps.update(
                {
                    (r, load, m.value): epsilon
                    for r, load, epsilon in said["caps"]
                    for m in FIRST_METRICS
                }
            )
            found.distances.update({(r, None, "absolute"): d for r, d in said["distances"]})
        elif event.kind == "cap":
            every = said.get("metrics", [m.value for m in FIRST_METRICS])
            metrics = every if metric == EVERY_METRIC else [metric]
            loads = [None] if said["loads"] is None else said["loads"]
            for of in metrics:
                if said["group"] is not None:
                    found.group_caps[register, said["group"], of] = said["cap"]
                else:
                    found.caps.update({(register, load, of): said["cap"] for load in loads})
            for load in loads if "distance" in said else ():
                found.distances[register, load, said["distance_metric"]] = said["distance"]
            for of in metrics if "hours" in said else ():
                found.windows[register, of] = said["hours"]
        elif event.kind == "distance":
            loads = [None] if said["loads"] is None else said["loads"]
            for load, distance in zip(loads, said["distance"], strict=True):
                found.distances[register, load, metric] = distance
        elif event.kind == "window":
            found.windows[register, metric] = said["hours"]
        elif event.kind == "floor":
            found.floors[register] = said["floor"]
        elif event.kind == "group":
            group = register, said["group"]
            found.members.pop(group, None)
            if said["loads"]:
                found.members[group] = frozenset(said["loads"])
            else:
                for key in [key for key in found.group_caps if key[:2] == group]:
                    del found.group_caps[key]
        elif event.kind == "loads":
            _rename(found, register, said.get("renamed", {}))
    return found


def _rename(settings: _Settings, register: str | None, names: Mapping[str, str]) -> None:
    """Let settings of loads follow their new keys, all at once: two may have swapped theirs."""
    for held in (settings.caps, settings.distances):
        moved = {
            (of, names.get(load, load) if load is not None and of == register else load, m): value
            for (of, load, m), value in held.items()
        }
        held.clear()
        held.update(moved)
    for group, loads in settings.members.items():
        if group[0] == register:
            settings.members[group] = frozenset(names.get(load, load) for load in loads)


def _held_settings(transaction: Transaction) -> _Settings:
    names: dict[int, str] = dict(transaction.all("SELECT id, name FROM registers"))
    keys: dict[int, str] = dict(transaction.all("SELECT id, key FROM accounts"))
    members: dict[tuple[str | None, str], set[str]] = {}
    for register, name, account in transaction.all(
        "SELECT g.register, g.name, m.account FROM members m "
        "JOIN load_groups g ON g.id = m.load_group"
    ):
        members.setdefault((names.get(register), name), set()).add(keys.get(account, ""))
    return _Settings(
        {
            (names.get(register), keys.get(account), metric): epsilon
            for register, account, metric, epsilon in transaction.all(
                "SELECT register, account, metric, epsilon FROM caps"
            )
        },
        {
            (names.get(register), keys.get(account), metric): distance
            for register, account, metric, distance in transaction.all(
                "SELECT register, account, metric, distance FROM distances"
            )
        },
        {
            (names.get(register), name, metric): epsilon
            for register, name, metric, epsilon in transaction.all(
                "SELECT g.register, g.name, c.metric, c.epsilon FROM group_caps c "
                "JOIN load_groups g ON g.id = c.load_group"
            )
        },
        {group: frozenset(loads) for group, loads in members.items()},
        {
            (names.get(register), metric): hours
            for register, metric, hours in transaction.all(
                "SELECT register, metric, hours FROM windows"
            )
        },
        {
            names.get(register): floor
            for register, floor in transaction.all("SELECT register, floor FROM floors")
        },
    )
