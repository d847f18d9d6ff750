"""Registers: an owner's loads, each with an account, and which of them a network has.

A network that no register is like opens one of its own. One that is the same as a register is
charged there. One that is only like a register is refused until its owner says which it is.

What was spent follows the loads. An account that is new to a register, or found under another key
where several may be meant, inherits what any of those that it may be has spent beyond it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction

from gridveil.errors import GridveilError
from gridveil.printable import excerpt
from gridveil.privacy.ledger.accounting import Spent
from gridveil.privacy.ledger.balances import distance_of
from gridveil.privacy.ledger.chain import append, digest_of
from gridveil.privacy.ledger.matching import (
    KnownLoad,
    Likeness,
    branches_of,
    likeness,
    match,
    share_branches,
)
from gridveil.privacy.ledger.records import LOAD, LoadOwner
from gridveil.privacy.ledger.store import Transaction
from gridveil.privacy.metric import Metric

_SHOWN = 60
_NOBODY = 0
"""In place of an account that is not opened yet."""
_ABSENT = "absent"
"""Among what stands around an account: once a load was there that may have been or included it."""


@dataclass(frozen=True)
class Register:
    """A row of the table of registers."""

    id: int
    name: str
    network: str
    digest: str
    taken_over: int
    """Whether it comes from a ledger of version 1, in which networks with buses of the same numbers
    were one."""


_SELECT = "SELECT id, name, network, digest, taken_over FROM registers"


@dataclass(frozen=True)
class Resolution:
    """Where the loads of an owner are charged, before any of it is written."""

    register: Register | None
    """None where a new one is opened."""
    name: str
    accounts: Mapping[str, int]
    """Known accounts by the owner's key."""
    missing: tuple[str, ...]
    """Keys that get an account now."""
    may_be: Mapping[str, AbstractSet[int]] = field(default_factory=dict)
    """Accounts that a load may be as well, so that it inherits what was spent there; by key."""
    absent: tuple[int, ...] = ()
    """Accounts that no load was found for, though one may be or include them."""
    alike: tuple[str, ...] = ()
    """Registers that the owner says are others, though they look alike."""


class RegisterUnclearError(GridveilError):
    """A network that may or may not have loads that the ledger knows."""


def resolve(transaction: Transaction, owner: LoadOwner) -> Resolution:
    """Find the register of an owner's loads, or refuse where only the owner can say."""
    chosen = owner.register
    registers = all_registers(transaction)
    same_digest = _exactly(transaction, owner)
    if chosen is None and same_digest is not None and not _is_disputed(transaction, same_digest):
        return _known_as_it_is(transaction, same_digest)
    if chosen is not None and not chosen.is_new:
        named = [register for register in registers if register.name == chosen.name]
        if not named:
            raise _unknown(chosen.name, registers)
        found = _matched(transaction, named[0], owner)
        _refuse_loads_of_others(transaction, owner, found)
        return found
    if chosen is not None and same_digest is not None and same_digest.name == chosen.name:
        return _known_as_it_is(transaction, same_digest)  # the same words again
    compared = {register: _likeness(transaction, register, owner) for register in registers}
    alike = [register for register, kind in compared.items() if kind is not Likeness.OTHER]
    if chosen is not None:
        refuse_taken_name(chosen.name, registers)
        names = tuple(register.name for register in alike)
        return Resolution(None, chosen.name, {}, tuple(owner.around), alike=names)
    same = [register for register in alike if compared[register] is Likeness.SAME]
    certain = [register for register in alike if compared[register] is not Likeness.LIKE_BY_KEYS]
    if len(same) == 1 and certain == same:
        return _matched(transaction, same[0], owner)
    if alike:
        raise unclear(owner, alike)
    name = free_name(owner.label, {register.name for register in registers})
    return Resolution(None, name, {}, tuple(owner.around))


def refuse_taken_name(name: str, registers: Sequence[Register]) -> None:
    """Refuse a new register with the name of another one."""
    if any(register.name == name for register in registers):
        raise GridveilError(
            f"--new-register: there is a register {_quoted(name)} already; choose "
            "another name, or say --register for the loads it holds"
        )


