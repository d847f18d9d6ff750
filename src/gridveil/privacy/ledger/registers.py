"""Registers: an owner's loads, each with an account, and which of them a network has.

A network that no register is like opens one of its own. One that is the same as a register is
charged there. One that is only like a register is refused until its owner says which it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gridveil.errors import GridveilError
from gridveil.printable import excerpt
from gridveil.privacy.ledger.accounting import Spent
from gridveil.privacy.ledger.balances import distance_of
from gridveil.privacy.ledger.chain import append, digest_of
from gridveil.privacy.ledger.matching import KnownLoad, Likeness, likeness, match
from gridveil.privacy.ledger.records import LOAD, LoadOwner, Metric
from gridveil.privacy.ledger.store import Transaction

_SHOWN = 60


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
    unmatched: tuple[int, ...]
    """Accounts that any of the missing keys may be, so that they inherit what was spent there."""
    alike: tuple[str, ...] = ()
    """Registers that the owner says are others, though they look alike."""


class RegisterUnclearError(GridveilError):
    """A network that may or may not have loads that the ledger knows."""


def resolve(transaction: Transaction, owner: LoadOwner) -> Resolution:
    """Find the register of an owner's loads, or refuse where only the owner can say."""
    branches = _branches(owner)
    chosen = owner.register
    if chosen is None:
        known = _exactly(transaction, owner)
        if known is not None:
            return Resolution(known, known.name, _accounts(transaction, known.id), (), ())
    registers = _all(transaction)
    if chosen is not None and not chosen.is_new:
        named = [register for register in registers if register.name == chosen.name]
        if not named:
            raise _unknown(chosen.name, registers)
        return _matched(transaction, named[0], branches, owner.is_part)
    compared = {
        register: _likeness(transaction, register, owner, branches) for register in registers
    }
    alike = [register for register, kind in compared.items() if kind is not Likeness.OTHER]
    if chosen is not None:
        if any(register.name == chosen.name for register in registers):
            raise GridveilError(
                f"--new-register: there is a register {_quoted(chosen.name)} already; choose "
                "another name, or say --register for the loads it holds"
            )
        names = tuple(register.name for register in alike)
        return Resolution(None, chosen.name, {}, tuple(branches), (), names)
    same = [register for register, kind in compared.items() if kind is Likeness.SAME]
    if len(same) == 1 and len(alike) == 1:
        return _matched(transaction, same[0], branches, owner.is_part)
    if alike:
        raise _unclear(owner, alike)
    name = _free_name(owner.label, {register.name for register in registers})
    return Resolution(None, name, {}, tuple(branches), ())


def record(transaction: Transaction, owner: LoadOwner, found: Resolution) -> Resolution:
    """Write what a resolution found: a new register, new accounts, new keys of known ones."""
    branches = _branches(owner)
    digest = _digest(owner)
    register = found.register
    if register is None:
        register = _open(transaction, owner, found, digest)
    elif register.digest == digest:
        return found
    accounts = dict(found.accounts)
    renamed = _rename(transaction, register, accounts)
    first = _next_id(transaction, "accounts")
    added = {key: first + i for i, key in enumerate(found.missing)}
    transaction.run_many(
        "INSERT INTO accounts VALUES (?, ?, ?, ?)",
        ((account, register.id, LOAD, key) for key, account in added.items()),
    )
    accounts.update(added)
    transaction.run_many(
        "INSERT INTO surroundings VALUES (?, ?) ON CONFLICT DO NOTHING",
        ((accounts[key], branch) for key, around in branches.items() for branch in around),
    )
    transaction.run("UPDATE registers SET digest = ? WHERE id = ?", (digest, register.id))
    if found.register is not None and (added or renamed):
        heirs = _inherit(transaction, tuple(added.values()), found.unmatched)
        event = append(
            transaction,
            "loads",
            {
                "register": register.name,
                "added": sorted(added),
                "renamed": renamed,
                "inherited": digest_of(heirs),
            },
        )
        transaction.run_many(
            "INSERT INTO charges VALUES (?, ?, ?, ?, ?)",
            ((account, event.row, metric, at, epsilon) for account, metric, at, epsilon in heirs),
        )
    return Resolution(register, register.name, accounts, (), ())


