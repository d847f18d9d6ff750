"""Numbers that are not spelled as digits: binary floats, and hexadecimal or base64 of such.

Every offset of the bytes is read in both byte orders. Any text of eleven letters may be base64 and
is decoded, unless it is all digits; what comes of it is read as doubles, and as text if it is such.
"""

import base64
import re
from collections.abc import Iterator

import numpy as np

from gridveil.arrays import FloatArray, IntArray

_BASE64 = re.compile(r"[0-9A-Za-z+/]{11,}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?((?:[0-9a-fA-F]{2}){8,})(?![0-9A-Za-z])")
_SMALLEST, _LARGEST = 1e-20, 1e20
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def is_binary(data: bytes) -> bool:
    """Return whether bytes are something else than text in UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return _CONTROL.search(data) is not None


def floats(data: bytes, size: int) -> Iterator[tuple[IntArray, FloatArray]]:
    """Give offset and size of every binary float of 4 or 8 bytes that may be a power."""
    for order in "<>":
        for offset in range(min(size, len(data) - size + 1)):
            count = (len(data) - offset) // size
            read = np.frombuffer(data, f"{order}f{size}", count, offset)
            with np.errstate(invalid="ignore"):  # NaNs that signal
                values = np.abs(read.astype(float))
                likely = np.flatnonzero((values > _SMALLEST) & (values < _LARGEST))
            yield likely * size + offset, values[likely]


def decoded(text: str) -> Iterator[tuple[int, bytes]]:
    """Give what stands in a text as hexadecimal or base64, decoded, with its place."""
    for match in _HEX.finditer(text):
        if not match[1].isdigit():
            yield match.start(), bytes.fromhex(match[1])
    for match in _BASE64.finditer(text):
        letters = match[0].rstrip("=")
        if len(letters) % 4 != 1 and not letters.isdigit():
            yield match.start(), base64.b64decode(letters + "=" * (-len(letters) % 4))
