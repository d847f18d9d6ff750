"""The border between what the parties say to each other and what carries it."""

from typing import Protocol, Self


class Channel(Protocol):
    """One party's way to its peers.

    Messages of one sender arrive in order. One that is sent while its receiver is away is lost.
    """

    def send(self, to: str, data: bytes) -> None:
        """Send a message to a peer; it is lost, without a word, if the peer is not connected."""
        ...

    def receive(self, timeout: float) -> tuple[str, bytes] | None:
        """Return the next message and its sender's proven name, or None if none came in time."""
        ...

    def connected(self) -> frozenset[str]:
        """Return the peers that are there and would get a message sent now.

        One that was killed is gone at once; one that hangs may count as connected for long.
        """
        ...

    def close(self) -> None:
        """Leave; nothing is sent or received any more. Until then, the process does not end."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
