"""Numbers in text: where they stand, what they may mean, and how many digits they show.

A number is found wherever its digits stand: in words ("LOAD_94.2MW"), attributes and strings. These
are the spellings that are read:

- decimal digits with a point, with or without an exponent (also a Fortran D);
- hexadecimal floats such as 0x1.78p+6, in small letters or capitals;
- in prose, which is strings, comments and pages, with commas and other separators, in every way
  they may be meant: "94,200" as 94200, as 94.2, and as 94 and 200;
- all of these with HTML entities (&#57;) and JSON escapes (backslash, u, 0039) for characters, with
  decimal digits of any script, full-width ones among them, and with invisible characters between.

Not numbers are dates and times, versions, digests and other long runs of hexadecimal or base64, and
coordinates of drawings with at most five digits. Numbers with fewer than three significant digits
are left out: zeros at the end of a whole number do not count, as nobody can tell whether they say
anything. Not read as one number are numbers in words, mantissas followed by "× 10", thousands
separated by a plain space, digits with tags between them, and raised, circled or percent-encoded
digits.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, BoolArray, FloatArray, IntArray
from gridveil.publication.scan.spelled_characters import spelled_out

LEAST_DIGITS = 3
"""Numbers with fewer significant digits cannot be told from coincidence."""
_COORDINATE_DIGITS = 5

_NO_NUMBER = (
    re.compile(
        r"""(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])
            (?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?
          | (?<![0-9])[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?![0-9])
        """,
        re.VERBOSE,
    ),
    re.compile(
        r"(?<![0-9.])(?![0-9]{1,3}(?:\.[0-9]{3})+(?![0-9.]))"
        r"[0-9]{1,4}(?:\.[0-9]{1,4}){2,}(?![0-9]|\.[0-9])"
    ),
    re.compile(
        r"(?<![0-9A-Za-z.])(?=[0-9]*[a-fA-F])[0-9a-fA-F]{16,}"
        r"(?![0-9A-Za-z]|(?<=[eE])[-+][0-9])"
    ),
    re.compile(r"\b(?=[0-9A-Z+/]*[a-z])(?=[0-9a-z+/]*[A-Z])[0-9A-Za-z+/]{40,}={0,2}"),
)
"""Dates and times, versions, hexadecimal and base64."""
_HEX_FLOAT = re.compile(r"0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]{1,4}")
_PLAIN = re.compile(r"([0-9]+)(\.[0-9]*)?(?:[eEdD]([-+]?[0-9]{1,4}))?|(\.[0-9]+)")
_THOUSANDS = re.compile(
    r"(?<![0-9.,])([0-9]{1,3}(?:(?P<sep>[,'’_\u00a0\u2009\u202f])[0-9]{3})(?:(?P=sep)[0-9]{3})*)"
    r"(\.[0-9]+)?(?![0-9]|[.,][0-9])"
)
_DECIMAL_COMMA = re.compile(
    r"(?<![0-9.,])([0-9]+),([0-9]+)(?:[eE]([-+]?[0-9]{1,4}))?(?![0-9]|[.,][0-9])"
)
_CONTINENTAL = re.compile(
    r"(?<![0-9.,])([0-9]{1,3}(?:(?:[.'’\u00a0\u2009\u202f][0-9]{3})+(?=,)|(?:\.[0-9]{3}){2,}))"
    r"(?:,([0-9]+))?(?![0-9]|[.,][0-9])"
)
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_PROSE = {
    ".m": re.compile(rf"%[^\n]*|'[^'\n]*'|{_STRING}"),
    ".json": re.compile(_STRING),
    ".csv": re.compile(_STRING),
}
"""What is prose in files of data; in all others, everything is but scripts and styles."""
_CODE = re.compile(r"<(script|style)\b[^>]*>.*?</\1>", re.DOTALL | re.IGNORECASE)
_SHAPE = re.compile(
    r"<(?:svg|g|path|line|rect|circle|ellipse|polyline|polygon|text|tspan|use|clipPath|marker)\b"
    r"[^<>]*>"
)
_GEOMETRY = re.compile(
    r"""\s(?:x|y|x1|x2|y1|y2|cx|cy|dx|dy|r|rx|ry|points|width|height|viewBox|d|transform)
        =(?:"[^"]*"|'[^']*')""",
    re.VERBOSE,
)

Span = tuple[int, int]
_Found = tuple[int, int, int, float, float]
"""A number: start, end, significant digits, value, and half a unit of its last digit."""
_DOUBLE_DIGITS = 17
_NO_DIGIT = re.compile("[^0-9]")


@dataclass(frozen=True, eq=False, repr=False)
class Readings(ArrayRecord):
    """What the numbers of a text may mean, without sign, in the order in which they stand.

    Several readings share a place where separators can be meant in several ways.
    """

    start: IntArray
    """Where the digits of the reading begin."""
    place: IntArray
    """Where all that may be one number begins."""
    is_whole: BoolArray
    """Whether the reading takes in all that may be one number."""
    value: FloatArray
    half_unit: FloatArray
    """Half a unit of the last digit: how far rounding moved it at most."""


