"""Accounts of circuits and generators: which register they are in, and what they inherit.

Their impedances may be what is protected, so nothing here looks at them, not even by a digest:
neither a refusal nor a row of the ledger may tell them. A network is found by the numbers of its
buses and by the structure around its loads. It is

- *the same* as a register, if its buses have the same numbers, and the structure agrees;
- *like* a register, if only one of the two holds: then only the owner can say;
- *another* one otherwise.

All elements of a kind are released together, and which of them is which is not told for sure: buses
are renumbered, parallel circuits change places. So each element of a release may be any account of
its kind in the register, and inherits what any of them has spent beyond it. That costs nothing
where all were in every release.
"""

from dataclasses import replace

from gridveil.privacy.ledger.chain import append, digest_of
from gridveil.privacy.ledger.matching import branches_of, have_the_same_structure
from gridveil.privacy.ledger.records import LoadOwner, Spending
from gridveil.privacy.ledger.registers import (
    Register,
    Resolution,
    add_to_sums,
    all_registers,
    bound_to,
    free_name,
    heritage,
    known_loads,
    next_id,
    record,
    refuse_taken_name,
    register_named,
    unclear,
)
from gridveil.privacy.ledger.store import Transaction


def without_impedances(owner: LoadOwner) -> LoadOwner:
    """Return an owner of whose branches nothing is said: structure and neighbours remain."""
    around, idle = (
        tuple(one - branches_of(one) for one in of)
        for of in (owner.surroundings, owner.idle_surroundings)
    )
    return replace(owner, surroundings=around, idle_surroundings=idle, branches=frozenset())


def resolve_elements(transaction: Transaction, spending: Spending) -> Resolution:
    """Find the accounts of a release's elements, or refuse where only the owner can say."""
    register, name, alike = _register_of(transaction, spending.owner)
    known = {} if register is None else _accounts(transaction, register, spending.kind)
    accounts = {key: known[key] for key in spending.elements if key in known}
    missing = tuple(key for key in spending.elements if key not in known)
    may_be = dict.fromkeys(spending.elements, frozenset(known.values()))
    return Resolution(register, name, accounts, missing, may_be, alike=alike)


def record_elements(transaction: Transaction, spending: Spending, found: Resolution) -> Resolution:
    """Write what a resolution found: a new register, new accounts, and what they inherit."""
    register = found.register
    if register is None:
        loads = tuple(spending.owner.around)
        opened = Resolution(None, found.name, {}, loads, alike=found.alike)
        register = record(transaction, spending.owner, opened).register
        assert register is not None
    free = frozenset(_accounts(transaction, register, spending.kind).values())
    free -= set(found.accounts.values())
    first = next_id(transaction, "accounts")
    added = {key: first + i for i, key in enumerate(found.missing)}
    transaction.run_many(
        "INSERT INTO accounts VALUES (?, ?, ?, ?)",
        ((account, register.id, spending.kind, key) for key, account in added.items()),
    )
    accounts = {**found.accounts, **added}
    may_be = {accounts[key]: others for key, others in found.may_be.items()}
    heirs = heritage(transaction, register, may_be)
    bound = bound_to(transaction, dict.fromkeys(added.values(), free))
    if added or heirs:
        add_to_sums(transaction, heirs)
        content = {
            "register": register.name,
            "of": spending.kind,
            "first_account": first,
            "added": list(added),
            "inherited": digest_of(heirs),
            "may_be": digest_of(bound),
        }
        row = append(transaction, "elements", content).row
        transaction.run_many(
            "INSERT INTO charges VALUES (?, ?, ?, ?, ?)",
            ((account, row, metric, at, epsilon) for account, metric, at, epsilon in heirs),
        )
        transaction.run_many(
            "INSERT INTO may_be VALUES (?, ?, ?)",
            ((account, other, row) for account, other in bound),
        )
    return Resolution(register, register.name, accounts, ())


def _register_of(
    transaction: Transaction, owner: LoadOwner
) -> tuple[Register | None, str, tuple[str, ...]]:
    """Return the register of an owner, or the name of a new one and those that look like it."""
    chosen, registers = owner.register, all_registers(transaction)
    if chosen is not None and not chosen.is_new:
        register = register_named(transaction, chosen.name)
        return register, register.name, ()
    agree = {
        register: (register.network == owner.network, _agrees(transaction, register, owner))
        for register in registers
    }
    alike = [register for register, which in agree.items() if any(which)]
    if chosen is not None:
        known = [r for r in alike if r.name == chosen.name and all(agree[r])]
        if known:  # the same words again
            return known[0], chosen.name, ()
        refuse_taken_name(chosen.name, registers)
        return None, chosen.name, tuple(register.name for register in alike)
    if len(alike) == 1 and all(agree[alike[0]]):
        return alike[0], alike[0].name, ()
    if alike:
        raise unclear(owner, alike)
    return None, free_name(owner.label, {register.name for register in registers}), ()


def _agrees(transaction: Transaction, register: Register, owner: LoadOwner) -> bool:
    """Whether the structure around the loads is that of a register; so if nothing is known."""
    theirs = {
        known.key: frozenset(known.around) - known.branches
        for known in known_loads(transaction, register)
    }
    if not any(theirs.values()) or not any(owner.around.values()):
        return register.network == owner.network
    return have_the_same_structure(owner.around, theirs)


def _accounts(transaction: Transaction, register: Register, kind: str) -> dict[str, int]:
    rows = transaction.all(
        "SELECT key, id FROM accounts WHERE register = ? AND kind = ?", (register.id, kind)
    )
    return dict(rows)
