"""Members hear each other, in order and after any crash; nobody else hears or says anything."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from gridveil.errors import GridveilError
from gridveil.federation.transport.certs import Identity, init, issue

zenoh = pytest.importorskip("zenoh")

from gridveil.federation.transport.zenoh import MAX_MESSAGE, open_zenoh  # noqa: E402

HOST = "127.0.0.1"
NAMES = ("a", "b", "c")
ECHO = """
import sys
from pathlib import Path
from gridveil.federation.transport.certs import identity_of
from gridveil.federation.transport.zenoh import open_zenoh

name, listen, peer, address, folder = sys.argv[1:]
with open_zenoh(name, listen, {peer: address}, identity_of(Path(folder), name), "test") as channel:
    while True:
        if message := channel.receive(1):
            channel.send(*message)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The certificates of a consortium: three members that speak, and one that has no peers."""
    folder = tmp_path_factory.mktemp("consortium")
    init(folder / "authority", "test", 30)
    for name in (*NAMES, "outsider"):
        issue(folder / "authority", name, folder, [HOST], 1)
    return folder


def identity(folder, name):
    own = folder / name
    return Identity(own / "authority.pem", own / "certificate.pem", own / "key.pem")


def free_address():
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return f"{HOST}:{listener.getsockname()[1]}"


def party(folder, name, addresses):
    peers = {peer: address for peer, address in addresses.items() if peer != name}
    return open_zenoh(name, addresses[name], peers, identity(folder, name), "test")


def wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


@pytest.fixture
def addresses():
    return {name: free_address() for name in NAMES}


@pytest.fixture
def parties(folder, addresses):
    """Three members, all connected."""
    opened = {name: party(folder, name, addresses) for name in NAMES}
    for name, channel in opened.items():
        wait_until(lambda c=channel, n=name: c.connected() == set(NAMES) - {n})
    yield opened
    for channel in opened.values():
        channel.close()


def all_talk(parties):
    """Every party hears exactly what each other one says now, and nothing else."""
    for name, channel in parties.items():
        for other in set(parties) - {name}:
            channel.send(other, f"{name} to {other}".encode())
    for name, channel in parties.items():
        others = sorted(set(parties) - {name})
        assert sorted(channel.receive(5) for _ in others) == [
            (other, f"{other} to {name}".encode()) for other in others
        ]
    assert all(channel.receive(0.1) is None for channel in parties.values())


@contextmanager
def attacker(target, own, protocol="tls", mode="peer", listen=(), **claims):
    """A bare session that obeys no rules, connected to a target with whatever files it has."""
    configuration = {
        **claims,
        "mode": mode,
        "listen": {"endpoints": [f"tls/{address}" for address in listen]},
        "connect": {
            "endpoints": [f"{protocol}/{target}"],
            "timeout_ms": {"peer": -1, "client": 0, "router": -1}[mode],
            "exit_on_failure": False,
            "retry": {"period_init_ms": 100, "period_max_ms": 100},
        },
        "open": {"return_conditions": {"connect_scouted": False, "declares": False}},
        "scouting": {"multicast": {"enabled": False}, "gossip": {"enabled": False}},
        "transport": {"link": {"tls": {name: str(path) for name, path in own.items()}}},
    }
    if "connect_private_key" in own:
        configuration["transport"]["link"]["tls"]["enable_mtls"] = True
    with zenoh.open(zenoh.Config.from_json5(json.dumps(configuration))) as session:
        yield session


def files(own):
    return {
        "root_ca_certificate": own.authority,
        "connect_certificate": own.certificate,
        "connect_private_key": own.key,
        "listen_certificate": own.certificate,
        "listen_private_key": own.key,
    }


def spy(session, key="gridveil/**"):
    """Collect what a session hears."""
    heard = []
    session.declare_subscriber(
        key,
        lambda sample: heard.append((str(sample.key_expr), sample.payload.to_bytes())),
        allowed_origin=zenoh.Locality.REMOTE,
    )
    return heard


def shout(session):
    """Write to everybody under every name."""
    for sender in (*NAMES, "outsider", "*", "**"):
        for receiver in NAMES:
            session.put(f"gridveil/test/{sender}/{receiver}", b"forged")


def is_linked(session):
    return bool(session.info.links())


def test_messages_arrive_whole_and_in_order(parties):
    sent = [bytes([i % 256]) * (i * i % 5000) for i in range(300)]
    for data in sent:
        parties["a"].send("b", data)
        parties["c"].send("b", data[::-1] + b"c")
    received = [parties["b"].receive(5) for _ in range(600)]
    assert [data for name, data in received if name == "a"] == sent
    assert [data for name, data in received if name == "c"] == [x[::-1] + b"c" for x in sent]
    all_talk(parties)


def test_the_largest_message_arrives_and_a_larger_one_is_not_sent(parties):
    largest = os.urandom(MAX_MESSAGE)
    parties["a"].send("b", largest)
    assert parties["b"].receive(10) == ("a", largest)
    with pytest.raises(ValueError, match="limit"):
        parties["a"].send("b", largest + b"1")


def test_a_closed_party_is_not_connected_and_its_last_words_arrive(parties):
    for i in range(100):
        parties["c"].send("a", b"%d" % i)
    parties["c"].close()
    assert [parties["a"].receive(5) for _ in range(100)] == [("c", b"%d" % i) for i in range(100)]
    wait_until(lambda: parties["a"].connected() == {"b"})
    parties["a"].send("c", b"lost")


@pytest.mark.parametrize("first", ["a", "b"])
def test_a_party_that_starts_late(folder, addresses, first):
    """Whichever of the two connects to the other."""
    second = "b" if first == "a" else "a"
    two = {name: addresses[name] for name in (first, second)}
    started = time.monotonic()
    with party(folder, first, two) as early:
        assert time.monotonic() - started < 2
        assert early.receive(0.5) is None
        assert early.connected() == frozenset()
        with party(folder, second, two) as late:
            wait_until(lambda: early.connected() and late.connected(), 3)
            all_talk({first: early, second: late})


@pytest.mark.parametrize("killed", ["a", "b"])
def test_a_killed_party_is_connected_to_again(folder, addresses, killed):
    survivor = "b" if killed == "a" else "a"
    two = {name: addresses[name] for name in ("a", "b")}
    command = [killed, two[killed], survivor, two[survivor], str(folder)]
    with party(folder, survivor, two) as channel:
        for round_ in range(2):
            child = subprocess.Popen([sys.executable, "-c", ECHO, *command])
            try:
                wait_until(channel.connected)
                channel.send(killed, b"%d" % round_)
                assert channel.receive(5) == (killed, b"%d" % round_)
            finally:
                child.send_signal(signal.SIGKILL)
                child.wait()
            wait_until(lambda: not channel.connected())
            assert channel.receive(0) is None


def test_mistakes_are_told(folder, addresses):
    with pytest.raises(GridveilError, match="issued to CN=a, not to CN=b"):
        open_zenoh("b", addresses["b"], {}, identity(folder, "a"), "test")
    with pytest.raises(GridveilError, match="its own peer"):
        open_zenoh("a", addresses["a"], {"a": addresses["b"]}, identity(folder, "a"), "test")
    for address in ("nowhere", "tcp/127.0.0.1:1", "127.0.0.1:1#x=y", ":1"):
        with pytest.raises(GridveilError, match="HOST:PORT"):
            open_zenoh("a", addresses["a"], {"b": address}, identity(folder, "a"), "test")
    with pytest.raises(GridveilError, match="cannot be a name"):
        open_zenoh("a", addresses["a"], {"*": addresses["b"]}, identity(folder, "a"), "test")
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        listen = f"{HOST}:{taken.getsockname()[1]}"
        with pytest.raises(GridveilError, match=f"cannot listen on {re.escape(listen)}"):
            open_zenoh("a", listen, {}, identity(folder, "a"), "test")


def test_strangers_get_no_link(folder, parties, addresses, tmp_path):
    """Without a certificate, with another authority's, with an expired one, and without TLS."""
    second = 1 / 86400
    expired = issue(folder / "authority", "a", tmp_path / "expired", [HOST], second)
    init(tmp_path / "authority", "test", 30)
    other = issue(tmp_path / "authority", "a", tmp_path / "other", [HOST], 1)
    authority = {"root_ca_certificate": identity(folder, "a").authority}
    time.sleep(1.1)
    with (
        attacker(addresses["b"], authority) as without,
        attacker(addresses["b"], {**files(other), **authority}) as foreign,
        attacker(addresses["b"], {**files(expired), **authority}) as late,
        attacker(addresses["b"], {}, protocol="tcp") as plain,
        attacker(addresses["b"], files(identity(folder, "outsider"))) as accepted,
    ):
        wait_until(lambda: is_linked(accepted))
        strangers = (without, foreign, late, plain)
        heard = [spy(stranger) for stranger in strangers]
        for _ in range(5):
            for stranger in strangers:
                shout(stranger)
            time.sleep(0.2)
            assert [is_linked(stranger) for stranger in strangers] == [False] * 4
        all_talk(parties)
        assert heard == [[], [], [], []]