def inherited(transaction: Transaction, found: Resolution, metric: Metric) -> Spent:
    """Return what the accounts that are missing will inherit, in a metric."""
    if not found.missing or not found.unmatched:
        return Spent({})
    largest = _largest_sums(transaction, found.unmatched)
    return Spent(
        {
            distance_of(distance): Fraction(epsilon)
            for (of, distance), epsilon in largest.items()
            if of == metric.value
        }
    )


def register_named(transaction: Transaction, name: str) -> Register:
    """Return a register by its name."""
    registers = _all(transaction)
    for register in registers:
        if register.name == name:
            return register
    raise _unknown(name, registers)


def accounts_of(transaction: Transaction, register: Register, keys: Sequence[str]) -> list[int]:
    """Return the accounts of some loads of a register, by their keys."""
    known = _accounts(transaction, register.id)
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
    first = _next_id(transaction, "accounts")
    transaction.run_many(
        "INSERT INTO accounts VALUES (?, ?, ?, ?)",
        ((first + i, register.id, LOAD, key) for i, key in enumerate(keys)),
    )
    content = {"register": register.name, "added": sorted(keys), "reason": why}
    append(transaction, "loads", content)


def _exactly(transaction: Transaction, owner: LoadOwner) -> Register | None:
    """Return the register that knows the very same loads, if there is one."""
    if owner.is_part:
        return None
    rows = transaction.all(f"{_SELECT} WHERE digest = ?", (_digest(owner),))
    return Register(*rows[0]) if len(rows) == 1 else None


def _likeness(
    transaction: Transaction,
    register: Register,
    owner: LoadOwner,
    branches: Mapping[str, frozenset[str]],
) -> Likeness:
    known = _known(transaction, register)
    found = likeness(branches, known)
    if found is Likeness.SAME or register.network != owner.network:
        return found
    if not any(load.branches for load in known):  # nothing but numbers of buses is known of it
        return Likeness.SAME
    if owner.is_part:
        own = {load.key: load.branches for load in known}
        strange = any(
            around and key in own and not own[key] & around for key, around in branches.items()
        )
        return found if strange else Likeness.SAME
    return Likeness.LIKE if register.taken_over else found


def _matched(
    transaction: Transaction,
    register: Register,
    branches: Mapping[str, frozenset[str]],
    is_part: bool,
) -> Resolution:
    found = match(branches, _known(transaction, register))
    missing = tuple(key for key in branches if key not in found.accounts)
    unmatched = () if is_part else found.unmatched
    return Resolution(register, register.name, found.accounts, missing, unmatched)


def _open(transaction: Transaction, owner: LoadOwner, found: Resolution, digest: str) -> Register:
    register = Register(_next_id(transaction, "registers"), found.name, owner.network, digest, 0)
    transaction.run(
        "INSERT INTO registers VALUES (?, ?, ?, ?, 0)",
        (register.id, register.name, register.network, register.digest),
    )
    append(
        transaction,
        "register",
        {
            "register": register.name,
            "network": owner.label,
            "loads": sorted(found.missing),
            "others_like_it": sorted(found.alike),
        },
    )
    return register


def _rename(
    transaction: Transaction, register: Register, accounts: Mapping[str, int]
) -> dict[str, str]:
    """Give known accounts the keys they have now, and say which had other ones."""
    before = {account: key for key, account in _accounts(transaction, register.id).items()}
    renamed = {before[account]: key for key, account in accounts.items() if before[account] != key}
    wanted = set(accounts)
    matched = set(accounts.values())
    pushed = {
        account: f"{key} (account {account})"
        for account, key in before.items()
        if account not in matched and key in wanted
    }
    renamed.update({before[account]: key for account, key in pushed.items()})
    changes = [
        *((account, key) for account, key in pushed.items()),
        *((account, key) for key, account in accounts.items() if before[account] != key),
    ]
    statement = "UPDATE accounts SET key = ? WHERE id = ?"
    transaction.run_many(statement, ((f"\x7f{account}", account) for account, _ in changes))
    transaction.run_many(statement, ((key, account) for account, key in changes))
    return renamed


