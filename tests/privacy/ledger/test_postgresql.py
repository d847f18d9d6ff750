"""A ledger in a real PostgreSQL server: lost connections, roles, encryption."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest

from gridveil.errors import GridveilError
from gridveil.federation.transport import certs
from gridveil.privacy.ledger import postgresql
from gridveil.privacy.ledger.ledger import Ledger
from tests.privacy.ledger.owners import BUSES, draw, owner, spending
from tests.privacy.ledger.tls_proxy import TLSProxy

ROOT = Path(__file__).parents[3]
SPENDING = spending()


def test_a_release_goes_on_after_the_server_was_killed_in_its_middle(server, database):
    ledger = Ledger(database)
    ledger.spend("before", SPENDING, draw)
    drawn = []

    def slow():
        drawn.append(draw())
        if len(drawn) == 1:
            server.kill()
            threading.Timer(1.0, server.start).start()
        return drawn[-1]

    values = ledger.spend("r", SPENDING, slow)
    assert len(drawn) == 2, "nothing of the first draw was kept, so it is drawn once more"
    again = Ledger(database)
    assert again.spend("r", SPENDING, lambda: pytest.fail("drawn again")).tolist() == (
        values.tolist()
    )
    assert [account.spent for account in again.accounts()] == [2] * len(BUSES)
    assert again.inspect().problems == ()


def test_a_server_that_is_gone_is_told_and_nothing_is_half_done(server, database, monkeypatch):
    monkeypatch.setattr(postgresql, "_PATIENCE_SECONDS", 0.5)
    ledger = Ledger(database)
    server.kill()
    try:
        with pytest.raises(GridveilError, match=r"cannot be used.*Nothing was charged"):
            ledger.spend("r", SPENDING, draw)
    finally:
        server.start()
    assert ledger.accounts() == []
    ledger.spend("r", SPENDING, draw)


def test_a_commit_whose_answer_was_lost_is_found_and_not_charged_twice(
    server, database, monkeypatch
):
    ledger = Ledger(database)
    ledger.open_register(owner())
    commit, lost = psycopg.Connection.commit, []

    def commit_and_lose(self):
        commit(self)
        if not lost:
            lost.append(True)
            self.close()
            raise psycopg.OperationalError("the connection was lost")

    monkeypatch.setattr(psycopg.Connection, "commit", commit_and_lose)
    draws = []
    values = ledger.spend("r", SPENDING, lambda: draws.append(draw()) or draws[-1])
    assert values.tolist() == draws[0].tolist()
    assert len(draws) == 1
    assert [account.spent for account in ledger.accounts()] == [1] * len(BUSES)


def test_who_may_spend_can_neither_raise_a_cap_nor_change_a_row(server, database):
    Ledger(database).open_register(owner())
    role = server.new_role("spender")
    Ledger(database).grant(role, may_spend=True)
    address = database.replace("postgres@", f"{role}@")
    ledger = Ledger(address)
    ledger.spend("r", SPENDING, draw)
    assert ledger.accounts()[0].spent == 1
    with pytest.raises(GridveilError, match="permission denied"):
        ledger.set_cap(100)
    forbidden = [
        "DELETE FROM rows",
        "UPDATE rows SET head = ''",
        "DELETE FROM charges",
        "UPDATE charges SET epsilon = '0'",
        "UPDATE releases SET charge = '0'",
        "DELETE FROM releases",
        "INSERT INTO caps VALUES (0, 0, 'absolute', '100')",
        "UPDATE ledger SET identity = ''",
        "DROP TABLE rows",
    ]
    for statement in forbidden:
        assert is_denied(address, statement), statement


def test_who_may_only_look_sees_no_private_load_and_cannot_spend(server, database):
    Ledger(database).spend("r", SPENDING, draw)
    role = server.new_role("auditor")
    Ledger(database).grant(role, may_spend=False)
    address = database.replace("postgres@", f"{role}@")
    ledger = Ledger(address)
    assert [account.spent for account in ledger.accounts()] == [1] * len(BUSES)
    assert ledger.history()
    with pytest.raises(GridveilError, match="permission denied"):
        ledger.spend("s", SPENDING, draw)
    assert is_denied(address, "SELECT steps FROM releases")
    assert is_denied(address, "INSERT INTO rows VALUES (99, '', '', '{}', '')")


def is_denied(address, statement):
    with psycopg.connect(address, options="-c search_path=gridveil") as database:
        try:
            database.execute(statement)
        except psycopg.errors.InsufficientPrivilege:
            return True
    return False


def test_only_a_database_has_roles(tmp_path):
    with pytest.raises(GridveilError, match="only a ledger in a database has roles"):
        Ledger(tmp_path / "ledger.sqlite").grant("auditor", may_spend=False)


@pytest.fixture
def proxy(server, tmp_path):
    """A server on another address that speaks TLS, and its authority's certificate."""
    certs.init(tmp_path / "authority", "authority")
    identity = certs.issue(tmp_path / "authority", "server", tmp_path / "members", "127.0.0.2")
    door = TLSProxy(server.port, str(identity.certificate), str(identity.key))
    yield door, identity.authority
    door.close()


