"""A load keeps its account, whatever is done to the network around it between two releases."""

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridveil import Ledger, load_case
from gridveil.network.case_file import COLUMNS, REQUIRED_COLUMNS
from gridveil.network.from_case import network_from_tables
from gridveil.network.source_loads import SourceLoad
from gridveil.privacy.ledger.owner import owner_of
from tests.privacy.ledger.grids import asked

CASE = load_case("case14_ieee").case
LOAD_BUSES = (2, 2, 3, 4, 4, 4, 9, 14, 14)
STATUS = COLUMNS["branch"].index("status")
MESHED = range(7)
"""Branches of which any one may open: no bus is cut off."""


@dataclass(frozen=True)
class Change:
    """What happens to a network between two releases."""

    seed: int
    renumbers: bool
    opened: int | None
    idle: frozenset[int]
    scale: float


changes = st.builds(
    Change,
    seed=st.integers(0, 2**32 - 1),
    renumbers=st.booleans(),
    opened=st.none() | st.sampled_from(MESHED),
    idle=st.frozensets(st.integers(0, len(LOAD_BUSES) - 1), max_size=len(LOAD_BUSES) - 1),
    scale=st.floats(-2, 2),
)


def network_after(change, lists_idle_loads=False):
    """The network with its rows shuffled, buses renumbered, a switch open, some loads idle."""
    random = np.random.default_rng(change.seed)
    tables = {name: CASE.tables[name].values.copy() for name in REQUIRED_COLUMNS}
    tables["bus"][:, 2:4] = 0.0
    if change.opened is not None:
        tables["branch"][change.opened, STATUS] = 0
    new = {n: n for n in tables["bus"][:, 0].tolist()}
    if change.renumbers:
        new = dict(zip(new, random.permutation(np.arange(100.0, 100 + len(new))), strict=True))
    for name, columns in {"bus": (0,), "gen": (0,), "branch": (0, 1)}.items():
        for column in columns:
            tables[name][:, column] = [new[n] for n in tables[name][:, column].tolist()]
    for name in ("bus", "branch"):
        tables[name] = random.permutation(tables[name])
    loads = [
        SourceLoad(int(new[bus]), f"load {i}", change.scale * i, 1.0, i not in change.idle)
        for i, bus in enumerate(LOAD_BUSES)
    ]
    loads = [loads[i] for i in random.permutation(len(loads))]
    network = network_from_tables(tables, CASE.base_mva, "grid", None, loads)
    return replace(network, lists_idle_loads=lists_idle_loads)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.tuples(changes, st.booleans()), min_size=1, max_size=4))
def test_every_load_is_charged_to_its_own_account(tmp_path_factory, steps):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    told: Counter[str] = Counter()
    for i, (change, lists_idle) in enumerate(steps):
        network = network_after(change, lists_idle)
        owner, count = owner_of(network), len(network.listed_loads)
        ledger.spend(f"r{i}", asked(owner, "1/2"), lambda n=count: np.zeros((n, 2), int))
        idle = set() if lists_idle else change.idle
        for load in set(range(len(LOAD_BUSES))) - idle:
            told[f"load {load}"] += Fraction(1, 2)
    accounts = ledger.accounts()
    assert {account.register for account in accounts} == {"grid"}
    assert {account.key: account.spent for account in accounts if account.spent} == told
    assert ledger.inspect().ok
    ledger.close()


def test_a_release_asked_for_again_gives_each_load_its_own_values(tmp_path):
    """Rows come in another order, and with other numbers at their buses."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    seen = []
    for seed, renumbers in itertools.product((1, 2), (False, True)):
        network = network_after(Change(seed, renumbers, None, frozenset(), 1.0))
        keys = [load.key for load in network.listed_loads.identities]
        drawn = np.array([[int(key.split()[1]), 0] for key in keys])
        values = ledger.spend("one", asked(owner_of(network)), lambda d=drawn: d)
        seen.append(dict(zip(keys, values[:, 0].tolist(), strict=True)))
    assert seen == [{f"load {i}": i for i in range(len(LOAD_BUSES))}] * 4
    ledger.close()
