"""Reads MATPOWER v2 case files, remembering where in the text every number stands.

The reader takes the data format, not the MATLAB language: assignments to fields of the case struct.
Anything else (code, indexed assignments, expressions) is refused with its line, since skipping it
could change the network.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import NoReturn

import numpy as np

from gridveil.network.case_file import (
    COLUMNS,
    LOAD_COLUMNS,
    NO_COST,
    REQUIRED_COLUMNS,
    CaseFile,
    Table,
)
from gridveil.network.problems import CaseError, Problem, ProblemKind

_FUNCTION = re.compile(r"function\s++(?P<struct>\w++)\s*+=\s*+\w++\s*+(?:\(\s*+\)\s*+)?;?$")
_END = re.compile(r"(?:end|return)[;, \t]*+$")
_ASSIGNMENT = re.compile(r"(?P<struct>[A-Za-z]\w*+)\.(?P<name>[\w.]++)\s*+=\s*+")
_SCALAR = re.compile(r"(?P<value>'(?:[^']++|'')*+'|\"[^\"]*+\"|[^;,\s]++)\s*+(?:[;,]\s*+|$)")
_STRING = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"")
_NUMBER = re.compile(
    r"0[xX][0-9a-fA-F.]+(?:[pP][-+]?[0-9]+)?|[-+]?\.?[0-9](?:[.,]?[0-9])*(?:[eEdD][-+]?[0-9]+)?"
)
_BLANKS = re.compile(r"[ \t\r\n\f\v]+")
_TIGHT_COMMA = re.compile(r"[0-9],[0-9]")
_LOOSE_COMMA = re.compile(r"[^\S\n],|,[^\S\n]")
_BLANK_ALONE = re.compile(r"[^\s,]\s++[^\s,]")
_TOKEN = re.compile(r"[^\s,]++")
_LOADS = {COLUMNS[table].index(column) for table, column in LOAD_COLUMNS}
_SCALARS = {"version", "baseMVA"}
_MATLAB = "MATLAB code is not run: only assignments such as 'mpc.bus = [...]' are read"
_LONGEST = 400
"""Characters of code that are looked at for an excerpt."""
_DECIMAL_COMMAS = "looks like decimal commas: write 94.2, or separate all numbers in the same way"


def read_matpower(path: Path) -> CaseFile:
    """Read a MATPOWER v2 case file; raise `CaseError` with file, line and field if it is broken."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)]) from error
    if not data or data.isspace():
        reason = "the file is empty" if not data else "the file holds nothing but blanks"
        raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)])
    if b"\0" in data:
        reason = "this is binary data, not a MATPOWER .m text file"
        raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason)])
    name = path.stem.encode("utf-8", "replace").decode()
    return parse_matpower(data.decode("utf-8", "surrogateescape"), str(path), name)


def parse_matpower(text: str, source: str, name: str) -> CaseFile:
    """Parse the text of a case file; `source` and `name` are for messages and the result."""
    return _Parser(text, source).parse(name)


def comments_of(text: str) -> list[str]:
    """Return every comment of a case file, without the signs that begin it.

    Nothing of them is code to the parser: both go through the lines of the text in the same way.
    """
    return [line.comment for line in _lines(text) if line.comment]


def texts_of(cells: str) -> list[str]:
    """Return the texts of a cell array, without their quotation marks.

    Example:
        >>> texts_of("{ 'coal'; 'wind' }")
        ['coal', 'wind']
    """
    return [text[1:-1].replace(2 * text[0], text[0]) for text in _STRING.findall(cells)]


@dataclass(frozen=True)
class _Line:
    number: int
    start: int
    """Offset of its first character."""
    code: str
    """The line up to its comment; empty inside a block comment."""
    comment: str = ""
    """Without the signs that begin it."""


def _lines(text: str) -> Iterator[_Line]:
    """Yield every line of a text, what is code in it apart from what is a comment.

    Lines end with a line feed, and with nothing else that may look like the end of one.
    """
    start, number, in_block = 0, 0, False
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        raw = text[start:end]
        if number == 1:
            raw = raw.replace("\ufeff", " ")
        code, comment = raw, ""
        if "%" in raw and raw.strip() in ("%{", "%}"):
            in_block = raw.strip() == "%{"
            code = ""
        elif in_block:
            code, comment = "", raw.strip()
        elif "%" in raw:
            code = _without_comment(raw)
            comment = raw[len(code) :].lstrip("%").strip()
        yield _Line(number, start, code, comment)
        start = end + 1


