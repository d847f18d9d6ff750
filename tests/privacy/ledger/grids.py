"""Networks whose loads keep an identity, whatever is done to the files they stand in."""

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from gridveil import load_case
from gridveil.network.case_file import COLUMNS
from gridveil.network.conversion import ISOLATED, build_network
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.matpower_writer import text_of_tables
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import (
    BudgetExceededError,
    Charge,
    LoadOwner,
    RegisterChoice,
    Spending,
)
from gridveil.privacy.ledger.registers import RegisterUnclearError

_BUS, _BRANCH = COLUMNS["bus"].index, COLUMNS["branch"].index
_IMPEDANCES = [_BRANCH(name) for name in ("r", "x", "b")]
_LOAD = [_BUS("Pd"), _BUS("Qd")]


@dataclass(frozen=True)
class Grid:
    """Tables of a case, and who stands behind each row of the bus table."""

    bus: np.ndarray
    gen: np.ndarray
    branch: np.ndarray
    gencost: np.ndarray
    who: tuple[str, ...]
    base: float = 100.0
    name: str = "grid"

    @classmethod
    def of(cls, name, of="", load_everywhere=False):
        case = load_case(name).case
        bus, gen, branch, cost = (
            case.tables[table].values.copy() for table in ("bus", "gen", "branch", "gencost")
        )
        if load_everywhere:
            bus[:, _LOAD] = 7.0
        who = tuple(f"{of or name} {int(n)}" for n in bus[:, 0])
        return cls(bus, gen, branch, cost, who, case.base_mva, of or name)

    def tables(self):
        return {
            "bus": self.bus, "gen": self.gen, "branch": self.branch, "gencost": self.gencost
        }  # fmt: skip

    def network(self):
        """Return the network; a part may have no generator, which is no matter here."""
        text = text_of_tables(self.tables(), self.base)
        return build_network(parse_matpower(text, self.name, self.name))

    def owner(self, choice=None):
        return owner_of(self.network(), choice)

    def loads(self):
        """Return the identities behind the loads that a release of the grid is about."""
        in_service = (self.bus[:, _LOAD] != 0).any(axis=1) & (self.bus[:, _BUS("type")] != ISOLATED)
        return [who for who, has_load in zip(self.who, in_service, strict=True) if has_load]

    def renumbered(self, numbers):
        """Return it with these numbers of buses, in the order of its rows."""
        new = dict(zip(self.bus[:, 0].tolist(), map(float, numbers), strict=True))
        bus, gen, branch = self.bus.copy(), self.gen.copy(), self.branch.copy()
        bus[:, 0] = [new[n] for n in bus[:, 0].tolist()]
        gen[:, 0] = [new[n] for n in gen[:, 0].tolist()]
        for column in (0, 1):
            branch[:, column] = [new[n] for n in branch[:, column].tolist()]
        return replace(self, bus=bus, gen=gen, branch=branch)

    def permuted(self, seed, first=None):
        """Return it with its numbers of buses dealt anew, or with others from a first one on."""
        numbers = self.bus[:, 0] if first is None else first + np.arange(len(self.bus))
        return self.renumbered(np.random.default_rng(seed).permutation(numbers))

    def swapped(self, one, other):
        """Return it with the numbers of two buses exchanged."""
        new = {one: other, other: one}
        return self.renumbered([new.get(int(n), int(n)) for n in self.bus[:, 0]])

    def reordered(self, seed):
        draw = np.random.default_rng(seed).permutation
        rows, branches = draw(len(self.bus)), draw(len(self.branch))
        who = tuple(self.who[i] for i in rows)
        return replace(self, bus=self.bus[rows], branch=self.branch[branches], who=who)

    def opened(self, *rows):
        branch = self.branch.copy()
        branch[list(rows), _BRANCH("status")] = 0
        return replace(self, branch=branch)

    def without_branches(self, *rows):
        return replace(self, branch=np.delete(self.branch, list(rows), axis=0))

    def behind_branches(self):
        """Return it with each load at a bus of its own, behind a branch of its own."""
        bus, branch = self.bus.copy(), self.branch.copy()
        rows = np.flatnonzero((bus[:, _LOAD] != 0).any(axis=1))
        own, feeders = bus[rows].copy(), np.repeat(branch[:1], len(rows), axis=0)
        own[:, 0], own[:, _BUS("type")] = 9000 + np.arange(len(rows)), 1
        bus[np.ix_(rows, _LOAD)] = 0.0
        feeders[:, 0], feeders[:, 1] = bus[rows, 0], own[:, 0]
        feeders[:, _IMPEDANCES] = [0.001, 0.05, 0.0]
        who = (*self.who, *(self.who[row] for row in rows))
        return replace(
            self, bus=np.vstack([bus, own]), branch=np.vstack([branch, feeders]), who=who
        )

    def isolated(self, *rows):
        bus = self.bus.copy()
        bus[list(rows), _BUS("type")] = ISOLATED
        return replace(self, bus=bus)

    def with_loads(self, values, *rows):
        bus = self.bus.copy()
        bus[np.ix_(list(rows), _LOAD)] = values
        return replace(self, bus=bus)

    def with_base(self, base):
        """Return it on another base, its impedances converted."""
        branch, factor = self.branch.copy(), base / self.base
        branch[:, _IMPEDANCES] *= [factor, factor, 1 / factor]
        return replace(self, branch=branch, base=base)

    def scaled(self, factor):
        branch = self.branch.copy()
        branch[:, _IMPEDANCES] *= factor
        return replace(self, branch=branch)

    def rounded(self, digits):
        branch = self.branch.copy()
        branch[:, _IMPEDANCES] = [
            [float(f"{value:.{digits - 1}e}") for value in row] for row in branch[:, _IMPEDANCES]
        ]
        return replace(self, branch=branch)

    def part(self, rows):
        """Return the buses of these rows, with all that connects them."""
        kept = set(self.bus[rows, 0].tolist())
        inside = [a in kept and b in kept for a, b in self.branch[:, :2].tolist()]
        gens = [n in kept for n in self.gen[:, 0].tolist()]
        return replace(
            self,
            bus=self.bus[rows],
            gen=self.gen[gens],
            gencost=self.gencost[gens],
            branch=self.branch[inside],
            who=tuple(self.who[row] for row in rows),
        )

    def merged(self, other, first=1000):
        """Return both in one file, the other's buses numbered from a first one on."""
        moved = other.with_base(self.base).renumbered(first + np.arange(len(other.bus)))
        width = min(self.gencost.shape[1], moved.gencost.shape[1])

        def both(table, columns):
            return np.vstack([getattr(g, table)[:, :columns] for g in (self, moved)])

        return replace(
            self,
            bus=both("bus", 13),
            gen=both("gen", 10),
            branch=both("branch", 13),
            gencost=both("gencost", width),
            who=(*self.who, *moved.who),
        )


