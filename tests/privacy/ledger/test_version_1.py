"""A ledger of version 1 is taken over whole: what was spent, caps, distances, private loads."""

import multiprocessing
import random
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from gridveil import load_case
from gridveil.errors import GridveilError
from gridveil.privacy.ledger.ledger import Ledger, existing_ledger
from gridveil.privacy.ledger.owner import network_id, owner_of
from gridveil.privacy.ledger.records import BudgetExceededError, RegisterChoice
from gridveil.privacy.metric import Metric
from gridveil.privacy.phase import spending

SCHEMA = """
PRAGMA application_id = 1196837959;
PRAGMA user_version = 1;
CREATE TABLE networks (id TEXT PRIMARY KEY, label TEXT NOT NULL, distance TEXT);
CREATE TABLE caps (network TEXT NOT NULL, bus INTEGER NOT NULL, epsilon TEXT NOT NULL,
    PRIMARY KEY (network, bus));
CREATE TABLE releases (id TEXT PRIMARY KEY, network TEXT NOT NULL REFERENCES networks (id),
    drawn_at TEXT NOT NULL, charge TEXT NOT NULL, specification TEXT NOT NULL);
CREATE TABLE private_loads (release TEXT NOT NULL REFERENCES releases (id),
    position INTEGER NOT NULL, bus INTEGER NOT NULL, p INTEGER NOT NULL, q INTEGER NOT NULL,
    PRIMARY KEY (release, position));
CREATE INDEX by_bus ON private_loads (bus);
"""
CASES = ("case5_pjm", "case14_ieee")


class Version1:
    """A file as version 0.2 wrote it, with releases of two networks and caps of all kinds."""

    def __init__(self, path, releases):
        random.seed(7)
        self.networks = {name: load_case(name) for name in CASES}
        self.spent = defaultdict(Fraction)
        self.loads = {}
        self.path = path
        database = sqlite3.connect(path)
        database.executescript(SCHEMA)
        for name, distance in zip(CASES, ("10", "1/3"), strict=True):
            network = self.networks[name]
            row = (network_id(network), network.name, distance)
            database.execute("INSERT INTO networks VALUES (?, ?, ?)", row)
        for i in range(releases):
            network = self.networks[random.choice(CASES)]
            charge = Fraction(random.randrange(1, 30), random.choice((1000, 777, 2**53)))
            at = f"2026-10-{i % 30 + 1:02}T00:00:{i % 60:02}+00:00"
            row = (f"r{i}", network_id(network), at, str(charge), f"specification {i}")
            database.execute("INSERT INTO releases VALUES (?, ?, ?, ?, ?)", row)
            own = [[random.randrange(-(2**40), 2**40) for _ in "pq"] for _ in network.load_buses]
            self.loads[f"r{i}"] = own
            database.executemany(
                "INSERT INTO private_loads VALUES (?, ?, ?, ?, ?)",
                (
                    (f"r{i}", n, bus, *values)
                    for n, (bus, values) in enumerate(zip(network.load_buses, own, strict=True))
                ),
            )
            for bus in network.load_buses:
                self.spent[network.name, f"bus {bus}"] += charge
        first = network_id(self.networks["case5_pjm"])
        unreleased = network_id(load_case("case30_ieee"))
        caps = [("", -1, "90"), (first, -1, "91"), (first, 3, "92"), (unreleased, -1, "1/2")]
        database.executemany("INSERT INTO caps VALUES (?, ?, ?)", caps)
        database.commit()
        database.close()


@pytest.fixture
def old(tmp_path):
    return Version1(tmp_path / "ledger.sqlite", 40)


def test_a_thousand_releases_are_taken_over_and_sums_agree_exactly(tmp_path):
    old = Version1(tmp_path / "ledger.sqlite", 1000)
    ledger = Ledger(old.path)
    assert {(a.register, a.key): a.spent for a in ledger.accounts()} == old.spent
    inspection = ledger.inspect()
    assert (inspection.problems, inspection.releases) == ((), 1000)
    assert [e.content["release"] for e in ledger.history() if "release" in e.content] == [
        f"r{i}" for i in range(1000)
    ]


def test_private_loads_are_found_under_their_ids_and_nothing_is_charged(old):
    ledger = Ledger(old.path)
    for name in ("r0", "r39"):
        network = next(
            n for n in old.networks.values() if len(n.load_buses) == len(old.loads[name])
        )
        specification = f"specification {name[1:]}"
        asked = spending(owner_of(network), 1, "0.1")
        asked = type(asked)(asked.owner, asked.charge, specification)
        stored = ledger.spend(name, asked, lambda: pytest.fail("drawn again"))
        assert stored.tolist() == old.loads[name]
    assert {(a.register, a.key): a.spent for a in ledger.accounts()} == old.spent