@pytest.mark.parametrize("mode", ["peer", "client", "router"])
def test_an_outsider_of_the_consortium_is_deaf_and_mute(folder, parties, addresses, mode):
    own = files(identity(folder, "outsider"))
    with attacker(addresses["c"], own, mode=mode) as session:
        wait_until(lambda: is_linked(session))
        heard = spy(session)
        time.sleep(0.3)
        shout(session)
        session.delete("gridveil/test/a/c")
        all_talk(parties)
        assert is_linked(session)
        assert heard == []
        assert list(session.get("**", timeout=1)) == []


def test_a_member_that_is_no_neighbour_is_deaf_and_mute(folder, addresses):
    """Here b speaks with a only: c, though a member, is an outsider to it."""
    two = {name: addresses[name] for name in ("a", "b")}
    with (
        party(folder, "a", two) as a,
        party(folder, "b", two) as b,
        party(folder, "c", addresses) as honest,
        attacker(addresses["b"], files(identity(folder, "c"))) as session,
    ):
        heard = spy(session)
        wait_until(lambda: is_linked(session) and a.connected() and b.connected())
        time.sleep(0.3)
        shout(session)
        honest.send("b", b"hello")
        all_talk({"a": a, "b": b})
        assert heard == []
        assert honest.connected() == frozenset()


