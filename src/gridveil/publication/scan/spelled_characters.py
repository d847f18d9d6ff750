"""Text with its characters spelled in one way, and where each stood.

HTML entities and JSON escapes are replaced by the characters they mean, decimal digits of every
script and full-width forms by those of ASCII. Characters that nobody sees are left out.
"""

import re
import unicodedata
from html import unescape

import numpy as np

from gridveil.arrays import IntArray

_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
"""What Unicode calls ignorable: zero-width, direction and variation."""
_OTHERWISE = re.compile(
    r"&(?:\#(?:[0-9]{1,9}|[xX][0-9a-fA-F]{1,8});?|[A-Za-z][A-Za-z0-9]{1,31};)"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}"
    rf"|[{_INVISIBLE}]|[\uff01-\uff5e\u066b\u066c]|(?![0-9])\d"
)
_IS_INVISIBLE = re.compile(f"[{_INVISIBLE}]")
_FULL_WIDTH = 0xFEE0
"""How far full-width forms are from those of ASCII."""
_SINGLE = {"\u066b": ".", "\u066c": ","}
_SYNTAX = {"'": "\u2019", **dict.fromkeys('"<>\\%\n', " ")}
"""Characters that mean something else where they are escaped: no string, tag or comment."""


def spelled_out(text: str) -> tuple[str, IntArray]:
    """Return a text in one spelling, and the place of each of its characters in the original."""
    if text.isascii() and "&" not in text and "\\" not in text:
        return text, np.arange(len(text))
    pieces: list[str] = []
    places: list[IntArray] = []
    at = 0
    for match in _OTHERWISE.finditer(text):
        meant = _meaning(match[0])
        if meant != match[0]:
            pieces += (text[at : match.start()], meant)
            places += (np.arange(at, match.start()), np.full(len(meant), match.start()))
            at = match.end()
    places.append(np.arange(at, len(text)))
    return "".join([*pieces, text[at:]]), np.concatenate(places)


def _meaning(spelled: str) -> str:
    """Return what a character, an entity or an escape means; nothing if it is not seen."""
    if len(spelled) == 1:
        return _plain(spelled)
    if spelled[0] == "&":
        meant = unescape(spelled)
        if meant == spelled:
            return spelled
    else:
        codes = [int(code, 16) for code in spelled.split("\\u")[1:]]
        units = b"".join(code.to_bytes(2, "little") for code in codes)
        meant = units.decode("utf-16-le", "surrogatepass")
    return "".join(_SYNTAX.get(c, _plain(c)) for c in meant)


def _plain(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    if "\uff01" <= character <= "\uff5e":
        return chr(ord(character) - _FULL_WIDTH)
    return "" if _IS_INVISIBLE.match(character) else _SINGLE.get(character, character)
