"""Reads and writes MATPOWER v2 case files, remembering where in the text every number stands.

The reader takes the data format, not the MATLAB language: assignments to fields of the case struct.
Anything else (code, indexed assignments, expressions) is refused with its line, since skipping it
could change the network.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NoReturn

import numpy as np

from gridveil.arrays import FloatArray, Index, IntArray
from gridveil.files import write_atomically
from gridveil.network.problems import CaseError, Kind, Problem

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "bus": (
        "bus_i", "type", "Pd", "Qd", "Gs", "Bs", "area", "Vm", "Va", "baseKV", "zone",
        "Vmax", "Vmin",
    ),
    "gen": (
        "bus", "Pg", "Qg", "Qmax", "Qmin", "Vg", "mBase", "status", "Pmax", "Pmin", "Pc1", "Pc2",
        "Qc1min", "Qc1max", "Qc2min", "Qc2max", "ramp_agc", "ramp_10", "ramp_30", "ramp_q", "apf",
    ),
    "branch": (
        "fbus", "tbus", "r", "x", "b", "rateA", "rateB", "rateC", "ratio", "angle", "status",
        "angmin", "angmax",
    ),
    "gencost": ("model", "startup", "shutdown", "n"),
    "dcline": ("fbus", "tbus", "status"),
}  # fmt: skip
"""The columns by position, named as in MATPOWER's manual; more may follow in the file."""

REQUIRED_COLUMNS: Mapping[str, int] = {"bus": 13, "gen": 10, "branch": 11, "gencost": 5}
"""The least number of columns of each table every case must have."""

LOAD_COLUMNS = {("bus", "Pd"), ("bus", "Qd")}
"""The columns whose values no message may show."""

_FUNCTION = re.compile(r"function\s+(?P<struct>\w+)\s*=\s*\w+\s*(\(\s*\))?\s*;?$")
_ASSIGNMENT = re.compile(r"(?P<struct>[A-Za-z]\w*)\.(?P<name>[\w.]+)\s*=\s*(?P<value>.*)$")
_SCALAR = re.compile(r"(?P<value>'(?:[^']|'')*'|\"[^\"]*\"|[^;,\s]+)\s*(?:[;,]\s*(?P<rest>.*))?$")
_STRING = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"")
_TOKEN = re.compile(r"(?P<skipped>(?:%|\.\.\.)[^\n]*)|[^\s,%]+")
_BLANKS = re.compile(r"[ \t]*")
_BARE_NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?\.?\d[\d.eE+-]*|\d+\.\d+")
_MATLAB = "MATLAB code is not run: only assignments such as 'mpc.bus = [...]' are read"


@dataclass(frozen=True)
class Table:
    """One numeric matrix of a case file."""

    name: str
    line: int
    """Line of its assignment."""
    values: FloatArray = field(repr=False)
    row_lines: IntArray
    row_spans: IntArray
    """Start and end of each row in the text, as character offsets."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        """The MATPOWER names of the columns the file has, as far as they have one."""
        return COLUMNS[self.name][: self.values.shape[1]]

    def column(self, name: str) -> FloatArray:
        """Return the values of a column by its MATPOWER name, zeros where the file has no such."""
        if name not in self.columns:
            return np.zeros(len(self))
        return self.values[:, COLUMNS[self.name].index(name)]

    def problem(self, kind: Kind, row: Index, name: str, value: object, reason: str) -> Problem:
        """Return a problem at a cell of this table (row from 0)."""
        line = int(self.row_lines[row])
        return Problem(kind, reason, self.name, int(row) + 1, name, value, line)


@dataclass(frozen=True)
class CaseFile:
    """A parsed case file: its text, and the tables found in it, in the file's own units."""

    source: str
    """The path it was read from, for messages."""
    name: str
    text: str = field(repr=False)
    base_mva: float
    tables: Mapping[str, Table] = field(repr=False)
    sections: Mapping[str, int]
    """Every field the file assigns, with its line, tables included."""


@dataclass(frozen=True)
class Edit:
    """A new value for one cell of a table, its row from 0, its column by name or from 0."""

    table: str
    row: int
    column: str | int
    value: float


