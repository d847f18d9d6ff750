"""Every test of a ledger's promises runs on a file and on a real PostgreSQL server."""

import hashlib

import pytest

from tests.privacy.ledger.postgresql_server import Server


@pytest.fixture(scope="session")
def server():
    """A running server; tests that kill it start it again."""
    running = Server()
    yield running
    running.close()


@pytest.fixture
def database(server, request):
    """Return the address of an empty database."""
    name = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]
    return server.new_database(f"ledger_{name}")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path):
    """Return the place of a new ledger, in a file and in a database."""
    if request.param == "sqlite":
        return tmp_path / "ledger.sqlite"
    return request.getfixturevalue("database")
