"""Which register the loads of a network belong to, and which of its accounts each of them is.

A load is recognised by its key, where the same branches still stand around it, and otherwise by
these branches. So a network is

- *the same* as a register, if at least half of its loads have an account with their own key and a
  branch in common;
- *like* a register, if any load has such an account, or a tenth of the loads of either stand among
  branches of the other, or keys agree and no branches are known: then only the owner can say;
- *another* one otherwise: numbers of buses alone, such as 1 to 9, are no reason.

A load that has no account yet gets one. It may be any of the accounts that no load of the network
was found for, under a new key: so it inherits what the one of these has spent that has spent most.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

_SAME = 0.5
"""Share of a network's loads that have an account with their key and a branch in common."""
_LIKE = 0.1
"""Share of loads that stand among the same branches, from which on two networks are alike."""


class Likeness(Enum):
    """How a network compares with a register."""

    SAME = "the same"
    LIKE = "like it"
    OTHER = "another"


@dataclass(frozen=True)
class KnownLoad:
    """An account of a register, as far as it is recognised."""

    account: int
    key: str
    branches: AbstractSet[str]


@dataclass(frozen=True)
class Match:
    """Which account each load of a network is."""

    accounts: Mapping[str, int]
    """By key; loads that have no account yet are left out."""
    unmatched: tuple[int, ...]
    """Accounts that no load of the network was found for."""


def likeness(loads: Mapping[str, AbstractSet[str]], register: Sequence[KnownLoad]) -> Likeness:
    """Return how the loads of a network, by key, compare with the accounts of a register."""
    by_key = {known.key: known for known in register}
    shared = [key for key in loads if key in by_key]
    agreeing = [key for key in shared if loads[key] & by_key[key].branches]
    if len(agreeing) >= max(1.0, _SAME * len(loads)):
        return Likeness.SAME
    bare = not any(known.branches for known in register)
    if agreeing or (shared and (bare or not any(loads.values()))):
        return Likeness.LIKE
    theirs = {branch for known in register for branch in known.branches}
    ours = {branch for branches in loads.values() for branch in branches}
    alike = sum(bool(branches & theirs) for branches in loads.values())
    covered = sum(bool(known.branches & ours) for known in register)
    is_like = alike and (alike >= _LIKE * len(loads) or covered >= _LIKE * len(register))
    return Likeness.LIKE if is_like else Likeness.OTHER


def match(loads: Mapping[str, AbstractSet[str]], register: Sequence[KnownLoad]) -> Match:
    """Find the account of every load of a network, by key, in a register."""
    by_key = {known.key: known for known in register}
    found: dict[str, int] = {}
    for key, branches in loads.items():
        known = by_key.get(key)
        if known and (branches & known.branches or not (branches and known.branches)):
            found[key] = known.account
    free = [known for known in register if known.account not in set(found.values())]
    at_branch: dict[str, list[KnownLoad]] = {}
    for known in free:
        for branch in known.branches:
            at_branch.setdefault(branch, []).append(known)
    taken: set[int] = set()
    for key, branches in loads.items():
        if key in found:
            continue
        candidates = {k.account: k for b in branches for k in at_branch.get(b, ())}
        left = [known for account, known in candidates.items() if account not in taken]
        if left:
            best = max(left, key=lambda k: (len(k.branches & branches), -k.account))
            found[key] = best.account
            taken.add(best.account)
    matched = set(found.values())
    return Match(found, tuple(k.account for k in register if k.account not in matched))