def read_matpower(path: Path) -> CaseFile:
    """Read a MATPOWER v2 case file; raise `CaseError` with file, line and field if it is broken."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise CaseError(path, [Problem(Kind.NOT_A_CASE, reason)]) from error
    if not data or data.isspace():
        reason = "the file is empty" if not data else "the file holds nothing but blanks"
        raise CaseError(path, [Problem(Kind.NOT_A_CASE, reason)])
    if b"\0" in data:
        reason = "this is binary data, not a MATPOWER .m text file"
        raise CaseError(path, [Problem(Kind.NOT_A_CASE, reason)])
    name = path.stem.encode("utf-8", "replace").decode()
    return parse_matpower(data.decode("utf-8", "surrogateescape"), str(path), name)


def write_matpower(text: str, path: Path) -> None:
    """Write the text of a case, byte for byte as it was read, or leave `path` untouched."""
    write_atomically(path, text.encode("utf-8", "surrogateescape"))


def edited_text(case: CaseFile, edits: Sequence[Edit]) -> str:
    """Return the text of the case with only the edited cells replaced."""
    replacements: list[tuple[int, int, str]] = []
    for edit in edits:
        table = case.tables[edit.table]
        start, end = (int(offset) for offset in table.row_spans[edit.row])
        tokens = [t for t in _TOKEN.finditer(case.text, start, end) if t["skipped"] is None]
        column = edit.column
        token = tokens[column if isinstance(column, int) else COLUMNS[edit.table].index(column)]
        replacements.append((token.start(), token.end(), _number_text(edit.value)))
    pieces: list[str] = []
    position = 0
    for start, end, value in sorted(replacements):
        pieces += (case.text[position:start], value)
        position = end
    return "".join([*pieces, case.text[position:]])


def respaced_text(case: CaseFile, edits: Sequence[Edit], tables: Sequence[str]) -> str:
    """Return the text with cells replaced and all rows of some tables written anew, with tabs.

    Blanks that align columns tell how long the numbers were that stood there.
    """
    cells: dict[tuple[str, int], dict[int, str]] = {}
    for edit in edits:
        column = edit.column
        index = column if isinstance(column, int) else COLUMNS[edit.table].index(column)
        cells.setdefault((edit.table, edit.row), {})[index] = _number_text(edit.value)
    spans = []
    for name in tables:
        for row, (start, end) in enumerate(case.tables[name].row_spans.tolist()):
            tokens = [
                token[0]
                for token in _TOKEN.finditer(case.text, start, end)
                if token["skipped"] is None
            ]
            for index, value in cells.get((name, row), {}).items():
                tokens[index] = value
            after = _BLANKS.match(case.text, end)
            spans.append((start, after.end() if after else end, "\t".join(tokens)))
    pieces: list[str] = []
    position = 0
    for start, end, row_text in sorted(spans):
        pieces += (case.text[position:start].rstrip(" \t"), "\t", row_text)
        position = end
    return "".join([*pieces, case.text[position:]])


def parse_matpower(text: str, source: str, name: str) -> CaseFile:
    """Parse the text of a case file; `source` and `name` are for messages and the result."""
    return _Parser(text, source).parse(name)


def _number_text(value: float) -> str:
    """Return the shortest text that reads back as the same number, in MATLAB's spelling."""
    return repr(float(value)).replace("inf", "Inf")


@dataclass(frozen=True)
class _Line:
    number: int
    start: int
    """Offset of its first character."""
    code: str
    """The line up to its comment."""


