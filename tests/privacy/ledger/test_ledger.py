"""The ledger: caps hold, draws happen once, through kill -9 and many processes at once."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.records import BudgetExceededError
from tests.privacy.ledger.owners import BUSES, draw, owner, spending

ROOT = Path(__file__).parents[3]
SPENDING = spending()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_what_is_drawn_is_stored_and_returned_again(path):
    values = Ledger(path).spend("r1", SPENDING, draw)
    assert Ledger(path).spend("r1", SPENDING, lambda: pytest.fail("drawn twice")).tolist() == (
        values.tolist()
    )


def test_the_cap_is_hard_and_the_refusal_is_explained(path):
    ledger = Ledger(path)
    for i in range(3):
        ledger.spend(f"r{i}", SPENDING, draw)
    with pytest.raises(BudgetExceededError) as error:
        ledger.spend("r3", SPENDING, lambda: pytest.fail("drawn though refused"))
    assert "bus 3 of a network and 4 more loads" in str(error.value)
    assert "spent ε = 3 of its cap of 3" in str(error.value)
    assert "gridveil ledger cap" in str(error.value)
    assert [account.spent for account in ledger.accounts()] == [3] * 5


def test_sums_are_exact(path):
    ledger = Ledger(path)
    tenth = spending(epsilon="0.1")
    for i in range(30):
        ledger.spend(f"r{i}", tenth, draw)
    assert ledger.accounts()[0].left == 0
    with pytest.raises(BudgetExceededError):
        ledger.spend("one more", spending(epsilon="1e-12"), draw)


def test_caps_of_loads_come_before_those_of_networks_and_all(path):
    ledger = Ledger(path)
    ledger.set_cap(10)
    ledger.open_register(owner())
    ledger.set_cap(5, "a network")
    ledger.set_cap("0.5", "a network", ["bus 8"])
    ledger.spend("r", spending(epsilon="0.5"), draw)
    caps = {account.key: account.cap.epsilon for account in ledger.accounts()}
    assert list(caps.values()) == [5, 5, Fraction(1, 2), 5, 5]
    with pytest.raises(BudgetExceededError, match="bus 8 of a network"):
        ledger.spend("r2", spending(epsilon="0.25"), draw)


def test_a_smaller_distance_costs_in_proportion(path):
    ledger = Ledger(path)
    ledger.spend("r", spending(epsilon="0.5", distance="0.1"), draw)
    assert ledger.check(spending(epsilon="0.1", distance="0.02")) == Fraction(1, 2)
    assert ledger.check(spending(epsilon="0.1", distance="0.5")) == Fraction(1, 10)
    assert ledger.check(spending(epsilon="0.1", distance=None)) == Fraction(1, 10)


def test_checking_changes_nothing(path):
    ledger = Ledger(path)
    before = path.read_bytes()
    assert ledger.check(SPENDING) == 1
    assert path.read_bytes() == before


def test_a_failed_draw_costs_nothing(path):
    ledger = Ledger(path)

    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ledger.spend("r", SPENDING, fail)
    assert ledger.accounts() == []
    ledger.spend("r", SPENDING, draw)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a ledger"),
        (b"bus,p,q\n1,2,3\n" * 50, "not a ledger"),
        (None, "not a ledger"),
    ],
)
def test_a_foreign_file_is_refused_and_left_untouched(path, content, says):
    if content is None:
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE customers (name TEXT)")
        other.commit()
        other.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(GridveilError, match=says):
        Ledger(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_later_version_is_refused(path):
    Ledger(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(GridveilError, match="a ledger of version 99"):
        Ledger(path)


@pytest.mark.parametrize("damage", ["cut", "scrambled"])
def test_a_damaged_ledger_is_refused_and_left_untouched(path, damage):
    ledger = Ledger(path)
    ledger.set_cap(1000)
    for i in range(40):
        ledger.spend(f"r{i}", SPENDING, draw)
    ledger.close()
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[len(data) // 2 :]
    else:
        data[4096 : 4096 * 6] = os.urandom(4096 * 5)
    path.write_bytes(data)
    with pytest.raises(GridveilError, match="damaged"):
        Ledger(path)
    assert path.read_bytes() == data


def test_opening_the_ledger_twice_keeps_the_locks_of_the_first(path):
    """A second connection, opened and closed during a draw, must not let another process in."""
    Ledger(path).set_cap(1)
    ledger = Ledger(path)
    others = []

    def slow():
        Ledger(path).close()
        script = (
            "import sys; from pathlib import Path; from tests.privacy.ledger.test_ledger import *; "
            "Ledger(Path(sys.argv[1])).spend('other', SPENDING, draw)"
        )
        others.append(
            subprocess.Popen(
                [sys.executable, "-c", script, path], cwd=ROOT, stderr=subprocess.PIPE, text=True
            )
        )
        time.sleep(3)
        return draw()

    ledger.spend("mine", SPENDING, slow)
    _, errors = others[0].communicate(timeout=60)
    assert "BudgetExceededError" in errors
    database = sqlite3.connect(path)
    assert database.execute("SELECT id FROM releases").fetchall() == [("mine",)]


@pytest.mark.parametrize(
    ("epsilon", "distance"), [("-5", "10"), ("0", "10"), ("1", "0"), ("1", "-2")]
)
def test_budget_cannot_be_refunded(path, epsilon, distance):
    ledger = Ledger(path)
    with pytest.raises(GridveilError, match="must be above 0"):
        ledger.spend("r", spending(epsilon=epsilon, distance=distance), draw)
    assert ledger.accounts() == []


def test_the_advice_of_a_refusal_would_be_allowed(path):
    ledger = Ledger(path)
    ledger.spend("r", spending(epsilon="2"), draw)
    with pytest.raises(BudgetExceededError, match=r"ε of at most 0\.1,"):
        ledger.check(spending(distance="0.01"))
    assert ledger.check(spending(epsilon="0.1", distance="0.01")) == 1


def test_a_ledger_in_use_is_not_called_damaged(path, monkeypatch):
    monkeypatch.setattr("gridveil.privacy.ledger.sqlite._BUSY_SECONDS", 0.1)
    Ledger(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(GridveilError, match="cannot be used: database is locked"):
        Ledger(path)
    other.execute("ROLLBACK")
    closed = Ledger(path)
    closed.close()
    with pytest.raises(GridveilError, match="cannot be used"):
        closed.accounts()


RELEASES, KILLS, PROCESSES = 300, 200, 8


def _work(path, seed, told):
    """Make releases under random ids, some of them the same as another process's, until killed."""
    choose = random.Random(seed)
    while True:
        ledger = Ledger(path)
        release = f"r{choose.randrange(RELEASES)}"
        try:
            values = ledger.spend(release, spending(epsilon="0.01"), draw)
            os.write(told, f"{release} {values[:, 0].tolist()}\n".encode())
        except BudgetExceededError:
            pass
        ledger.close()