def test_caps_and_distances_are_those_of_before(old):
    ledger = Ledger(old.path)
    caps = {(a.register, a.key): (a.cap.epsilon, a.cap.distance) for a in ledger.accounts()}
    five, fourteen = (old.networks[name].name for name in CASES)
    assert caps[five, "bus 2"] == (91, 10)
    assert caps[five, "bus 3"] == (92, 10)
    assert caps[fourteen, "bus 2"] == (90, Fraction(1, 3))


def test_a_cap_of_a_network_that_was_never_released_still_holds(old):
    ledger = Ledger(old.path)
    asked = spending(owner_of(load_case("case30_ieee")), "0.5", "0.1")
    assert ledger.check(asked) == Fraction(1, 2)
    with pytest.raises(BudgetExceededError, match=r"cap of 0\.5"):
        ledger.check(spending(owner_of(load_case("case30_ieee")), "0.51", "0.1"))


def test_its_caps_hold_for_promises_of_every_kind(old):
    ledger = Ledger(old.path)
    asked = spending(owner_of(load_case("case30_ieee")), "0.6", "0.1")
    relative = replace(asked, charge=replace(asked.charge, metric=Metric.RELATIVE))
    with pytest.raises(BudgetExceededError, match=r"cap of 0\.5"):
        ledger.check(relative)


def test_the_same_network_goes_on_with_what_it_had_spent(old):
    network = old.networks["case5_pjm"]
    ledger = Ledger(old.path)
    asked = spending(owner_of(network), 1, "0.1")
    try:
        name = ledger.register_of(asked)
    except GridveilError:
        name = None
    assert name == network.name
    left = ledger.least_left(asked)
    assert left == min(
        (92 if key == "bus 3" else 91) - spent
        for (register, key), spent in old.spent.items()
        if register == network.name
    )


def test_a_network_with_buses_of_the_same_numbers_is_charged_or_said_to_be_another(old):
    """Version 1 knew numbers alone: whose they are is what it charged, unless the owner objects."""
    raw = load_case("case5_pjm")
    ledger = Ledger(old.path)
    unknown = replace(owner_of(raw), surroundings=[frozenset({f"line {i}"}) for i in range(3)])
    assert ledger.register_of(spending(unknown, 1, "0.1")) == raw.name
    other = owner_of(raw, RegisterChoice("others", is_new=True))
    assert ledger.open_register(other) == ledger.open_register(other) == "others"
    assert {a.spent for a in ledger.accounts("others")} == {0}
    with pytest.raises(GridveilError, match=r"--register .*--new-register"):
        ledger.register_of(spending(owner_of(raw), 1, "0.1"))


def test_a_network_that_has_most_of_the_numbers_is_asked_about(old):
    """A switch that was opened made another network for version 1."""
    raw = owner_of(load_case("case14_ieee"))
    fewer = replace(
        raw,
        network="another",
        buses=raw.buses[:-1],
        keys=raw.keys[:-1],
        surroundings=raw.surroundings[:-1],
    )
    with pytest.raises(GridveilError, match=r"--register .*--new-register"):
        Ledger(old.path).register_of(spending(fewer, 1, "0.1"))


def dump(path):
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


def test_a_copy_of_the_file_stays_beside_it(old):
    before = dump(old.path)
    Ledger(old.path).close()
    assert dump(old.path) != before
    assert dump(old.path.with_name("ledger.sqlite.version-1")) == before


def test_looking_leaves_the_file_as_it_is(old):
    before = old.path.read_bytes()
    with existing_ledger(old.path) as ledger:
        assert {(a.register, a.key): a.spent for a in ledger.accounts()} == old.spent
    assert old.path.read_bytes() == before
    assert [p.name for p in old.path.parent.iterdir()] == ["ledger.sqlite"]


def _open(path, results):
    results.put(Ledger(path).identity)


def test_processes_that_take_it_over_at_once_agree(old):
    results = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=_open, args=(old.path, results)) for _ in range(4)]
    for process in processes:
        process.start()
    found = {results.get(timeout=60) for _ in processes}
    for process in processes:
        process.join()
    assert found == {Ledger(old.path).identity}
    assert Ledger(old.path).inspect().problems == ()
