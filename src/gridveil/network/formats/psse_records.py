"""Records of a PSS/E raw file (versions 33 to 35) with their places.

Sections follow each other in a fixed order; each ends with a line that begins with 0. A record is a
line of fields between commas; that of a transformer takes four lines, or five with three windings.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gridveil.network.formats.text_cells import Cell
from gridveil.network.problems import CaseError, Problem, ProblemKind

VERSIONS = (33, 34, 35)
_FIRST = ("bus", "load", "fixed shunt", "generator", "branch")
_LAST = (
    "transformer", "area", "two-terminal DC line", "VSC DC line", "impedance correction",
    "multi-terminal DC line", "multi-section line", "zone", "inter-area transfer", "owner",
    "FACTS device", "switched shunt", "GNE device", "induction machine",
)  # fmt: skip
SECTIONS: Mapping[int, tuple[str, ...]] = {
    33: (*_FIRST, *_LAST),
    34: ("system-wide", *_FIRST, "switching device", *_LAST),
    35: ("system-wide", *_FIRST, "switching device", *_LAST, "substation"),
}
"""The sections of each version in their order."""
_FIELD = re.compile(r"\s*('(?:[^'\n]*)'|\"[^\"\n]*\"|[^,/\n'\"]*)\s*(?:,|/|$)")
_END = re.compile(r"\s*0\s*(/|$)|\s*Q\s*$", re.IGNORECASE)
_HEADER_LINES = 3
_NVHI, _NVLO = 9, 10
"""Fields of a bus."""
_LOAD_FIELDS = {"p": (5, 7, 9), "q": (6, 8, 10)}
"""Fields of a load: constant power, current and admittance."""


@dataclass(frozen=True)
class Record:
    """One record: its fields with their places in the text."""

    line: int
    fields: tuple[tuple[str, int, int], ...] = field(repr=False)

    def __getitem__(self, position: int) -> str:
        """Return a field without quotes and blanks; nothing where the record is shorter."""
        if position >= len(self.fields):
            return ""
        return self.fields[position][0].strip().strip("'\"").strip()


@dataclass(frozen=True)
class RawFile:
    """A raw file: its version, its base, and the records of each section."""

    version: int
    base_mva: float
    sections: Mapping[str, tuple[Record, ...]] = field(repr=False)

    def load_key(self, record: Record) -> str:
        """Return by which key an owner knows a load."""
        return f"bus {record[0]} load {record[1]}"

    def load_cells(self) -> Iterator[Cell]:
        """Yield the places of all parts of the power of loads."""
        for record in self.sections["load"]:
            for column, positions in _LOAD_FIELDS.items():
                for position in positions:
                    if position < len(record.fields):
                        text, start, end = record.fields[position]
                        yield Cell(start, end, self.load_key(record), column, text)


def parse_raw(path: Path, text: str) -> RawFile:
    """Split a raw file into its sections.

    Raises:
        CaseError: It is no raw file of these versions, or ends before its sections do.
    """
    lines = text.split("\n")
    version, base_mva = _header(path, lines[0])
    names = list(SECTIONS[version])
    found: dict[str, list[Record]] = {name: [] for name in names}
    offset = sum(len(line) + 1 for line in lines[:_HEADER_LINES])
    section = 0
    for number, line in enumerate(lines[_HEADER_LINES:], _HEADER_LINES + 1):
        if section == len(names):
            break
        if line.lstrip().startswith("@!") or not line.strip():
            pass
        elif _END.match(line):
            section = len(names) if line.strip().upper().startswith("Q") else section + 1
        else:
            found[names[section]].append(_record(line, number, offset))
        offset += len(line) + 1
    ended = section == len(names) or section > names.index("transformer")
    if not ended:
        reason = (
            f"the file ends within the {names[section]} data: it is cut off (each section ends "
            "with a line that begins with 0)"
        )
        raise CaseError(path, [Problem(ProblemKind.MISSING, reason, line=len(lines))])
    return RawFile(version, base_mva, {name: tuple(rows) for name, rows in found.items()})


def voltage_limits(raw: RawFile) -> dict[int, tuple[float, float]]:
    """Return the normal voltage limits of the buses that have them, NVLO and NVHI in p.u."""
    found = {}
    for record in raw.sections["bus"]:
        low, high = record[_NVLO], record[_NVHI]
        if _is_number(low) and _is_number(high) and 0 <= float(low) < float(high):
            found[int(record[0])] = float(low), float(high)
    return found


def transformers(raw: RawFile) -> Iterator[Record]:
    """Yield the first line of each transformer."""
    records, at = raw.sections["transformer"], 0
    while at < len(records):
        yield records[at]
        at += 4 if records[at][2] in ("", "0") else 5


def check_buses(path: Path, raw: RawFile) -> None:
    """Refuse records at buses that do not exist: PowSyBl would leave them out without a word."""
    known = {record[0] for record in raw.sections["bus"]}
    at_one = ("load", "fixed shunt", "generator", "switched shunt")
    ends: dict[str, tuple[int, ...]] = dict.fromkeys(at_one, (0,))
    ends["branch"] = (0, 1)
    problems = [
        _unknown(record, name, position)
        for name, positions in ends.items()
        for record in raw.sections[name]
        for position in positions
        if record[position].lstrip("-") not in known
    ]
    for record in transformers(raw):
        problems += [
            _unknown(record, "transformer", position)
            for position in (0, 1, 2)
            if record[position] not in known and not (position == 2 and record[2] in ("", "0"))
        ]
    if not known:
        problems.append(Problem(ProblemKind.MISSING, "it has no bus"))
    if problems:
        raise CaseError(path, problems)


def numbers_that_are_text(path: Path, raw: RawFile) -> None:
    """Refuse fields without quotes that are no numbers, with their lines."""
    problems = [
        Problem(ProblemKind.NOT_A_NUMBER, f"{name} data: field {i} is not a number", line=r.line)
        for name, records in raw.sections.items()
        if name in (*_FIRST, "transformer", "switched shunt")
        for r in records
        for i, (text, _, _) in enumerate(r.fields, 1)
        if text.strip() and text.strip()[0] not in "'\"" and not _is_number(text)
    ]
    if problems:
        raise CaseError(path, problems)


def _unknown(record: Record, name: str, position: int) -> Problem:
    number = record[position][:20]
    reason = f"{name} data: there is no bus {number} in the bus data"
    return Problem(ProblemKind.UNKNOWN_BUS, reason, line=record.line)


def _header(path: Path, line: str) -> tuple[int, float]:
    """Return version and base of the first line, `IC, SBASE, REV, …`."""
    fields = [part.strip() for part in line.split("/")[0].split(",")]
    try:
        base_mva, version = float(fields[1] or 100.0), int(float(fields[2]))
    except (IndexError, ValueError):
        reason = "the first line of a PSS/E raw file is 'IC, SBASE, REV, …', three numbers or more"
        raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason, line=1)]) from None
    if version not in VERSIONS:
        reason = f"version {version} of PSS/E's raw format: 33, 34 and 35 are read"
        raise CaseError(path, [Problem(ProblemKind.UNSUPPORTED, reason, line=1)])
    if not 0 < base_mva < float("inf"):
        reason = "SBASE, the base in MVA, must be above 0"
        raise CaseError(path, [Problem(ProblemKind.OUT_OF_RANGE, reason, line=1)])
    return version, base_mva


def _record(line: str, number: int, offset: int) -> Record:
    fields, at = [], 0
    while at <= len(line):
        match = _FIELD.match(line, at)
        if match is None:
            break
        fields.append((match[1], offset + match.start(1), offset + match.end(1)))
        if match.end() >= len(line) or line[match.end() - 1] == "/":
            break
        at = match.end()
    return Record(number, tuple(fields))


def _is_number(text: str) -> bool:
    try:
        return float(text.strip().replace("D", "E")) == float(text.strip().replace("D", "E"))
    except ValueError:
        return False
