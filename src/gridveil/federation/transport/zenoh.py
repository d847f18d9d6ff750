"""Messages over Eclipse Zenoh: every party speaks to its peers directly, and to nobody else.

Links are TLS with certificates on both sides. What a peer may do is decided by the name in its
certificate, where a message arrives: it may write to us under its own name, and subscribe to what
we send to it. Everything else is denied, without a word to whoever tried.

Zenoh tells nodes apart by an identifier that anyone can claim, and a link that claims the one of
another link gets that one's rights too. So no session here can have two links to one node: one
session listens, and takes one link from each; each of the others connects, to a single peer.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import Any, Self

import zenoh

from gridveil.errors import GridveilError
from gridveil.federation.names import check_name
from gridveil.federation.transport.certificates import Identity, check_identity
from gridveil.federation.transport.channel import Channel

MAX_MESSAGE = 8 * 2**20
ROOM_FOR_HEADERS = 4096
RETRY_MS = 250
# One thread for all that Zenoh does: several took longer for the same, on few cores.
RUNTIME = "(rx: (worker_threads: 1), {})".format(
    ", ".join(f"{other}: (handover: rx)" for other in ("app", "acc", "tx", "net"))
)


def open_zenoh(
    name: str, listen: str, peers: Mapping[str, str], identity: Identity, consortium: str
) -> Channel:
    """Listen at an address and keep connecting to the peers, whether they are there yet or not.

    Of two peers, the one whose name sorts first connects to the other.
    """
    for each in (consortium, name, *peers):
        check_name(each)
    for address in (listen, *peers.values()):
        if not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+:[0-9]{1,5}", address):
            raise GridveilError(f"{address!r} is no address; write it as HOST:PORT")
    if name in peers:
        raise GridveilError(f"{name} cannot be its own peer")
    check_identity(identity, name)
    os.environ.setdefault("ZENOH_RUNTIME", RUNTIME)
    callers = [peer for peer in peers if peer < name]
    with ExitStack() as sessions:
        rules = _access(name, callers, consortium)
        listener = sessions.enter_context(_listen(listen, identity, rules))
        session_of = dict.fromkeys(callers, listener)
        for peer in peers.keys() - callers:
            rules = _access(name, [peer], consortium)
            session_of[peer] = sessions.enter_context(_connect(peers[peer], identity, rules))
        return _ZenohChannel(name, consortium, session_of, sessions.pop_all())


class _ZenohChannel:
    """A publisher to every peer, and a subscriber from every peer."""

    def __init__(
        self, name: str, consortium: str, session_of: Mapping[str, Any], sessions: ExitStack
    ) -> None:
        self._sessions = sessions
        self._received: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        for peer, session in session_of.items():
            session.declare_subscriber(_key(consortium, peer, name), self._keep_from(peer))
        self._publishers = {
            peer: session.declare_publisher(
                _key(consortium, name, peer),
                congestion_control=zenoh.CongestionControl.BLOCK,
                reliability=zenoh.Reliability.RELIABLE,
                express=True,
            )
            for peer, session in session_of.items()
        }

    def _keep_from(self, peer: str) -> Any:
        """Return what queues messages under a peer's key, which only that peer can write to."""

        def keep(sample: zenoh.Sample) -> None:
            if len(sample.payload) <= MAX_MESSAGE:
                self._received.put((peer, sample.payload.to_bytes()))

        return keep

    def send(self, to: str, data: bytes) -> None:
        if len(data) > MAX_MESSAGE:
            raise ValueError(f"a message of {len(data)} bytes: the limit is {MAX_MESSAGE}")
        self._publishers[to].put(data)

    def receive(self, timeout: float) -> tuple[str, bytes] | None:
        try:
            return self._received.get(timeout=timeout)
        except Empty:
            return None

    def connected(self) -> frozenset[str]:
        return frozenset(
            peer
            for peer, publisher in self._publishers.items()
            if publisher.matching_status.matching
        )

    def close(self) -> None:
        self._sessions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _key(consortium: str, sender: str, receiver: str) -> str:
    return f"gridveil/{consortium}/{sender}/{receiver}"


def _listen(address: str, identity: Identity, rules: dict[str, Any]) -> zenoh.Session:
    """Open a session that others connect to."""
    try:
        return _open(identity, rules, listen={"endpoints": [f"tls/{address}"]})
    except zenoh.ZError as error:
        reason = re.sub(r" at \S+:\d+\.?", "", str(error))  # where in Zenoh's own sources
        raise GridveilError(f"cannot listen on {address}: {reason}") from None


def _connect(address: str, identity: Identity, rules: dict[str, Any]) -> zenoh.Session:
    """Open a session that connects to one address, in the background and for ever."""
    connect = {
        "endpoints": [f"tls/{address}"],
        "timeout_ms": -1,
        "exit_on_failure": False,
        "retry": {
            "period_init_ms": RETRY_MS,
            "period_max_ms": RETRY_MS,
            "period_increase_factor": 1,
        },
    }
    return _open(identity, rules, listen={"endpoints": []}, connect=connect)


def _open(identity: Identity, rules: dict[str, Any], **links: dict[str, Any]) -> zenoh.Session:
    """Open a session of which nothing is on but TLS links to where we say."""
    certificate, key = str(identity.certificate), str(identity.key)
    configuration = {
        "mode": "peer",
        **links,
        "open": {"return_conditions": {"connect_scouted": False, "declares": False}},
        "scouting": {"multicast": {"enabled": False}, "gossip": {"enabled": False}},
        "transport": {
            "shared_memory": {"enabled": False},  # it would carry messages outside of TLS
            "unicast": {"max_links": 1},
            "link": {
                "protocols": ["tls"],
                "rx": {"max_message_size": MAX_MESSAGE + ROOM_FOR_HEADERS},
                "tls": {
                    "root_ca_certificate": str(identity.authority),
                    "listen_certificate": certificate,
                    "listen_private_key": key,
                    "connect_certificate": certificate,
                    "connect_private_key": key,
                    "enable_mtls": True,
                    "verify_name_on_connect": True,
                    "close_link_on_expiration": True,
                },
            },
        },
        "access_control": rules,
    }
    return zenoh.open(zenoh.Config.from_json5(json.dumps(configuration)))


def _access(name: str, peers: Iterable[str], consortium: str) -> dict[str, Any]:
    """Return the rules: a peer writes to us as itself, and hears what we send to it."""
    rules, subjects, policies = [], [], []
    for peer in peers:
        to_us, from_us = _key(consortium, peer, name), _key(consortium, name, peer)
        allowed = {
            f"{message} {flow} {peer}": (message, flow, key)
            for message, flow, key in (
                ("put", "ingress", to_us),
                ("declare_subscriber", "egress", to_us),
                ("put", "egress", from_us),
                ("declare_subscriber", "ingress", from_us),
            )
        }
        rules += [
            {
                "id": rule,
                "permission": "allow",
                "messages": [message],
                "flows": [flow],
                "key_exprs": [key],
            }
            for rule, (message, flow, key) in allowed.items()
        ]
        subjects.append({"id": peer, "cert_common_names": [peer]})
        policies.append({"subjects": [peer], "rules": list(allowed)})
    return {
        "enabled": True,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    }
