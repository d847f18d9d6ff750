"""The interface between the protocol and the transport that carries its messages."""

from typing import Protocol, Self


class Channel(Protocol):
    """Authenticated message passing between one member and its peers.

    Messages of one sender arrive in order. A message is lost if its receiver is not connected.
    """

    def send(self, to: str, data: bytes) -> None:
        """Send a message to a peer; it is lost without an error if the peer is not connected."""
        ...

    def receive(self, timeout: float) -> tuple[str, bytes] | None:
        """Return the authenticated sender and the next message; None after `timeout` seconds."""
        ...

    def connected(self) -> frozenset[str]:
        """Return the peers that would receive a message sent now.

        A peer that was killed is removed at once; one that hangs may remain for long.
        """
        ...

    def close(self) -> None:
        """Disconnect. A process does not end before its channels are closed."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