def _inherit(
    transaction: Transaction, heirs: Sequence[int], unmatched: Sequence[int]
) -> list[tuple[int, str, str, str]]:
    """Charge new accounts with what any of the unmatched ones has spent, at most.

    The largest sum of every metric and distance is taken, whichever account it is of; hours of
    dated releases are added up, as if all of them were the same.
    """
    worst = _largest_sums(transaction, unmatched) if heirs else {}
    rows = [
        (account, metric, distance, epsilon)
        for account in heirs
        for (metric, distance), epsilon in sorted(worst.items())
    ]
    transaction.run_many("INSERT INTO sums VALUES (?, ?, ?, ?, 0)", rows)
    return rows


def _largest_sums(transaction: Transaction, accounts: Sequence[int]) -> dict[tuple[str, str], str]:
    largest: dict[tuple[str, str], Fraction] = {}
    for account in accounts:
        spent: dict[tuple[str, str], Fraction] = {}
        for metric, distance, epsilon in transaction.all(
            "SELECT metric, distance, epsilon FROM charges WHERE account = ?", (account,)
        ):
            spent[metric, distance] = spent.get((metric, distance), Fraction(0)) + Fraction(epsilon)
        for key, value in spent.items():
            largest[key] = max(largest.get(key, Fraction(0)), value)
    return {key: str(value) for key, value in largest.items()}


def _branches(owner: LoadOwner) -> dict[str, frozenset[str]]:
    """Return the branches around each of an owner's loads, by its key."""
    found = {
        key: around
        for keys, around in zip(owner.keys, owner.surroundings, strict=True)
        for key in keys
    }
    return {**dict.fromkeys(owner.idle, frozenset()), **found}


def _digest(owner: LoadOwner) -> str:
    rows = sorted((key, sorted(around)) for key, around in _branches(owner).items())
    return digest_of(rows)


def _all(transaction: Transaction) -> list[Register]:
    rows = transaction.all(f"{_SELECT} ORDER BY id")
    return [Register(*row) for row in rows]


def _accounts(transaction: Transaction, register: int) -> dict[str, int]:
    rows = transaction.all(
        "SELECT key, id FROM accounts WHERE register = ? AND kind = ?", (register, LOAD)
    )
    return dict(rows)


def _known(transaction: Transaction, register: Register) -> list[KnownLoad]:
    around: dict[int, set[str]] = {}
    for account, branch in transaction.all(
        "SELECT s.account, s.branch FROM surroundings s JOIN accounts a ON a.id = s.account "
        "WHERE a.register = ?",
        (register.id,),
    ):
        around.setdefault(account, set()).add(branch)
    return [
        KnownLoad(account, key, frozenset(around.get(account, ())))
        for key, account in _accounts(transaction, register.id).items()
    ]


def _next_id(transaction: Transaction, table: str) -> int:
    return int(transaction.all(f"SELECT COALESCE(MAX(id), 0) + 1 FROM {table}")[0][0])


def _free_name(label: str, taken: set[str]) -> str:
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


def _unclear(owner: LoadOwner, alike: Sequence[Register]) -> RegisterUnclearError:
    names = ", ".join(_quoted(register.name) for register in alike)
    first = alike[0].name
    return RegisterUnclearError(
        f"{owner.label} looks like a network whose loads the ledger knows: {names}. Nothing was "
        f"drawn. Say which it is: --register {_quoted(first)} if these are the same loads, so that "
        "what was spent on them counts; --new-register NAME if they are other loads"
    )