class _Parser:
    """One pass over the lines of a case file."""

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._struct, self._in_function = "mpc", False
        self._lines = (line for line in _lines(text) if line.code and not line.code.isspace())
        self._sections: dict[str, int] = {}
        self._scalars: dict[str, str] = {}
        self._tables: dict[str, Table] = {}
        self._others: dict[str, str] = {}
        self._problems: list[Problem] = []

    def parse(self, name: str) -> CaseFile:
        for line in self._lines:
            self._read_line(line)
        self._check_version()
        base_mva = self._base_mva()
        broken = {problem.component for problem in self._problems}
        if "gencost" not in broken and not len(self._tables.get("gencost", ())):
            self._leave_costs_out()
        for table in REQUIRED_COLUMNS:
            if table not in self._sections and table not in self._tables:
                reason = f"the file has no mpc.{table}"
                self._problems.append(Problem(ProblemKind.MISSING, reason, table))
            elif table not in self._tables and table not in broken:
                reason, at = f"mpc.{table} is not a matrix [...]", self._sections[table]
                self._problems.append(Problem(ProblemKind.SYNTAX, reason, table, line=at))
        if self._problems:
            raise CaseError(self._source, self._problems)
        return CaseFile(
            self._source, name, self._text, base_mva, self._tables, self._sections, self._others
        )

    def _leave_costs_out(self) -> None:
        """Give every generator of a file without costs a cost of 0."""
        gen, line = self._tables.get("gen"), self._sections.get("gencost", 0)
        if gen is None or ("gencost" in self._sections and "gencost" not in self._tables):
            return
        count = len(gen)
        self._tables["gencost"] = Table(
            "gencost",
            line,
            np.tile(NO_COST, (count, 1)),
            np.full(count, line, dtype=np.int64),
            np.zeros((count, 2), dtype=np.int64),
        )

    def _read_line(self, line: _Line) -> None:
        """Read the statements of a line, from left to right."""
        code = line.code.rstrip()
        at: int | None = len(code) - len(code.lstrip())
        while at is not None:
            at = self._statement(code, at, line)

    def _statement(self, code: str, at: int, line: _Line) -> int | None:
        """Read a statement of a line; return where the next one on it begins."""
        if code.startswith("function", at):
            self._function(code[at:], line)
            return None
        if _END.match(code, at):
            return None
        match = _ASSIGNMENT.match(code, at)
        if not match or match["struct"] != self._struct:
            self._fail(ProblemKind.SYNTAX, f"cannot read {_excerpt(code[at:])}. {_MATLAB}", line)
        name, value = match["name"], match.end()
        if name in self._sections:
            reason = f"mpc.{name} is assigned a second time (first in line {self._sections[name]})"
            self._fail(ProblemKind.DUPLICATE, reason, line)
        self._sections[name] = line.number
        if code.startswith("[", value):
            self._matrix(name, line, line.start + value + 1)
        elif code.startswith("{", value):
            self._cells(name, _Line(line.number, line.start + value, code[value:]))
        else:
            return self._scalar(name, code, value, line)
        return None

    def _function(self, code: str, line: _Line) -> None:
        match = _FUNCTION.match(code)
        if not match:
            reason = (
                f"cannot read {_excerpt(code)}. Only version 2 cases ('function mpc = NAME') are "
                "read; MATPOWER's savecase converts older ones"
            )
            self._fail(ProblemKind.NOT_A_CASE, reason, line)
        if self._in_function:
            self._fail(ProblemKind.SYNTAX, f"a second function. {_MATLAB}", line)
        self._struct, self._in_function = match["struct"], True

    def _scalar(self, name: str, code: str, at: int, line: _Line) -> int | None:
        match = _SCALAR.match(code, at)
        if not match:
            reason = f"cannot read {_excerpt(code[at:])} as the value of mpc.{name}"
            self._fail(ProblemKind.SYNTAX, reason, line)
        self._scalars[name] = match["value"].strip("'\"")
        if name not in _SCALARS:
            self._others[name] = match["value"]
        return match.end() if match.end() < len(code) else None

    def _cells(self, name: str, first: _Line) -> None:
        """Read a cell array, names and notes, as text."""
        depth, line = 0, first
        lines = [first.code.strip()]
        while True:
            bare = _STRING.sub("", line.code)
            depth += bare.count("{") - bare.count("}")
            if depth <= 0:
                self._others[name] = "\n\t".join(lines).removesuffix(";")
                return
            line = self._next_line(name, first)
            lines.append(line.code.strip())

    def _matrix(self, name: str, first: _Line, body_start: int) -> None:
        rows: list[list[str]] = []
        lines: list[int] = []
        spans: list[tuple[int, int]] = []
        line, start = first, body_start
        parts: list[str] = []  # of a row; several if it is continued with "..."
        origin = start, line.number
        comma_row: int | None = None
        while True:
            code = line.code[start - line.start :]
            if "=" in code:
                self._fail_unclosed(name, first, line)
            code, bracket, tail = code.partition("]")
            if bracket and tail.strip() not in ("", ";", ","):
                self._fail(
                    ProblemKind.SYNTAX, f"cannot read {_excerpt(tail)} after ']'. {_MATLAB}", line
                )
            code, dots, _ = code.partition("...")
            pieces = code.split(";")
            for index, piece in enumerate(pieces):
                end = start + len(piece)
                if not parts:
                    origin = start, line.number
                parts.append(piece.strip())
                start = end + 1
                if dots and index == len(pieces) - 1:
                    continue
                row, parts = "\n".join(parts), []
                if tokens := _tokens(row):
                    if comma_row is None and _has_decimal_commas(name, row):
                        comma_row = len(rows)
                    rows.append(tokens)
                    lines.append(origin[1])
                    spans.append((origin[0], end))
            if bracket:
                break
            line = self._next_line(name, first)
            start = line.start
        if name in COLUMNS and comma_row is not None:
            at = lines[comma_row]
            self._problems.append(
                Problem(ProblemKind.SYNTAX, _DECIMAL_COMMAS, name, comma_row + 1, line=at)
            )
        elif name in COLUMNS:
            self._add_table(name, first.number, rows, lines, spans)
        if name not in REQUIRED_COLUMNS:
            body = "".join("\t" + "\t".join(row) + ";\n" for row in rows)
            self._others[name] = f"[\n{body}]"

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
            self._problems.append(Problem(ProblemKind.SHAPE, reason, name, 1, line=lines[0]))
            return
        uneven = [
            Problem(
                ProblemKind.SHAPE,
                f"{len(row)} columns, but row 1 has {width}",
                name,
                i + 1,
                line=lines[i],
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
                Problem(
                    ProblemKind.NOT_A_CASE, "no assignment such as 'mpc.bus = [...]' in this file"
                )
            )
        elif "version" not in self._scalars:
            reason = "the file has no mpc.version = '2'; older cases need MATPOWER's savecase first"
            self._problems.append(Problem(ProblemKind.MISSING, reason))
        elif self._scalars["version"] != "2":
            reason = f"case format version {self._scalars['version']!r}; only '2' is read"
            line = self._sections["version"]
            self._problems.append(Problem(ProblemKind.UNSUPPORTED, reason, line=line))

    def _base_mva(self) -> float:
        line = self._sections.get("baseMVA")
        text = self._scalars.get("baseMVA")
        if text is None:
            self._problems.append(
                Problem(ProblemKind.MISSING, "no mpc.baseMVA = NUMBER", line=line)
            )
            return 0.0
        try:
            value = _number(text)
        except ValueError:
            self._problems.append(
                Problem(ProblemKind.NOT_A_NUMBER, f"baseMVA: {text!r} is not a number", line=line)
            )
            return 0.0
        if not 0 < value < np.inf:
            self._problems.append(
                Problem(
                    ProblemKind.OUT_OF_RANGE, f"baseMVA: {text} is not a positive number", line=line
                )
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
        self._fail(ProblemKind.SYNTAX, reason, line or first)

    def _fail(self, kind: ProblemKind, reason: str, line: _Line) -> NoReturn:
        raise CaseError(self._source, [*self._problems, Problem(kind, reason, line=line.number)])


def _without_comment(line: str) -> str:
    if "'" in line or '"' in line:
        masked = _STRING.sub(lambda m: "·" * len(m[0]), line)
        cut = masked.find("%")
        return line if cut < 0 else line[:cut]
    return line.partition("%")[0]


def _tokens(row: str) -> list[str]:
    """Return the numbers of a row; only blanks of ASCII and commas stand between them."""
    spaced = row.replace(",", " ")
    return spaced.split() if row.isascii() else [t for t in _BLANKS.split(spaced) if t]


def _has_decimal_commas(name: str, row: str) -> bool:
    """Return whether commas seem to stand inside numbers of a row, and something else between them.

    A comma without blanks among commas with blanks may separate like these. It is taken for a
    decimal comma if no number has a decimal point. A line break, where the row was continued,
    tells nothing about a comma beside it. How loads are spelled plays no part.
    """
    if "," not in row:
        return False
    row = _without_loads(row.strip()) if name == "bus" else row.strip()
    if not _TIGHT_COMMA.search(row):
        return False
    return bool(_BLANK_ALONE.search(row) or ("." not in row and _LOOSE_COMMA.search(row)))


def _without_loads(row: str) -> str:
    """Return a row of the bus table with 0 in the place of its loads."""
    column = count()
    return _TOKEN.sub(lambda token: "0" if next(column) in _LOADS else token[0], row)


def _number(token: str) -> float:
    """Return a number as MATLAB reads it: no digit separators, and digits of ASCII alone."""
    if "_" in token or not token.isascii():
        raise ValueError(token)
    return float(token)


def _bad_numbers(name: str, rows: list[list[str]], lines: list[int]) -> Iterator[Problem]:
    """Yield a problem for each token that is no number.

    None of the bus table is quoted: where columns are shifted, any may be a load.
    """
    names = COLUMNS[name]
    secret = name in {table for table, _ in LOAD_COLUMNS}
    for i, row in enumerate(rows):
        for j, token in enumerate(row):
            try:
                _number(token)
            except ValueError:
                column = names[j] if j < len(names) else str(j + 1)
                reason = "not a number" if secret else f"{token[:40]!r} is not a number"
                value = None if secret else token
                yield Problem(
                    ProblemKind.NOT_A_NUMBER, reason, name, i + 1, column, value, lines[i]
                )


def _excerpt(code: str) -> str:
    """Return a quoted beginning of some code, its numbers masked: they may be raw loads."""
    plain = "".join("0" if c.isnumeric() else c for c in code.strip()[:_LONGEST])
    shown = _NUMBER.sub("#", plain)[:40]
    return repr(shown.encode("utf-8", "replace").decode())
