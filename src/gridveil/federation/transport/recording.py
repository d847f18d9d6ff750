"""A channel that writes down everything that is said, before encryption: for its owner to read."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from gridveil.federation.transport.channel import Channel

_ENTRY = struct.Struct("<cHI")
OUT, IN = b"o", b"i"


class RecordingChannel:
    """A channel with a file beside it."""

    def __init__(self, channel: Channel, path: Path) -> None:
        """Write down what goes over a channel, behind what the file has already."""
        self._channel = channel
        path.touch(mode=0o600)
        self._file = path.open("ab", buffering=0)

    def send(self, to: str, data: bytes) -> None:
        """Write down a message, then send it."""
        self._write(OUT, to, data)
        self._channel.send(to, data)

    def receive(self, timeout: float) -> tuple[str, bytes] | None:
        """Receive a message and write it down."""
        got = self._channel.receive(timeout)
        if got is not None:
            self._write(IN, *got)
        return got

    def connected(self) -> frozenset[str]:
        """Return who is there."""
        return self._channel.connected()

    def close(self) -> None:
        """Leave."""
        self._channel.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, way: bytes, who: str, data: bytes) -> None:
        name = who.encode()
        self._file.write(_ENTRY.pack(way, len(name), len(data)) + name + data)


def read_record(path: Path) -> Iterator[tuple[bytes, str, bytes]]:
    """Give what was said: out or in, to or from whom, and the message."""
    data = path.read_bytes()
    place = 0
    while place + _ENTRY.size <= len(data):
        way, name, size = _ENTRY.unpack_from(data, place)
        place += _ENTRY.size
        who = data[place : place + name].decode()
        yield way, who, data[place + name : place + name + size]
        place += name + size