def test_another_host_is_spoken_to_in_tls_and_its_certificate_is_checked(database, proxy):
    door, authority = proxy
    name = database.rsplit("/", 1)[1]
    address = f"postgresql://postgres@{door.host}:{door.port}/{name}"
    with pytest.raises(GridveilError, match="certificate"):
        Ledger(address)  # of an authority that this machine does not know
    assert set(door.requests) == {b"\x00\x00\x00\x08\x04\xd2\x16\x2f"}, "asked in the clear"
    ledger = Ledger(f"{address}?sslrootcert={authority}")
    ledger.spend("r", SPENDING, draw)
    assert ledger.accounts()[0].spent == 1
    with pytest.raises(GridveilError, match="certificate"):  # issued to another address
        Ledger(
            address.replace("127.0.0.2", "localhost.localdomain") + f"?sslrootcert={authority}"
            f"&hostaddr={door.host}"
        )


def test_a_server_without_tls_on_another_host_is_refused(server, database):
    address = database.replace("127.0.0.1", "127.0.0.2")
    with pytest.raises(GridveilError, match="SSL"):
        Ledger(address.replace(f":{server.port}", f":{_plain_door(server)}"))


def _plain_door(server):
    """Return a port at 127.0.0.2 that leads to the server as it is, without TLS."""
    code = (
        "import socket, threading, sys\n"
        "door = socket.create_server(('127.0.0.2', 0)); print(door.getsockname()[1], flush=True)\n"
        "client, _ = door.accept(); server = socket.create_connection(('127.0.0.1', "
        f"{server.port}))\n"
        "server.sendall(client.recv(8)); client.sendall(server.recv(1)); client.close()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    return int(process.stdout.readline())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("postgres@", "nobody-here@"), "does not exist"),
        (("/ledger_", "/no_such_ledger_"), "does not exist"),
        (("127.0.0.1:", "127.0.0.1:x"), "invalid integer value"),
        (("127.0.0.1:", "127.0.0.1:1"), "cannot be used"),
        (("postgresql://postgres@", "postgresql://postgres:secret@["), "no address"),
    ],
)
def test_an_address_that_is_wrong_is_told_at_once(database, change, says):
    started = time.monotonic()
    with pytest.raises(GridveilError, match=says) as error:
        Ledger(database.replace(*change))
    assert time.monotonic() - started < 5
    assert "secret" not in str(error.value)


def test_no_message_shows_a_password(server, database, monkeypatch):
    monkeypatch.setattr(postgresql, "_PATIENCE_SECONDS", 0.2)
    ledger = Ledger(database.replace("postgres@", "postgres:secret@"))
    assert "secret" not in repr(ledger)
    server.kill()
    try:
        with pytest.raises(GridveilError) as error:
            ledger.accounts()
    finally:
        server.start()
    assert "secret" not in str(error.value)


def test_two_processes_make_one_ledger(database):
    code = "import sys; from gridveil import Ledger; print(Ledger(sys.argv[1]).identity)"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, database], stdout=subprocess.PIPE, text=True,
            env=os.environ,
        )
        for _ in range(4)
    ]  # fmt: skip
    found = {process.communicate(timeout=60)[0] for process in processes}
    assert len(found) == 1
    assert len(Ledger(database).history()) == 1
