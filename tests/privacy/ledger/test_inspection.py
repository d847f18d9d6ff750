"""Whatever is changed in a ledger by hand is found, unless every row after it is made anew."""

import sqlite3

import pytest

from gridveil.privacy.ledger.chain import broken_rows
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.records import RegisterChoice
from tests.privacy.ledger.grids import Grid, asked
from tests.privacy.ledger.owners import BUSES, draw, owner, spending


@pytest.fixture
def path(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.set_cap(20, reason="first")
    for i in range(3):
        ledger.spend(f"r{i}", spending(), draw)
    ledger.set_group("a network", "both", ["bus 3", "bus 5"])
    ledger.set_cap(12, "a network", group="both")
    ledger.set_cap(5, "a network", ["bus 3"])
    assert ledger.inspect().problems == ()
    ledger.close()
    return tmp_path / "ledger.sqlite"


CHANGES = [
    "UPDATE charges SET epsilon = '1/2' WHERE account = 1",
    "DELETE FROM charges WHERE account = 1",
    "UPDATE sums SET epsilon = '0' WHERE account = 1",
    "DELETE FROM sums WHERE account = 2",
    "UPDATE releases SET steps = zeroblob(80) WHERE id = 'r1'",
    "UPDATE releases SET id = 'other' WHERE id = 'r1'",
    "UPDATE releases SET specification = '{}' WHERE id = 'r1'",
    "UPDATE caps SET epsilon = '100'",
    "DELETE FROM caps WHERE account = 1",
    "INSERT INTO caps VALUES (1, 2, 'absolute', '100')",
    "UPDATE distances SET distance = '1000'",
    "UPDATE group_caps SET epsilon = '100'",
    "DELETE FROM members WHERE account = 1",
    "UPDATE rows SET at = '2020-01-01T00:00:00+00:00' WHERE number = 4",
    'UPDATE rows SET content = replace(content, \'"charge":"1"\', \'"charge":"0"\')',
    "UPDATE ledger SET identity = '0'",
    "UPDATE accounts SET key = 'bus 99' WHERE id = 1",
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_is_found(path, change):
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        assert database.execute(change).rowcount
    assert not Ledger(path).inspect().ok


INHERITED = [
    "DELETE FROM charges WHERE row_number IN (SELECT number FROM rows WHERE kind = 'loads')",
    "UPDATE sums SET epsilon = '1' WHERE account = 12",
    "DELETE FROM may_be",
    "DELETE FROM surroundings WHERE account = 3",
    "DELETE FROM branches",
    "UPDATE registers SET digest = ''",
    "UPDATE registers SET name = 'another'",
    "UPDATE accounts SET key = 'bus 3 again' WHERE key = 'bus 3'",
    "UPDATE accounts SET key = CASE id WHEN 2 THEN 'x' ELSE key END",
    "UPDATE releases SET cumulative = '0'",
    "UPDATE releases SET charge = '0'",
    "UPDATE releases SET distance = '1'",
    "UPDATE releases SET first = 1",
    "UPDATE releases SET register = 99",
]


@pytest.mark.parametrize("change", INHERITED)
def test_what_is_changed_of_registers_and_their_history_is_found(tmp_path, change):
    place = tmp_path / "ledger.sqlite"
    grid, ledger = Grid.of("case14_ieee"), Ledger(place)
    ledger.spend("r1", asked(grid.owner()), lambda: draw(range(11)))
    ledger.set_cap("2.5", "case14_ieee", ["bus 14"])
    moved = grid.with_loads(0.0, 13).with_loads(9.0, 6)
    ledger.spend("r2", asked(moved.owner()), lambda: draw(range(11)))
    assert ledger.inspect().problems == ()
    ledger.close()
    with sqlite3.connect(place) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        assert database.execute(change).rowcount
    assert not Ledger(place).inspect().ok


def test_a_row_in_the_middle_cannot_go(path):
    with sqlite3.connect(path) as database:
        number = database.execute("SELECT row_number FROM releases WHERE id = 'r1'").fetchone()[0]
        for table in ("charges", "releases"):
            database.execute(f"DELETE FROM {table} WHERE row_number = ?", (number,))
        database.execute("DELETE FROM rows WHERE number = ?", (number,))
    problems = Ledger(path).inspect().problems
    assert f"row {number} is missing" in problems


def test_the_last_row_can_go_but_a_certificate_tells(path):
    """What `gridveil ledger compare` is for: the chain alone has nothing that is missing."""
    ledger = Ledger(path)
    seal = ledger.entry("r2").seals[0]
    rows = ledger.history()
    assert broken_rows(rows[: seal.row - 1]) == []
    assert ledger.head_of(seal.row) == seal.head
    assert ledger.head_of(len(rows) + 1) is None


def test_caps_and_groups_follow_loads_that_swapped_their_keys(path):
    ledger = Ledger(path)
    swapped = [BUSES[1], BUSES[0], *BUSES[2:]]
    around = [frozenset({f"net {bus}", f"net {bus}'"}) for bus in swapped]
    ledger.open_register(owner(branches=around, register=RegisterChoice("a network", False)))
    assert ledger.history()[-1].content["renamed"]
    caps = {account.key: account.cap.epsilon for account in ledger.accounts()}
    assert (caps["bus 3"], caps["bus 5"]) == (5, 5), "either may be the one with a cap of its own"
    assert ledger.inspect().problems == ()
