"""The server is killed in the middle of a whole `gridveil release`: it goes on, or says so."""

import os
import subprocess
import sys
import threading

import pytest

from gridveil import Ledger, verify

RELEASE = """
import sys, time
from gridveil.cli.main import main
from gridveil.privacy import phase
from gridveil.privacy.ledger import postgresql
postgresql._PATIENCE_SECONDS = float(sys.argv.pop(1))
draw = phase.checked_release
def drawn(*arguments):
    values = draw(*arguments)
    print("drawn", file=sys.stderr, flush=True)
    time.sleep(0.5)
    return values
phase.checked_release = drawn
main()
"""
"""The command, with a draw that lets a test know of it and takes long enough to be interrupted."""


def start(database, folder, patience):
    """Start a release in a process of its own; the total that it buys is a second charge."""
    arguments = [
        "release", "case5_pjm", "--hide", "10MVA", "--cost-budget", "0.25", "--beta", "0.1",
        "--release-id", "one", "--plain", "--ledger", database, "-o", folder / "out",
    ]  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-c", RELEASE, str(patience), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )


def wait_for(process, said):
    """Read what a process says until it says this."""
    for line in process.stderr:
        if said in line:
            return
    pytest.fail(f"it never said {said!r}")


def spent(database):
    ledger = Ledger(database)
    assert ledger.inspect().problems == ()
    found = {account.spent for account in ledger.accounts()}
    ledger.close()
    return found


def test_a_server_that_comes_back_lets_the_release_go_on(server, database, tmp_path):
    process = start(database, tmp_path, patience=60)
    wait_for(process, "drawn")
    server.kill()
    threading.Timer(0.5, server.start).start()
    wait_for(process, "drawn")  # nothing of the first draw was kept
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert verify(tmp_path / "out").ok
    assert spent(database) == {1}


def test_a_server_that_stays_away_ends_the_release_with_a_message(server, database, tmp_path):
    """Nothing is left of it: neither a folder nor a charge; the next attempt is the first one."""
    process = start(database, tmp_path, patience=0.5)
    wait_for(process, "drawn")
    server.kill()
    try:
        _, told = process.communicate(timeout=120)
    finally:
        server.start()
    assert process.returncode == 2
    assert "Traceback" not in told
    assert "cannot be used" in told
    assert "Nothing was charged" in told
    assert list(tmp_path.iterdir()) == []
    assert spent(database) in (set(), {0})
    again = start(database, tmp_path, patience=60)
    _, told = again.communicate(timeout=120)
    assert again.returncode == 0, told
    assert verify(tmp_path / "out").ok
    assert spent(database) == {1}


def test_between_two_charges_nothing_is_drawn_twice(server, database, tmp_path):
    """Killed after the loads were charged: whatever becomes of the release, the next one is whole,
    with the same loads, and charges what is missing alone."""
    process = start(database, tmp_path, patience=0.5)
    wait_for(process, "drawn")
    while not Ledger(database).knows("one"):
        pass
    kept = Ledger(database).entry("one").drawn_at, Ledger(database).history()[-1]
    server.kill()
    try:
        _, told = process.communicate(timeout=120)
    finally:
        server.start()
    assert "Traceback" not in told
    assert process.returncode == 0 or (process.returncode == 2 and "cannot be used" in told)
    assert (tmp_path / "out").exists() == (process.returncode == 0)
    if process.returncode:
        again = start(database, tmp_path, patience=60)
        _, told = again.communicate(timeout=120)
        assert again.returncode == 0, told
        assert "drawn\n" not in told, "the loads that were charged are not drawn again"
    assert verify(tmp_path / "out").ok
    assert spent(database) == {1}
    assert Ledger(database).entry("one").drawn_at == kept[0]
    assert kept[1] in Ledger(database).history()
