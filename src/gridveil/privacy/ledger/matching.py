"""Which register the loads of a network belong to, and which of its accounts each of them is.

A load is recognised by its key, by the branches around it, and by the structure of the network
there. A network is

- *the same* as a register, if at least half of its loads have an account with their own key and a
  branch in common;
- *like* a register, if any load has such an account, or stands among several of the branches of
  one, or a tenth of the loads of either stand among branches of the other, or many branches of the
  networks agree, wherever their loads stand, or neighbours or the structure agree, or most keys
  agree and nothing else is known: then only the owner can say;
- *like it by keys alone*, if some keys agree and nothing else is known: the owner is asked too,
  unless the network is the same as another register;
- *another* one otherwise: numbers of buses alone, such as 1 to 9, are no reason.

A load is the account among whose branches it stands; its own key counts for something too, so that
a branch more or less changes nothing. Where it may be other accounts as well, all of these are
named, and it inherits what the one of them has spent that has spent most.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum

from gridveil.network.surroundings import NEIGHBOURS, STRUCTURE

Tokens = AbstractSet[str]
"""What stands around a load, as surroundings.py has it."""

_SAME = 0.5
"""Share of a network's loads that have an account with their key and a branch in common."""
_SAME_KEYS = 0.5
"""Share of all keys that both have, from which on keys alone make two networks alike."""
_LIKE = 0.1
"""Share of loads that stand among the same branches, from which on two networks are alike."""
_SEVERAL = 3
"""Digests in common, from which on one load is enough: of two branches, as each has two."""
_SAME_BRANCHES = 0.3
"""Share of the branches of the smaller network, from which on two networks are alike."""
_SAME_STRUCTURE = 0.5
"""Share of loads of both networks in the same structure, whatever their keys and branches are."""
_LEAST_STRUCTURES = 5
"""Different ones: in a small or regular network all loads are in the same."""
_OWN_KEY = 0.4
"""What the same key counts for, in shares of branches in common."""


class Likeness(Enum):
    """How a network compares with a register."""

    SAME = "the same"
    LIKE = "like it"
    LIKE_BY_KEYS = "like it by keys alone"
    OTHER = "another"


@dataclass(frozen=True)
class KnownLoad:
    """An account of a register, as far as it is recognised."""

    account: int
    key: str
    around: Tokens
    was_absent: bool = False
    """Whether once no load was found for it, but one that may have been or included it."""

    @property
    def branches(self) -> frozenset[str]:
        """The branches around it."""
        return branches_of(self.around)


@dataclass(frozen=True)
class Match:
    """Which account each load of a network is."""

    accounts: Mapping[str, int]
    """By key; loads that have no account yet are left out."""
    may_be: Mapping[str, AbstractSet[int]]
    """Other accounts that a load may be as well, or that may include it; by key."""
    absent: tuple[int, ...]
    """Accounts that no load was found for, though one may be or include them."""


def branches_of(around: Tokens) -> frozenset[str]:
    """Return the branches of what stands around a load."""
    return frozenset(token for token in around if not token.startswith((STRUCTURE, NEIGHBOURS)))


def likeness(loads: Mapping[str, Tokens], register: Sequence[KnownLoad]) -> Likeness:
    """Return how the loads of a network, by key, compare with the accounts of a register."""
    ours = {key: branches_of(around) for key, around in loads.items()}
    theirs = {known.key: known.branches for known in register}
    shared = ours.keys() & theirs.keys()
    agreeing = sum(bool(ours[key] & theirs[key]) for key in shared)
    if agreeing >= max(1.0, _SAME * len(loads)):
        return Likeness.SAME
    alike = (
        agreeing
        or _stand_among_the_same(list(ours.values()), list(theirs.values()))
        or have_the_same_structure(loads, {known.key: known.around for known in register})
    )
    if alike:
        return Likeness.LIKE
    if not shared or any(ours[key] and theirs[key] for key in shared):
        return Likeness.OTHER
    most = len(shared) >= _SAME_KEYS * len(ours.keys() | theirs.keys())
    return Likeness.LIKE if most else Likeness.LIKE_BY_KEYS


def share_branches(ours: Tokens, theirs: Tokens) -> bool:
    """Whether two networks have so many branches in common that they may be the same."""
    fewer, common = min(len(ours), len(theirs)), len(ours & theirs)
    return common > 0 and common >= max(min(_SEVERAL, fewer), _SAME_BRANCHES * fewer)


def match(loads: Mapping[str, Tokens], register: Sequence[KnownLoad]) -> Match:
    """Find the account of every load of a network, by key, in a register."""
    ours = {key: branches_of(around) for key, around in loads.items()}
    by_key = {known.key: known for known in register}
    places = _Places(ours, register)
    accounts = _assign(ours, by_key, places)
    matched = set(accounts.values())
    free = frozenset(known.account for known in register if known.account not in matched)
    charged = {accounts[key] for key, branches in ours.items() if branches and key in accounts}
    may_be: dict[str, AbstractSet[int]] = {}
    for key, branches in ours.items():
        own, account = by_key.get(key), accounts.get(key)
        if account is None:
            may_be[key] = free | places.covering(branches)
        elif own is None or own.account != account:
            alike = places.standing(branches, places.share(branches, account))
            may_be[key] = alike if own is None or own.account in alike else alike | {own.account}
        elif branches:
            may_be[key] = _others(own, branches, places, free) - charged
            if own.was_absent:
                may_be[key] |= places.covering(branches) | free
    others = [*may_be.values(), *(places.covering(branches) for branches in ours.values())]
    absent = free & frozenset[int]().union(*others)
    return Match(accounts, may_be, tuple(sorted(absent)))


