"""The form of a message between members: a header and finite numbers, nothing else.

Anything that does not have exactly this form is refused, with the reason.
"""

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from gridveil.arrays import FloatArray

_HEADER = struct.Struct("<4sB3xI16sI")
"""Magic, kind, iteration, digest of the run and count of numbers."""
_MAGIC = b"GVF1"
_NUMBER_BYTES = 8
_DIGEST_BYTES = 16
_MAX_TEXT = 1000
_LAST_CODE_POINT = 0xFFFF


class MessageKind(IntEnum):
    """What a message carries."""

    HELLO = 1
    """The digest of the settings both sides must share."""
    COPIES = 2
    """x of an iteration, and the penalties of lines."""
    CONSENSUS = 3
    """z of an iteration."""
    REPORT = 4
    """Residuals and sums of a window, for the coordinator."""
    DECISION = 5
    """The coordinator's decision at the end of a window."""
    DONE = 6
    """The sender has written its result, or knows that the receiver has."""
    STOP = 7
    """The sender cannot go on; the numbers are a text that says why."""


class InvalidMessageError(Exception):
    """A received message is not acceptable; the text is the reason."""


@dataclass(frozen=True, eq=False)
class Message:
    """A message of this run."""

    kind: MessageKind
    iteration: int
    values: FloatArray


def run_digest(run_id: str) -> bytes:
    """Return the digest that marks the messages of a run."""
    return hashlib.sha256(run_id.encode()).digest()[:_DIGEST_BYTES]


def encode(run: bytes, kind: MessageKind, iteration: int, values: FloatArray) -> bytes:
    """Return a message as bytes."""
    numbers = np.ascontiguousarray(values, dtype="<f8")
    return _HEADER.pack(_MAGIC, kind, iteration, run, len(numbers)) + numbers.tobytes()


def decode(run: bytes, data: bytes) -> Message:
    """Read a message of a run.

    Raises:
        InvalidMessageError: It is anything else.
    """
    if len(data) < _HEADER.size:
        raise InvalidMessageError("too short")
    magic, kind, iteration, sender_run, count = _HEADER.unpack_from(data)
    if magic != _MAGIC or kind not in MessageKind.__members__.values():
        raise InvalidMessageError("not a message of this protocol")
    if sender_run != run:
        raise InvalidMessageError("of another run")
    if len(data) != _HEADER.size + _NUMBER_BYTES * count:
        raise InvalidMessageError("of the wrong length")
    values = np.frombuffer(data, dtype="<f8", offset=_HEADER.size)
    if not np.isfinite(values).all():
        raise InvalidMessageError("with numbers that are not finite")
    return Message(MessageKind(kind), iteration, values)


def digest_values(digest: bytes) -> FloatArray:
    """Return a digest as the numbers of a message, one for each byte."""
    return np.frombuffer(digest, dtype=np.uint8).astype(float)


def text_values(text: str) -> FloatArray:
    """Return a short text as the numbers of a message, one for each character."""
    return np.array([float(ord(c)) for c in text[:_MAX_TEXT]])


def values_text(values: FloatArray) -> str:
    """Return the text that received numbers stand for, with "?" for what cannot be printed."""
    codes = np.clip(values[:_MAX_TEXT], 0, _LAST_CODE_POINT).astype(int)
    return "".join(c if (c := chr(code)).isprintable() else "?" for code in codes)