@pytest.mark.parametrize("mode", ["peer", "client", "router"])
def test_a_neighbour_cannot_forge_anothers_name(folder, parties, addresses, mode):
    with attacker(addresses["c"], files(identity(folder, "a")), mode=mode) as session:
        wait_until(lambda: is_linked(session))
        time.sleep(0.3)
        for key in ("b/c", "*/c", "**/c", "*/*", "c/c", "c/b", "a/b", "b/a"):
            session.put(f"gridveil/test/{key}", b"forged")
        session.delete("gridveil/test/a/c")
        session.put("gridveil/test/a/c", b"my own")
        assert parties["c"].receive(5) == ("a", b"my own")
        all_talk(parties)


@pytest.mark.parametrize("mode", ["peer", "client", "router"])
def test_a_neighbour_cannot_hear_what_is_for_another(folder, parties, addresses, mode):
    with attacker(addresses["c"], files(identity(folder, "a")), mode=mode) as session:
        wait_until(lambda: is_linked(session))
        keys = ("gridveil/**", "gridveil/test/c/*", "gridveil/test/c/b", "gridveil/test/*/c")
        secret = [spy(session, key) for key in keys]
        own = spy(session, "gridveil/test/c/a")
        time.sleep(0.3)
        parties["c"].send("b", b"secret")
        parties["c"].send("a", b"for a")
        assert parties["b"].receive(5) == ("c", b"secret")
        assert parties["a"].receive(5) == ("c", b"for a")
        wait_until(lambda: own)
        assert own == [("gridveil/test/c/a", b"for a")]
        assert {data for heard in secret for _, data in heard} <= {b"for a"}
        all_talk(parties)


def identifier(folder, address):
    """What a node calls itself: it tells everyone who has a certificate of the consortium."""
    with attacker(address, files(identity(folder, "outsider"))) as session:
        wait_until(lambda: session.info.peers_zid())
        return str(session.info.peers_zid()[0])