def record(transaction: Transaction, owner: LoadOwner, found: Resolution) -> Resolution:
    """Write what a resolution found: a new register, new accounts, new keys of known ones."""
    around, digest = owner.around, _digest(owner)
    if found.register is not None and found.register.digest == digest:
        return found
    first = next_id(transaction, "accounts")
    added = {key: first + i for i, key in enumerate(found.missing)}
    register = found.register or _new_register(transaction, owner, found, digest)
    renamed = _rename(transaction, register, found)
    transaction.run_many(
        "INSERT INTO accounts VALUES (?, ?, ?, ?)",
        ((account, register.id, LOAD, key) for key, account in added.items()),
    )
    accounts = {**found.accounts, **added}
    transaction.run_many(
        "INSERT INTO surroundings VALUES (?, ?) ON CONFLICT DO NOTHING",
        (
            *((accounts[key], token) for key, tokens in around.items() for token in tokens),
            *((account, _ABSENT) for account in found.absent),
        ),
    )
    transaction.run_many(
        "INSERT INTO branches VALUES (?, ?) ON CONFLICT DO NOTHING",
        ((register.id, branch) for branch in sorted(_all_branches(owner))),
    )
    transaction.run("UPDATE registers SET digest = ? WHERE id = ?", (digest, register.id))
    may_be = {accounts[key]: others for key, others in found.may_be.items()}
    heirs = heritage(transaction, register, may_be)
    bound = bound_to(transaction, may_be)
    content = {
        "register": register.name,
        "first_account": first,
        "seen": seen_digest(transaction, register.id),
    }
    if found.register is None:
        content |= {
            "network": owner.label,
            "loads": list(added),
            "others_like_it": sorted(found.alike),
        }
        append(transaction, "register", content)
        return Resolution(register, register.name, accounts, ())
    add_to_sums(transaction, heirs)
    content |= {
        "added": list(added),
        "renamed": renamed,
        "inherited": digest_of(heirs),
        "may_be": digest_of(bound),
    }
    event = append(transaction, "loads", content)
    transaction.run_many(
        "INSERT INTO charges VALUES (?, ?, ?, ?, ?)",
        ((account, event.row, metric, at, epsilon) for account, metric, at, epsilon in heirs),
    )
    transaction.run_many(
        "INSERT INTO may_be VALUES (?, ?, ?)",
        ((account, other, event.row) for account, other in bound),
    )
    return Resolution(register, register.name, accounts, ())


def seen_digest(transaction: Transaction, register: int) -> str:
    """Return a digest of all that was ever seen around the loads of a register."""
    around = transaction.all(
        "SELECT s.account, s.branch FROM surroundings s JOIN accounts a ON a.id = s.account "
        "WHERE a.register = ?",
        (register,),
    )
    branches = transaction.all("SELECT branch FROM branches WHERE register = ?", (register,))
    digest = transaction.all("SELECT digest FROM registers WHERE id = ?", (register,))
    return digest_of([digest, sorted(map(list, around)), sorted(map(list, branches))])


def inherited(transaction: Transaction, found: Resolution, metric: Metric) -> Spent:
    """Return the most that any of the missing accounts will inherit, in a metric."""
    if found.register is None:
        return Spent({})
    others = frozenset[int]().union(*(found.may_be.get(key, ()) for key in found.missing))
    rows = heritage(transaction, found.register, {_NOBODY: others})
    return Spent(
        {distance_of(at): Fraction(epsilon) for _, of, at, epsilon in rows if of == metric.value}
    )


def register_named(transaction: Transaction, name: str) -> Register:
    """Return a register by its name."""
    registers = all_registers(transaction)
    for register in registers:
        if register.name == name:
            return register
    raise _unknown(name, registers)


def accounts_of(transaction: Transaction, register: Register, keys: Sequence[str]) -> list[int]:
    """Return the accounts of some loads or elements of a register, by their keys."""
    rows = transaction.all("SELECT key, id FROM accounts WHERE register = ?", (register.id,))
    known = {**dict(rows), **_accounts(transaction, register.id)}
    for key in keys:
        if key not in known:
            raise GridveilError(
                f"register {_quoted(register.name)} has no load {_quoted(key)}; 'gridveil ledger "
                "show' lists them"
            )
    return [known[key] for key in keys]