def readings(text: str, suffix: str, least_digits: int = LEAST_DIGITS) -> Readings:
    """Return the numbers of a text, or of the file with such a suffix that holds it."""
    text, positions = spelled_out(text)
    hidden = text
    for pattern in (*_NO_NUMBER, _HEX_FLOAT):
        hidden = pattern.sub(_blanks, hidden)
    separated = _inside(list(_separated(hidden)), _prose(text, suffix), True)
    places = _merged(separated)
    found = _inside(
        [*separated, *_plain(hidden, least_digits), *_hex_floats(text)], _drawn(text), False
    )
    telling = sorted(one for one in found if one[2] >= least_digits)
    table = np.array(telling, dtype=float).reshape(-1, 5)
    starts, ends = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    around = _around(starts, places)
    place = np.where(around < 0, starts, places[around, 0]) if len(places) else starts
    last = np.where(around < 0, ends, places[around, 1]) if len(places) else ends
    whole = (place == starts) & (last == ends)
    return Readings(positions[starts], positions[place], whole, table[:, 3], table[:, 4])


def _plain(text: str, least_digits: int) -> Iterator[_Found]:
    for match in _PLAIN.finditer(text):
        if match.end() - match.start() >= least_digits:
            fraction = match[2] or match[4] or ""
            yield from _number(match.span(), match[1] or "", fraction.removeprefix("."), match[3])


def _separated(text: str) -> Iterator[_Found]:
    """Give the numbers with separators: of thousands, and with a decimal comma."""
    for match in _THOUSANDS.finditer(text):
        fraction = (match[3] or "").removeprefix(".")
        yield from _number(match.span(), _NO_DIGIT.sub("", match[1]), fraction, None)
    for match in _CONTINENTAL.finditer(text):
        yield from _number(match.span(), _NO_DIGIT.sub("", match[1]), match[2] or "", None)
    for match in _DECIMAL_COMMA.finditer(text):
        is_ambiguous = len(match[1]) <= 3 == len(match[2])
        yield from _number(match.span(), match[1], match[2], match[3], not is_ambiguous)


def _hex_floats(text: str) -> Iterator[_Found]:
    for match in _HEX_FLOAT.finditer(text):
        try:
            value = float.fromhex(match[0])
        except OverflowError:
            continue
        yield *match.span(), _DOUBLE_DIGITS, value, 0.0


def _number(
    span: Span, whole: str, fraction: str, power: str | None, is_decimal: bool = True
) -> Iterator[_Found]:
    """Give a number, if it is not 0 or infinite; zeros at the end count for decimals only."""
    digits = (whole + fraction).lstrip("0")
    count = len(digits if fraction and is_decimal else digits.rstrip("0"))
    exponent = int(power or 0) - len(fraction)
    value = float(f"{digits or 0}e{exponent}")
    if 0 < value < np.inf:
        yield *span, count, value, float(f"5e{exponent - 1}")


def _prose(text: str, suffix: str) -> IntArray:
    """Return where a comma need not separate values."""
    if suffix in _PROSE:
        return _spans(match.span() for match in _PROSE[suffix].finditer(text))
    code = _spans(match.span() for match in _CODE.finditer(text))
    return np.stack([np.append(0, code[:, 1]), np.append(code[:, 0], len(text))], axis=1)


def _drawn(text: str) -> IntArray:
    """Return where the coordinates of drawings stand."""
    return _spans(
        match.span()
        for shape in _SHAPE.finditer(text)
        for match in _GEOMETRY.finditer(text, *shape.span())
    )


def _spans(spans: Iterable[Span]) -> IntArray:
    return np.array(list(spans), dtype=np.int64).reshape(-1, 2)


def _merged(found: list[_Found]) -> IntArray:
    """Return the spans of numbers, those that overlap as one."""
    merged: list[Span] = []
    for start, end in sorted((start, end) for start, end, *_ in found):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return _spans(merged)


def _around(positions: IntArray, spans: IntArray) -> IntArray:
    """Return which of sorted, separate spans holds each position; -1 where none does."""
    index = np.searchsorted(spans[:, 0], positions, side="right") - 1
    holds = index >= 0
    holds[holds] = positions[holds] < spans[index[holds], 1]
    return np.where(holds, index, -1)


def _inside(found: list[_Found], spans: IntArray, wanted: bool) -> list[_Found]:
    """Return the numbers inside spans of prose, or those that are no coordinates of a drawing."""
    around = _around(np.array([one[0] for one in found], dtype=np.int64), spans)
    if wanted:
        return [one for one, index in zip(found, around.tolist(), strict=True) if index >= 0]
    return [
        one
        for one, index in zip(found, around.tolist(), strict=True)
        if index < 0 or one[2] > _COORDINATE_DIGITS
    ]


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])