def asked(owner: LoadOwner, epsilon="1", distance="10", hours=None):
    return Spending(owner, Charge(Fraction(epsilon), Fraction(distance)), "x", hours)


class Attacker:
    """Releases whatever is refused by nothing, and counts what it was told of each load."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.told = Counter()
        self.count = 0

    def release(self, grid, epsilon="1", register=None):
        """Release a grid, and return by what it was refused, None if by nothing."""
        return self.release_network(grid.network(), grid.loads(), epsilon, register)

    def release_network(self, network, loads, epsilon="1", register=None):
        """Release a network, behind whose loads these stand."""
        choice = None if register is None else RegisterChoice(register, is_new=False)
        self.count += 1
        owner, values = owner_of(network, choice), np.zeros((len(network.loads), 2), int)
        try:
            self.ledger.spend(f"r{self.count}", asked(owner, epsilon), lambda: values)
        except (RegisterUnclearError, BudgetExceededError) as error:
            return error
        for load in set(loads):
            self.told[load] += Fraction(epsilon)
        return None

    def press(self, grid):
        """Release a grid until it is refused, under every register there is."""
        self.press_network(grid.network(), grid.loads())

    def press_network(self, network, loads):
        """Release a network until it is refused, under every register there is."""
        names = {account.register for account in self.ledger.accounts()}
        for register, epsilon in itertools.product((None, *sorted(names)), "21"):
            while self.release_network(network, loads, epsilon, register) is None:
                pass

    @property
    def most(self):
        return max(self.told.values(), default=Fraction(0))