class _Places:
    """Where accounts stand, and which share of their branches is around each load."""

    def __init__(self, ours: Mapping[str, frozenset[str]], register: Sequence[KnownLoad]) -> None:
        self._at: dict[frozenset[str], list[int]] = {}
        for known in register:
            self._at.setdefault(known.branches, []).append(known.account)
        self._place = {account: place for place, found in self._at.items() for account in found}
        at_branch: dict[str, list[frozenset[str]]] = {}
        for place in self._at:
            for branch in place:
                at_branch.setdefault(branch, []).append(place)
        order = {place: i for i, place in enumerate(self._at)}
        self._shares: dict[frozenset[str], dict[frozenset[str], float]] = {}
        for branches in dict.fromkeys(ours.values()):
            near = {place for branch in branches for place in at_branch.get(branch, ())}
            self._shares[branches] = {
                place: len(branches & place) / len(branches | place)
                for place in sorted(near, key=order.__getitem__)
            }
        self._standing: dict[tuple[frozenset[str], float], frozenset[int]] = {}

    def share(self, branches: frozenset[str], account: int) -> float:
        """Return which share of branches a load and an account have in common."""
        return self._shares[branches].get(self._place[account], 0.0)

    def ranked(self) -> list[tuple[float, frozenset[str], list[int]]]:
        """Return shares, branches and the accounts that have them in common."""
        return [
            (share, branches, self._at[place])
            for branches, near in self._shares.items()
            for place, share in near.items()
        ]

    def standing(self, branches: frozenset[str], least: float) -> frozenset[int]:
        """Return the accounts with at least that share of branches in common, above none."""
        if (branches, least) not in self._standing:
            self._standing[branches, least] = frozenset(
                account
                for place, share in self._shares[branches].items()
                if share >= least
                for account in self._at[place]
            )
        return self._standing[branches, least]

    def covering(self, branches: frozenset[str]) -> frozenset[int]:
        """Return the accounts that stand among all of these branches, if there are any."""
        places = (place for place in self._shares[branches] if branches <= place)
        return frozenset(account for place in places for account in self._at[place])


def _assign(
    ours: Mapping[str, frozenset[str]], by_key: Mapping[str, KnownLoad], places: _Places
) -> dict[str, int]:
    """Return an account for each load: by branches the best first, then by keys alone.

    Where nothing but the key is known of a load or of an account, the key decides.
    """
    accounts: dict[str, int] = {}
    pairs: list[tuple[float, int, list[str], list[int]]] = []
    for key, branches in ours.items():
        known = by_key.get(key)
        if known is None:
            continue
        if not branches or not known.branches:
            accounts[key] = known.account
        elif share := places.share(branches, known.account):
            pairs.append((share + _OWN_KEY, 1, [key], [known.account]))
    keys: dict[frozenset[str], list[str]] = {}
    for key, branches in ours.items():
        keys.setdefault(branches, []).append(key)
    pairs.extend((share, 0, keys[branches], at) for share, branches, at in places.ranked())
    taken = set(accounts.values())
    for _, _, some, candidates in sorted(pairs, key=lambda pair: pair[:2], reverse=True):
        left = (account for account in candidates if account not in taken)
        for key, account in zip([k for k in some if k not in accounts], list(left), strict=False):
            accounts[key] = account
            taken.add(account)
    for key in ours:
        known = by_key.get(key)
        if key not in accounts and known is not None and known.account not in taken:
            accounts[key] = known.account
            taken.add(known.account)
    return accounts


def _others(
    own: KnownLoad, branches: frozenset[str], places: _Places, free: AbstractSet[int]
) -> AbstractSet[int]:
    """Return which accounts a load may be that was given the one of its own key."""
    share = places.share(branches, own.account)
    if share:
        return places.standing(branches, math.nextafter(share, 1.0))
    return (
        places.standing(branches, 1.0)
        if not own.branches
        else places.standing(branches, 0.0) | free
    )


def _stand_among_the_same(ours: Sequence[Tokens], theirs: Sequence[Tokens]) -> bool:
    """Whether a tenth of either stand among branches of the other, or one among several."""
    ours_all, theirs_all = frozenset[str]().union(*ours), frozenset[str]().union(*theirs)
    alike = sum(bool(branches & theirs_all) for branches in ours)
    covered = sum(bool(branches & ours_all) for branches in theirs)
    if alike and (alike >= _LIKE * len(ours) or covered >= _LIKE * len(theirs)):
        return True
    common = {branches & theirs_all for branches in ours}
    return any(
        len(some & branches) >= _SEVERAL
        for some in common
        if len(some) >= _SEVERAL
        for branches in theirs
    )


def have_the_same_structure(loads: Mapping[str, Tokens], register: Mapping[str, Tokens]) -> bool:
    """Whether loads of the same keys have the same neighbours, or many the same structure.

    Args:
        loads: What stands around the loads of a network, by key.
        register: The same of accounts.
    """
    ours = {key: around - branches_of(around) for key, around in loads.items()}
    theirs = {key: around - branches_of(around) for key, around in register.items()}
    fewer, more = sorted((len(loads), len(register)))
    common = [ours[key] & theirs[key] for key in ours.keys() & theirs.keys()]
    keyed = sum(map(bool, common))
    if keyed >= max(1.0, _SAME * fewer) or keyed >= max(2.0, _LIKE * fewer):
        return True
    kinds = (STRUCTURE, NEIGHBOURS)
    if any(all(any(t.startswith(kind) for t in tokens) for kind in kinds) for tokens in common):
        return True
    one, other = (
        Counter(token for tokens in of.values() for token in tokens if token.startswith(STRUCTURE))
        for of in (ours, theirs)
    )
    structures = one & other
    return len(structures) >= _LEAST_STRUCTURES and structures.total() >= _SAME_STRUCTURE * more