def add_loads(transaction: Transaction, register: Register, keys: Sequence[str], why: str) -> None:
    """Give loads that are new, as their owner says, an account with nothing spent."""
    known = _accounts(transaction, register.id)
    for key in keys:
        if key in known:
            raise GridveilError(f"register {_quoted(register.name)} has a load {_quoted(key)}")
    first, added = next_id(transaction, "accounts"), list(dict.fromkeys(keys))
    transaction.run_many(
        "INSERT INTO accounts VALUES (?, ?, ?, ?)",
        ((first + i, register.id, LOAD, key) for i, key in enumerate(added)),
    )
    content = {
        "register": register.name, "first_account": first, "added": added, "reason": why
    }  # fmt: skip
    append(transaction, "loads", content)


def _exactly(transaction: Transaction, owner: LoadOwner) -> Register | None:
    """Return the register that knows the very same loads, if there is one."""
    if owner.is_part:
        return None
    rows = transaction.all(f"{_SELECT} WHERE digest = ?", (_digest(owner),))
    return Register(*rows[0]) if len(rows) == 1 else None


def _known_as_it_is(transaction: Transaction, register: Register) -> Resolution:
    return Resolution(register, register.name, _accounts(transaction, register.id), ())


def _is_disputed(transaction: Transaction, register: Register) -> bool:
    """Whether its owner said once that it has other loads than a register that looks like it."""
    rows = transaction.all("SELECT content FROM rows WHERE kind = 'register'")
    said = [json.loads(content) for (content,) in rows]
    return any(
        row.get("others_like_it") and register.name in (row["register"], *row["others_like_it"])
        for row in said
    )


def _likeness(transaction: Transaction, register: Register, owner: LoadOwner) -> Likeness:
    known = known_loads(transaction, register)
    found = likeness(owner.around, known)
    if found is Likeness.SAME:
        return found
    if register.network == owner.network:
        if not any(load.branches for load in known):  # nothing but numbers of buses is known of it
            return Likeness.SAME
        if owner.is_part:
            own = {load.key: load.branches for load in known}
            strange = any(
                around and key in own and not own[key] & around
                for key, around in owner.around.items()
            )
            return found if strange else Likeness.SAME
        if register.taken_over:
            return Likeness.LIKE
    theirs = transaction.all("SELECT branch FROM branches WHERE register = ?", (register.id,))
    if share_branches(_all_branches(owner), {branch for (branch,) in theirs}):
        return Likeness.LIKE
    return found


def _all_branches(owner: LoadOwner) -> frozenset[str]:
    return owner.branches or branches_of(frozenset[str]().union(*owner.around.values()))


def _matched(transaction: Transaction, register: Register, owner: LoadOwner) -> Resolution:
    found = match(owner.around, known_loads(transaction, register))
    missing = tuple(key for key in owner.around if key not in found.accounts)
    may_be, absent = found.may_be, found.absent
    if owner.is_part and owner.network == register.network:  # loads of other parties are not here
        may_be, absent = {key: may_be.get(key, frozenset()) for key in found.accounts}, ()
    return Resolution(register, register.name, found.accounts, missing, may_be, absent)


def _refuse_loads_of_others(transaction: Transaction, owner: LoadOwner, found: Resolution) -> None:
    """Refuse loads that are new to the register they are said to belong to, but not to another."""
    assert found.register is not None
    missing = {key: owner.around[key] for key in found.missing}
    for register in all_registers(transaction) if missing else ():
        if register == found.register:
            continue
        if _likeness(transaction, register, owner) is Likeness.OTHER:
            continue
        known = match(missing, known_loads(transaction, register)).accounts
        if known:
            raise RegisterUnclearError(
                f"{owner.label} has {len(missing)} loads that are new to the register "
                f"{_quoted(found.name)}, such as {_quoted(found.missing[0])}, but it looks like "
                f"{_quoted(register.name)} as well. Nothing was drawn. Say --register for the one "
                "they belong to, release the parts of each register by themselves, say that loads "
                f"are new with 'gridveil ledger add', or say --new-register NAME if all of them "
                "are other loads"
            )