@pytest.mark.parametrize("thief", ["a", "outsider"])
@pytest.mark.parametrize(("victim", "target"), [("c", "b"), ("b", "c"), ("b", "a")])
def test_anothers_identifier_gives_no_rights(folder, parties, addresses, thief, victim, target):
    """Zenoh adds a link that claims a known node's identifier to that node's other links."""
    claimed = identifier(folder, addresses[victim])
    own = files(identity(folder, thief))
    with attacker(addresses[target], own, id=claimed) as session:
        heard = spy(session, f"gridveil/test/{target}/{victim}")
        time.sleep(1)
        session.put(f"gridveil/test/{victim}/{target}", b"forged")
        all_talk(parties)
        assert heard == []


def test_a_neighbour_that_is_called_cannot_claim_anothers_identifier(folder, addresses):
    """Here a calls b and c, and c answers with the identifier of b."""
    two = {name: addresses[name] for name in ("a", "b")}
    with party(folder, "b", two) as b:
        claimed = identifier(folder, addresses["b"])
        own = files(identity(folder, "c"))
        with (
            party(folder, "a", addresses) as a,
            attacker(addresses["b"], own, listen=[addresses["c"]], id=claimed) as session,
        ):
            heard = spy(session, "gridveil/test/a/b")
            own = spy(session, "gridveil/test/a/c")
            wait_until(lambda: a.connected() == {"b", "c"})
            session.put("gridveil/test/b/a", b"forged")
            session.put("gridveil/test/c/a", b"my own")
            assert a.receive(5) == ("c", b"my own")
            a.send("c", b"for c")
            all_talk({"a": a, "b": b})
            assert heard == []
            assert own == [("gridveil/test/a/c", b"for c")]


def test_a_subscriber_of_another_does_not_count_as_connected(folder, addresses):
    two = {name: addresses[name] for name in ("a", "b")}
    with (
        party(folder, "b", addresses) as b,
        attacker(addresses["b"], files(identity(folder, "a"))) as session,
    ):
        spy(session)
        spy(session, "gridveil/test/b/c")
        wait_until(lambda: is_linked(session))
        time.sleep(0.5)
        assert b.connected() == frozenset()
        with party(folder, "a", two):
            wait_until(lambda: b.connected() == {"a"})


@pytest.mark.parametrize("excess", [1, 2**20, 60 * 2**20])
def test_an_oversized_message_is_dropped(folder, parties, addresses, excess):
    with attacker(addresses["b"], files(identity(folder, "a"))) as session:
        wait_until(lambda: is_linked(session))
        time.sleep(0.3)
        block = zenoh.CongestionControl.BLOCK
        session.put("gridveil/test/a/b", b"first", congestion_control=block)
        assert parties["b"].receive(5) == ("a", b"first")
        session.put("gridveil/test/a/b", bytes(MAX_MESSAGE + excess), congestion_control=block)
        assert parties["b"].receive(1) is None
        all_talk(parties)


def test_garbage_into_the_port(parties, addresses):
    host, port = addresses["b"].split(":")
    idle = [socket.create_connection((host, int(port))) for _ in range(20)]
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(100_000), b"\x16\x03\x01\xff\xff" * 99):
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            try:
                connection.sendall(garbage)
                answer = connection.recv(1000)
            except OSError:
                continue
            assert not answer or answer.startswith(b"\x15\x03"), "anything but a TLS alert"
    all_talk(parties)
    for connection in idle:
        connection.close()


def listening():
    """The sockets of this process that anyone could speak to."""
    own = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            own.add(str(entry.readlink()))
        except OSError:
            continue
    found = set()
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        table = Path(f"/proc/self/net/{kind}")
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            fields = line.split()
            waits = fields[3] == "0A" or kind.startswith("udp")
            if waits and f"socket:[{fields[9]}]" in own:
                found.add((kind, int(fields[1].split(":")[1], 16)))
    return found


@pytest.mark.skipif(not Path("/proc/self/net/tcp").exists(), reason="needs Linux's /proc")
def test_one_port_is_open_and_no_other(folder, addresses):
    before = listening()
    with party(folder, "a", addresses):
        time.sleep(0.5)
        assert listening() - before == {("tcp", int(addresses["a"].split(":")[1]))}
    with zenoh.open(zenoh.Config()):
        assert len(listening() - before) > 1
