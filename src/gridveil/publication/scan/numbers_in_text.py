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
from numpy.typing import NDArray

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
_PLAIN = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eEdD][-+]?[0-9]{1,4})?|\.[0-9]+")
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
_Numbers = FloatArray
"""Many of them, of shape (numbers, 5)."""
_DOUBLE_DIGITS = 17
_EXPONENTS = [ord(letter) for letter in "eEdD"]
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
    separated = _inside(_table(_separated(hidden)), _prose(text, suffix), True)
    places = _merged(separated)
    found = np.concatenate([separated, _plain(hidden, least_digits), _table(_hex_floats(text))])
    found = _inside(found, _drawn(text), False)
    table = found[found[:, 2] >= least_digits]
    table = table[np.lexsort(table.T[::-1])]
    starts, ends = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    around = _around(starts, places)
    place = np.where(around < 0, starts, places[around, 0]) if len(places) else starts
    last = np.where(around < 0, ends, places[around, 1]) if len(places) else ends
    whole = (place == starts) & (last == ends)
    return Readings(positions[starts], positions[place], whole, table[:, 3], table[:, 4])


def _table(found: Iterable[_Found]) -> _Numbers:
    return np.array(list(found), dtype=float).reshape(-1, 5)


def _plain(text: str, least_digits: int) -> _Numbers:
    """Return the numbers without separators, all at once: a folder has millions of them."""
    spans = [m.span() for m in _PLAIN.finditer(text)]
    if not spans:
        return np.zeros((0, 5))
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    start, end = np.array(spans).T
    long_enough = end - start >= least_digits
    start, end = start[long_enough], end[long_enough]
    texts = [text[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True)]
    values = np.array([float(one.replace("d", "e").replace("D", "e")) for one in texts])
    power_at = _next(np.isin(codes, _EXPONENTS), start)
    mantissa_end = np.minimum(power_at, end)
    powers = np.zeros(len(start), np.int64)
    for k in np.flatnonzero(power_at < end).tolist():
        powers[k] = int(text[power_at[k] + 1 : end[k]])
    dot = _next(codes == ord("."), start)
    decimals = np.where(dot < mantissa_end, mantissa_end - dot - 1, 0)
    digits = _significant(codes, start, mantissa_end, dot, decimals > 0)
    half_units = _half_units(powers - decimals)
    found = np.stack([start, end, digits, values, half_units], axis=1)
    kept: _Numbers = found[(values > 0) & np.isfinite(values)]
    return kept


def _next(wanted: BoolArray, start: IntArray) -> IntArray:
    """Return where the next wanted character stands, from each place on; the end if none does."""
    places = np.append(np.flatnonzero(wanted), len(wanted))
    found: IntArray = places[np.searchsorted(places, start)]
    return found


def _significant(
    codes: NDArray[np.uint32], start: IntArray, end: IntArray, dot: IntArray, is_decimal: BoolArray
) -> IntArray:
    """Return how many digits of mantissas are significant; zeros at the end only of decimals."""
    counts = (codes >= ord("1")) & (codes <= ord("9"))
    first = np.minimum(_next(counts, start), end)
    places = np.flatnonzero(counts)
    before = np.searchsorted(places, end) - 1
    last = np.where(before < 0, -1, places[before]) if len(places) else start - 1
    finish = np.where(is_decimal, end, np.maximum(last + 1, first))
    dots = (dot >= first) & (dot < finish)
    count: IntArray = finish - first - dots
    return count


def _half_units(exponents: IntArray) -> FloatArray:
    """Return half a unit of the last digit, by its power of ten."""
    known, which = np.unique(exponents, return_inverse=True)
    units = np.array([float(f"5e{exponent - 1}") for exponent in known.tolist()])
    found: FloatArray = units[which]
    return found


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


def _merged(found: _Numbers) -> IntArray:
    """Return the spans of numbers, those that overlap as one."""
    merged: list[Span] = []
    for start, end in sorted(map(tuple, found[:, :2].astype(np.int64).tolist())):
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


def _inside(found: _Numbers, spans: IntArray, wanted: bool) -> _Numbers:
    """Return the numbers inside spans of prose, or those that are no coordinates of a drawing."""
    around = _around(found[:, 0].astype(np.int64), spans)
    return found[around >= 0 if wanted else (around < 0) | (found[:, 2] > _COORDINATE_DIGITS)]


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])