def _start(path, seed, told):
    child = os.fork()
    if child == 0:
        try:
            _work(path, seed, told)
        finally:
            os._exit(1)
    return child


def test_200_kills_and_8_processes_never_overspend_lose_or_double(path):
    Ledger(path).set_cap(1)  # a hundred releases, of three hundred ids
    output = path.with_name("told.txt")
    writer = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    chance = random.Random(1)
    children = [_start(path, seed, writer) for seed in range(PROCESSES)]
    for kill in range(KILLS):
        time.sleep(chance.random() * 0.03)
        victim = chance.randrange(PROCESSES)
        os.kill(children[victim], signal.SIGKILL)
        _, status = os.waitpid(children[victim], 0)
        assert os.WIFSIGNALED(status), "a process ended by itself: it failed"
        children[victim] = _start(path, 1000 + kill, writer)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os.close(writer)

    told: dict[str, set[str]] = {}
    for line in output.read_text().splitlines():
        release, values = line.split(" ", 1)
        told.setdefault(release, set()).add(values)
    assert told
    assert all(len(values) == 1 for values in told.values()), "a release was drawn twice"

    database = sqlite3.connect(path)
    stored = {
        release: np.frombuffer(steps, dtype=">i8").reshape(-1, 2)[:, 0].tolist()
        for release, steps in database.execute("SELECT id, steps FROM releases")
    }
    charges = database.execute(
        "SELECT e.id, COUNT(*) FROM releases e JOIN charges c ON c.row_number = e.row_number "
        "GROUP BY e.id"
    ).fetchall()
    assert charges == [(release, len(BUSES)) for release in sorted(stored)]
    charged = set(stored)
    assert Ledger(path).inspect().ok
    assert all(len(values) == len(BUSES) for values in stored.values())
    assert all(str(stored[release]) in values for release, values in told.items()), "lost"
    assert len(charged) == 100, "the budget was spent to its end and not beyond"
    assert [account.spent for account in Ledger(path).accounts()] == [1] * 5