def _new_register(
    transaction: Transaction, owner: LoadOwner, found: Resolution, digest: str
) -> Register:
    register = Register(next_id(transaction, "registers"), found.name, owner.network, digest, 0)
    transaction.run(
        "INSERT INTO registers VALUES (?, ?, ?, ?, 0)",
        (register.id, register.name, register.network, register.digest),
    )
    return register


def _rename(transaction: Transaction, register: Register, found: Resolution) -> dict[str, str]:
    """Give known accounts the keys they have now, and say which had other ones."""
    before = {account: key for key, account in _accounts(transaction, register.id).items()}
    renamed = {
        before[account]: key for key, account in found.accounts.items() if before[account] != key
    }
    wanted = {*found.accounts, *found.missing}
    matched = set(found.accounts.values())
    pushed = {
        account: f"{key} (account {account})"
        for account, key in before.items()
        if account not in matched and key in wanted
    }
    renamed.update({before[account]: key for account, key in pushed.items()})
    changes = [
        *((account, key) for account, key in pushed.items()),
        *((account, key) for key, account in found.accounts.items() if before[account] != key),
    ]
    statement = "UPDATE accounts SET key = ? WHERE id = ?"
    transaction.run_many(statement, ((f"\x7f{account}", account) for account, _ in changes))
    transaction.run_many(statement, ((key, account) for account, key in changes))
    return renamed


@dataclass(frozen=True)
class _Charged:
    """A charge of an account, told from those of the same row to other accounts by nothing."""

    row: int
    metric: str
    distance: str
    epsilon: Fraction
    is_dated: bool


def heritage(
    transaction: Transaction, register: Register, may_be: Mapping[int, AbstractSet[int]]
) -> list[tuple[int, str, str, str]]:
    """Return what accounts inherit of others that they may be: account, metric, distance and ε.

    Of each metric and distance it is the most that one of the others has spent in releases of its
    own, less what the account has spent in its own releases without a date. What is inherited has
    no date, so that it counts in every window of hours.
    """
    if not any(may_be.values()):
        return []
    charged = _charges(transaction, register)
    kinds: dict[AbstractSet[int], set[frozenset[_Charged]]] = {}
    rows = []
    for account, others in may_be.items():
        if others not in kinds:
            kinds[others] = {charged.get(other, frozenset()) for other in others}
        own = charged.get(account, frozenset())
        most: dict[tuple[str, str], Fraction] = {}
        for other in kinds[others] - {own}:
            for at, epsilon in _sums(other - own, own - other).items():
                most[at] = max(most.get(at, epsilon), epsilon)
        rows += [
            (account, *at, str(epsilon)) for at, epsilon in sorted(most.items()) if epsilon > 0
        ]
    return sorted(rows)


def bound_to(
    transaction: Transaction, may_be: Mapping[int, AbstractSet[int]]
) -> list[tuple[int, int]]:
    """Return which accounts may be others that have a cap of their own, or an owner in common."""
    if not any(may_be.values()):
        return []
    own = {
        account
        for (account,) in transaction.all(
            "SELECT account FROM caps UNION SELECT account FROM members"
        )
    }
    known = set(transaction.all("SELECT account, other FROM may_be"))
    pairs = {(account, other) for account, others in may_be.items() for other in others & own}
    return sorted(pairs - known)


def _charges(transaction: Transaction, register: Register) -> dict[int, frozenset[_Charged]]:
    found: dict[int, set[_Charged]] = {}
    for account, row, metric, distance, epsilon, first_hour in transaction.all(
        "SELECT c.account, c.row_number, c.metric, c.distance, c.epsilon, e.first_hour "
        "FROM charges c JOIN accounts a ON a.id = c.account "
        "LEFT JOIN releases e ON e.row_number = c.row_number WHERE a.register = ?",
        (register.id,),
    ):
        charge = _Charged(row, metric, distance, Fraction(epsilon), first_hour is not None)
        found.setdefault(account, set()).add(charge)
    return {account: frozenset(charges) for account, charges in found.items()}


