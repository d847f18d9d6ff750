"""Messages between members of a federation: a header and numbers, nothing else.

Whatever does not look exactly like that is refused, with the reason.
"""

import hashlib
import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from gridveil.arrays import FloatArray

_HEADER = struct.Struct("<4sB3xI16sI")
_MAGIC = b"GVF1"
_MOST_TEXT = 1000


class Kind(IntEnum):
    """What a message is about."""

    HELLO = 1
    """Here I am; the numbers are a digest of what the two are to agree on."""
    COPIES = 2
    """x of an iteration, and the penalties of lines."""
    ANSWERS = 3
    """z of an iteration."""
    REPORT = 4
    """Residuals and sums of a window, to the coordinator."""
    VERDICT = 5
    """What the coordinator makes of them."""
    DONE = 6
    """The released loads are written."""
    STOP = 7
    """It cannot go on; the numbers are a text."""


class RefusedError(Exception):
    """A message that is not what it should be."""


@dataclass(frozen=True, eq=False)
class Message:
    """A message of this run."""

    kind: Kind
    iteration: int
    values: FloatArray


def run_digest(run_id: str) -> bytes:
    """Return what marks the messages of a run."""
    return hashlib.sha256(run_id.encode()).digest()[:16]


def encode(run: bytes, kind: Kind, iteration: int, values: FloatArray) -> bytes:
    """Return a message as bytes."""
    numbers = np.ascontiguousarray(values, dtype="<f8")
    return _HEADER.pack(_MAGIC, kind, iteration, run, len(numbers)) + numbers.tobytes()


def decode(run: bytes, data: bytes) -> Message:
    """Read a message of a run; raise `RefusedError` for anything else."""
    if len(data) < _HEADER.size:
        raise RefusedError("too short")
    magic, kind, iteration, of_run, count = _HEADER.unpack_from(data)
    if magic != _MAGIC or kind not in Kind.__members__.values():
        raise RefusedError("not one of ours")
    if of_run != run:
        raise RefusedError("of another run")
    if len(data) != _HEADER.size + 8 * count:
        raise RefusedError("of the wrong length")
    values = np.frombuffer(data, dtype="<f8", offset=_HEADER.size)
    if not np.isfinite(values).all():
        raise RefusedError("with numbers that are none")
    return Message(Kind(kind), iteration, values)


def text_values(text: str) -> FloatArray:
    """Return a short text as numbers, a character each: all messages hold numbers only."""
    return np.array([float(ord(c)) for c in text[:_MOST_TEXT]])


def values_text(values: FloatArray) -> str:
    """Return the text that numbers stand for, whatever they are, fit to be printed."""
    codes = np.clip(values[:_MOST_TEXT], 0, 0xFFFF).astype(int)
    return "".join(c if (c := chr(code)).isprintable() else "?" for code in codes)
