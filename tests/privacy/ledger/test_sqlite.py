"""A ledger in a file: locked by SQLite, and left untouched where it cannot be believed."""

import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.ledger.ledger import Ledger
from tests.privacy.ledger.owners import draw, spending

ROOT = Path(__file__).parents[3]
SPENDING = spending()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


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
            "import sys; from pathlib import Path; from tests.privacy.ledger.test_sqlite import *; "
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
