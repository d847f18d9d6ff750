"""A channel that records all messages in a file, before encryption: for its owner to read."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from gridveil.federation.transport.channel import Channel

_ENTRY = struct.Struct("<cHI")
"""Direction, length of the peer's name, length of the message."""
OUT, IN = b"o", b"i"


class Recorded(NamedTuple):
    """A message in a recording."""

    direction: bytes
    """`OUT` or `IN`."""
    peer: str
    data: bytes


class RecordingChannel:
    """A channel with a recording of its messages."""

    def __init__(self, channel: Channel, path: Path) -> None:
        """Append the messages of a channel to a file, which only its owner can read."""
        self._channel = channel
        path.touch(mode=0o600)
        self._file = path.open("ab", buffering=0)

    def send(self, to: str, data: bytes) -> None:
        """Record a message, then send it."""
        self._write(OUT, to, data)
        self._channel.send(to, data)

    def receive(self, timeout: float) -> tuple[str, bytes] | None:
        """Receive a message and record it."""
        received = self._channel.receive(timeout)
        if received is not None:
            self._write(IN, *received)
        return received

    def connected(self) -> frozenset[str]:
        """Return the peers that are connected."""
        return self._channel.connected()

    def close(self) -> None:
        """Close the channel and the file."""
        self._channel.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, direction: bytes, peer: str, data: bytes) -> None:
        name = peer.encode()
        self._file.write(_ENTRY.pack(direction, len(name), len(data)) + name + data)


def read_recording(path: Path) -> Iterator[Recorded]:
    """Give the messages of a recording in their order."""
    data = path.read_bytes()
    place = 0
    while place + _ENTRY.size <= len(data):
        direction, name_size, size = _ENTRY.unpack_from(data, place)
        place += _ENTRY.size
        peer = data[place : place + name_size].decode()
        place += name_size
        yield Recorded(direction, peer, data[place : place + size])
        place += size
