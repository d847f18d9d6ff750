"""Channels over Eclipse Zenoh: each member exchanges messages with its peers directly.

Links are TLS with certificates on both sides. The receiver decides by the name in a peer's
certificate what this peer may do: send messages under its own name, and subscribe to those sent to
it. Everything else is denied without an answer.

Zenoh identifies nodes by a number that anyone can claim, and a link that claims another's number
gets the rights of that link too. So no session here can have two links to one node: one session
listens and accepts one link per node; every other session connects to a single peer.

Zenoh is an extra: pip install 'gridveil[federation]'.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from gridveil.errors import GridveilError
from gridveil.federation.names import check_name
from gridveil.federation.transport.certs import Identity, check_identity
from gridveil.federation.transport.channel import Channel

if TYPE_CHECKING:
    import zenoh

MAX_MESSAGE = 8 * 2**20
_HEADER_ROOM = 4096
_RETRY_MS = 250
# One thread for all of Zenoh: on few cores, several take longer for the same.
_RUNTIME = "(rx: (worker_threads: 1), {})".format(
    ", ".join(f"{other}: (handover: rx)" for other in ("app", "acc", "tx", "net"))
)


def require_zenoh() -> Any:
    """Return the library Zenoh, or say how to install it."""
    try:
        import zenoh
    except ImportError:
        raise GridveilError(
            "a federation needs Zenoh; pip install 'gridveil[federation]'"
        ) from None
    return zenoh


def open_zenoh(
    name: str, listen: str, peers: Mapping[str, str], identity: Identity, consortium: str
) -> Channel:
    """Listen at an address, and connect to the peers as soon as they are present.

    Of two peers, the one whose name sorts first connects to the other.

    Args:
        name: The member's name, as in its certificate.
        listen: Its address, as host:port.
        peers: The address of each peer, by name.
        identity: Its certificate.
        consortium: Name of the consortium, part of all message keys.
    """
    for each in (consortium, name, *peers):
        check_name(each)
    for address in (listen, *peers.values()):
        if not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+:[0-9]{1,5}", address):
            raise GridveilError(f"{address!r} is not an address; write it as HOST:PORT")
    if name in peers:
        raise GridveilError(f"{name} cannot be its own peer")
    check_identity(identity, name)
    os.environ.setdefault("ZENOH_RUNTIME", _RUNTIME)
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
    """A publisher to each peer, and a subscriber to the messages of each."""

    def __init__(
        self, name: str, consortium: str, session_of: Mapping[str, Any], sessions: ExitStack
    ) -> None:
        library = require_zenoh()
        self._sessions = sessions
        self._received: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        for peer, session in session_of.items():
            session.declare_subscriber(_key(consortium, peer, name), self._enqueue_from(peer))
        self._publishers = {
            peer: session.declare_publisher(
                _key(consortium, name, peer),
                congestion_control=library.CongestionControl.BLOCK,
                reliability=library.Reliability.RELIABLE,
                express=True,
            )
            for peer, session in session_of.items()
        }

    def _enqueue_from(self, peer: str) -> Callable[["zenoh.Sample"], None]:
        """Return the handler of messages under a peer's key, which only that peer can write to."""

        def enqueue(sample: "zenoh.Sample") -> None:
            if len(sample.payload) <= MAX_MESSAGE:
                self._received.put((peer, sample.payload.to_bytes()))

        return enqueue

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


def _listen(address: str, identity: Identity, rules: dict[str, Any]) -> "zenoh.Session":
    """Open a session that others connect to."""
    try:
        return _open(identity, rules, listen={"endpoints": [f"tls/{address}"]})
    except require_zenoh().ZError as error:
        reason = re.sub(r" at \S+:\d+\.?", "", str(error))  # where in Zenoh's own sources
        raise GridveilError(f"cannot listen on {address}: {reason}") from None


def _connect(address: str, identity: Identity, rules: dict[str, Any]) -> "zenoh.Session":
    """Open a session that connects to one address, in the background and without end."""
    connect = {
        "endpoints": [f"tls/{address}"],
        "timeout_ms": -1,
        "exit_on_failure": False,
        "retry": {
            "period_init_ms": _RETRY_MS,
            "period_max_ms": _RETRY_MS,
            "period_increase_factor": 1,
        },
    }
    return _open(identity, rules, listen={"endpoints": []}, connect=connect)


def _open(identity: Identity, rules: dict[str, Any], **links: dict[str, Any]) -> "zenoh.Session":
    """Open a session with nothing enabled but TLS links to the given addresses."""
    library = require_zenoh()
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
                "rx": {"max_message_size": MAX_MESSAGE + _HEADER_ROOM},
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
    session: zenoh.Session = library.open(library.Config.from_json5(json.dumps(configuration)))
    return session


def _access(name: str, peers: Iterable[str], consortium: str) -> dict[str, Any]:
    """Return the rules: a peer may send to this member as itself, and receive its messages."""
    rules, subjects, policies = [], [], []
    for peer in peers:
        received, sent = _key(consortium, peer, name), _key(consortium, name, peer)
        allowed = {
            f"{message} {flow} {peer}": (message, flow, key)
            for message, flow, key in (
                ("put", "ingress", received),
                ("declare_subscriber", "egress", received),
                ("put", "egress", sent),
                ("declare_subscriber", "ingress", sent),
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