class _Parser:
    """One pass over the lines of a case file."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._struct, self._in_function = "mpc", False
        self._lines = self._code_lines()
        self._sections: dict[str, int] = {}
        self._scalars: dict[str, str] = {}
        self._tables: dict[str, Table] = {}
        self._problems: list[Problem] = []

    def parse(self, name: str) -> CaseFile:
        for line in self._lines:
            rest: _Line | None = line
            while rest is not None:
                rest = self._statement(rest)
        self._check_version()
        base_mva = self._base_mva()
        broken = {problem.component for problem in self._problems}
        for table in REQUIRED_COLUMNS:
            if table not in self._sections:
                reason = f"the file has no mpc.{table}"
                self._problems.append(Problem(Kind.MISSING, reason, table))
            elif table not in self._tables and table not in broken:
                reason, at = f"mpc.{table} is not a matrix [...]", self._sections[table]
                self._problems.append(Problem(Kind.SYNTAX, reason, table, line=at))
        if self._problems:
            raise CaseError(self._source, self._problems)
        return CaseFile(self._source, name, self._text, base_mva, self._tables, self._sections)

    def _code_lines(self) -> Iterator[_Line]:
        """Yield the lines that hold code, without comments and block comments."""
        text, start, number, in_block = self._text, 0, 0, False
        while start < len(text):
            end = text.find("\n", start)
            end = len(text) if end < 0 else end
            number += 1
            raw = text[start:end]
            if number == 1:
                raw = raw.replace("\ufeff", " ")
            if "%" in raw:
                stripped = raw.strip()
                if stripped in ("%{", "%}"):
                    in_block = stripped == "%{"
                    raw = ""
                else:
                    raw = _without_comment(raw)
            if raw and not in_block and not raw.isspace():
                yield _Line(number, start, raw)
            start = end + 1

    def _statement(self, line: _Line) -> _Line | None:
        """Read a statement; return what follows it on the same line."""
        code = line.code.strip()
        if code.startswith("function"):
            self._function(code, line)
            return None
        if code.rstrip(";, \t") in ("end", "return"):
            return None
        match = _ASSIGNMENT.match(code)
        if not match or match["struct"] != self._struct:
            self._fail(Kind.SYNTAX, f"cannot read {_excerpt(code)}. {_MATLAB}", line)
        name, value = match["name"], match["value"]
        if name in self._sections:
            reason = f"mpc.{name} is assigned a second time (first in line {self._sections[name]})"
            self._fail(Kind.DUPLICATE, reason, line)
        self._sections[name] = line.number
        if value.startswith("["):
            offset = line.start + line.code.index("[", line.code.index("=")) + 1
            self._matrix(name, line, offset)
        elif value.startswith("{"):
            self._cells(name, line)
        else:
            return self._scalar(name, value, line)
        return None

    def _function(self, code: str, line: _Line) -> None:
        match = _FUNCTION.match(code)
        if not match:
            reason = (
                f"cannot read {_excerpt(code)}. Only version 2 cases ('function mpc = NAME') are "
                "read; MATPOWER's savecase converts older ones"
            )
            self._fail(Kind.NOT_A_CASE, reason, line)
        if self._in_function:
            self._fail(Kind.SYNTAX, f"a second function. {_MATLAB}", line)
        self._struct, self._in_function = match["struct"], True

    def _scalar(self, name: str, code: str, line: _Line) -> _Line | None:
        match = _SCALAR.match(code)
        if not match:
            reason = f"cannot read {_excerpt(code)} as the value of mpc.{name}"
            self._fail(Kind.SYNTAX, reason, line)
        self._scalars[name] = match["value"].strip("'\"")
        rest = match["rest"]
        if not rest:
            return None
        return _Line(line.number, line.start + len(line.code.rstrip()) - len(rest), rest)

    def _cells(self, name: str, first: _Line) -> None:
        """Skip a cell array: names and notes, which survive in the text but are not read."""
        depth, line = 0, first
        while True:
            bare = _STRING.sub("", line.code)
            depth += bare.count("{") - bare.count("}")
            if depth <= 0:
                return
            line = self._next_line(name, first)

    def _matrix(self, name: str, first: _Line, body_start: int) -> None:
        rows: list[list[str]] = []
        lines: list[int] = []
        spans: list[tuple[int, int]] = []
        line, start = first, body_start
        pending: tuple[list[str], int, int] | None = None  # a row continued with "..."
        while True:
            code = line.code[start - line.start :]
            if "=" in code:
                self._fail_unclosed(name, first, line)
            code, bracket, tail = code.partition("]")
            if bracket and tail.strip() not in ("", ";", ","):
                self._fail(Kind.SYNTAX, f"cannot read {_excerpt(tail)} after ']'. {_MATLAB}", line)
            code, dots, _ = code.partition("...")
            pieces = code.split(";")
            for index, piece in enumerate(pieces):
                tokens = piece.replace(",", " ").split()
                end = start + len(piece)
                if pending:
                    tokens = pending[0] + tokens
                origin = pending[1:] if pending else (start, line.number)
                pending = None
                if dots and index == len(pieces) - 1:
                    pending = (tokens, *origin)
                elif tokens:
                    rows.append(tokens)
                    lines.append(origin[1])
                    spans.append((origin[0], end))
                start = end + 1
            if bracket:
                break
            line = self._next_line(name, first)
            start = line.start
        if name in COLUMNS:
            self._add_table(name, first.number, rows, lines, spans)

    def _add_table(
        self,
        name: str,
        line: int,
        rows: list[list[str]],
        lines: list[int],
        spans: list[tuple[int, int]],
    ) -> None:
        width = len(rows[0]) if rows else 0
        needed = REQUIRED_COLUMNS.get(name, 0)
        if rows and width < needed:
            reason = f"{width} columns, but a version 2 case has at least {needed}"
            self._problems.append(Problem(Kind.SHAPE, reason, name, 1, line=lines[0]))
            return
        uneven = [
            Problem(
                Kind.SHAPE, f"{len(row)} columns, but row 1 has {width}", name, i + 1, line=lines[i]
            )
            for i, row in enumerate(rows)
            if len(row) != width
        ]
        if uneven:
            self._problems += uneven
            return
        try:
            values = np.fromiter(map(_number, chain.from_iterable(rows)), float)
        except ValueError:
            self._problems += _bad_numbers(name, rows, lines)
            return
        self._tables[name] = Table(
            name,
            line,
            values.reshape(len(rows), width),
            np.array(lines, dtype=np.int64),
            np.array(spans, dtype=np.int64).reshape(-1, 2),
        )

    def _check_version(self) -> None:
        if not self._sections:
            self._problems.append(
                Problem(Kind.NOT_A_CASE, "no assignment such as 'mpc.bus = [...]' in this file")
            )
        elif "version" not in self._scalars:
            reason = "the file has no mpc.version = '2'; older cases need MATPOWER's savecase first"
            self._problems.append(Problem(Kind.MISSING, reason))
        elif self._scalars["version"] != "2":
            reason = f"case format version {self._scalars['version']!r}; only '2' is read"
            line = self._sections["version"]
            self._problems.append(Problem(Kind.UNSUPPORTED, reason, line=line))

    def _base_mva(self) -> float:
        line = self._sections.get("baseMVA")
        text = self._scalars.get("baseMVA")
        if text is None:
            self._problems.append(Problem(Kind.MISSING, "no mpc.baseMVA = NUMBER", line=line))
            return 0.0
        try:
            value = _number(text)
        except ValueError:
            self._problems.append(
                Problem(Kind.NOT_A_NUMBER, f"baseMVA: {text!r} is not a number", line=line)
            )
            return 0.0
        if not 0 < value < np.inf:
            self._problems.append(
                Problem(Kind.OUT_OF_RANGE, f"baseMVA: {text} is not a positive number", line=line)
            )
        return value

    def _next_line(self, name: str, first: _Line) -> _Line:
        line = next(self._lines, None)
        if line is None:
            self._fail_unclosed(name, first, None)
        return line

    def _fail_unclosed(self, name: str, first: _Line, line: _Line | None) -> NoReturn:
        where = "before this line" if line else "before the end of the file"
        reason = f"mpc.{name} is not closed {where}; is the file cut off?"
        self._fail(Kind.SYNTAX, reason, line or first)

    def _fail(self, kind: Kind, reason: str, line: _Line) -> NoReturn:
        raise CaseError(self._source, [*self._problems, Problem(kind, reason, line=line.number)])


def _without_comment(line: str) -> str:
    if "'" in line or '"' in line:
        masked = _STRING.sub(lambda m: "·" * len(m[0]), line)
        cut = masked.find("%")
        return line if cut < 0 else line[:cut]
    return line.partition("%")[0]


def _number(token: str) -> float:
    """Return a number as MATLAB reads it; Python's digit separators are not MATLAB's."""
    if "_" in token:
        raise ValueError(token)
    return float(token)


def _bad_numbers(name: str, rows: list[list[str]], lines: list[int]) -> Iterator[Problem]:
    names = COLUMNS[name]
    for i, row in enumerate(rows):
        for j, token in enumerate(row):
            try:
                _number(token)
            except ValueError:
                column = names[j] if j < len(names) else str(j + 1)
                secret = (name, column) in LOAD_COLUMNS
                reason = "not a number" if secret else f"{token[:40]!r} is not a number"
                value = None if secret else token
                yield Problem(Kind.NOT_A_NUMBER, reason, name, i + 1, column, value, lines[i])


def _excerpt(code: str) -> str:
    """Return a quoted beginning of some code, its numbers masked: they may be raw loads."""
    shown = _BARE_NUMBER.sub("#", code.strip()[:40])
    return repr(shown.encode("utf-8", "replace").decode())