def _sums(theirs: Iterable[_Charged], own: Iterable[_Charged]) -> dict[tuple[str, str], Fraction]:
    """Return by metric and distance what was spent in some charges, less other undated ones."""
    sums: dict[tuple[str, str], Fraction] = {}
    for charge in theirs:
        at = charge.metric, charge.distance
        sums[at] = sums.get(at, Fraction(0)) + charge.epsilon
    for charge in own:
        at = charge.metric, charge.distance
        if at in sums and not charge.is_dated:
            sums[at] -= charge.epsilon
    return sums


def add_to_sums(transaction: Transaction, rows: Iterable[tuple[int, str, str, str]]) -> None:
    """Add what accounts inherit to what they have spent."""
    for account, metric, distance, epsilon in rows:
        held = transaction.all(
            "SELECT epsilon FROM sums WHERE account = ? AND metric = ? AND distance = ?",
            (account, metric, distance),
        )
        total = Fraction(epsilon) + sum((Fraction(value) for (value,) in held), Fraction(0))
        transaction.run(
            "INSERT INTO sums VALUES (?, ?, ?, ?, 0) ON CONFLICT (account, metric, distance) "
            "DO UPDATE SET epsilon = excluded.epsilon",
            (account, metric, distance, str(total)),
        )


def _digest(owner: LoadOwner) -> str:
    rows = sorted((key, sorted(around)) for key, around in owner.around.items())
    return digest_of(rows)


def all_registers(transaction: Transaction) -> list[Register]:
    """Return all registers, the oldest first."""
    rows = transaction.all(f"{_SELECT} ORDER BY id")
    return [Register(*row) for row in rows]


def _accounts(transaction: Transaction, register: int) -> dict[str, int]:
    rows = transaction.all(
        "SELECT key, id FROM accounts WHERE register = ? AND kind = ?", (register, LOAD)
    )
    return dict(rows)


def known_loads(transaction: Transaction, register: Register) -> list[KnownLoad]:
    """Return the accounts of a register's loads with what stands around them."""
    around: dict[int, set[str]] = {}
    for account, branch in transaction.all(
        "SELECT s.account, s.branch FROM surroundings s JOIN accounts a ON a.id = s.account "
        "WHERE a.register = ?",
        (register.id,),
    ):
        around.setdefault(account, set()).add(branch)
    return [
        KnownLoad(
            account,
            key,
            frozenset(around.get(account, ())) - {_ABSENT},
            _ABSENT in around.get(account, ()),
        )
        for key, account in _accounts(transaction, register.id).items()
    ]


def next_id(transaction: Transaction, table: str) -> int:
    """Return the number of the next row of a table."""
    return int(transaction.all(f"SELECT COALESCE(MAX(id), 0) + 1 FROM {table}")[0][0])


def free_name(label: str, taken: set[str]) -> str:
    """Return a label, with a number behind it where there is a register of that name."""
    name, count = label, 1
    while name in taken:
        count += 1
        name = f"{label} ({count})"
    return name


def _quoted(name: str) -> str:
    return repr(excerpt(name, _SHOWN))


def _unknown(name: str, registers: Sequence[Register]) -> GridveilError:
    known = ", ".join(_quoted(register.name) for register in registers) or "none yet"
    return GridveilError(f"there is no register {_quoted(name)}; known are: {known}")


def unclear(owner: LoadOwner, alike: Sequence[Register]) -> RegisterUnclearError:
    """Return the error for an owner whose network looks like registers."""
    names = ", ".join(_quoted(register.name) for register in alike)
    first = alike[0].name
    return RegisterUnclearError(
        f"{owner.label} looks like a network whose loads the ledger knows: {names}. Nothing was "
        f"drawn. Say which it is: --register {_quoted(first)} if these are the same loads, so that "
        "what was spent on them counts; --new-register NAME if they are other loads"
    )
