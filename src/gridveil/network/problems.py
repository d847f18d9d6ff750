"""What can be wrong with a case, as data: component, row, field and value, each with its line."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gridveil.errors import GridveilError

SHOWN = 20
"""How many problems an error prints; `CaseError.problems` holds them all."""


class ProblemKind(StrEnum):
    """The kinds of problem, for programs that treat them differently."""

    NOT_A_CASE = "not a case file"
    SYNTAX = "a line that cannot be read"
    MISSING = "something missing"
    SHAPE = "wrong number of rows or columns"
    NOT_A_NUMBER = "not a number"
    OUT_OF_RANGE = "a value out of range"
    DUPLICATE = "a duplicate"
    UNKNOWN_BUS = "a bus that does not exist"
    BOUNDS_CROSSED = "bounds crossed"
    ZERO_IMPEDANCE = "zero impedance"
    NO_COST = "no generator cost"
    REFERENCE = "missing or doubled reference bus"
    DISCONNECTED = "disconnected load"
    UNSUPPORTED = "not supported"


@dataclass(frozen=True)
class Problem:
    """One problem of a case; `str()` of it is a sentence without the file name."""

    kind: ProblemKind
    reason: str
    """What is wrong and, where it is not obvious, what to do."""
    component: str = ""
    """The table of the case file: bus, gen, gencost or branch."""
    row: int | None = None
    """Row in that table, from 1."""
    field: str = ""
    """Column name as MATPOWER's manual spells it."""
    value: object = None
    line: int | None = None
    """Line in the file, from 1."""

    def __str__(self) -> str:
        row = f"{self.component} row {self.row}" if self.row is not None else self.component
        place = ", ".join(part for part in (row, self.field and f"column {self.field}") if part)
        return f"{place}: {self.reason}" if place else self.reason


class CaseError(GridveilError):
    """A case that cannot be used, with everything that is wrong with it."""

    def __init__(self, source: str | Path, problems: Sequence[Problem]) -> None:
        self.source = str(source)
        self.problems = tuple(problems)
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [
            f"{self.source}{f':{p.line}' if p.line is not None else ''}: {p}"
            for p in self.problems[:SHOWN]
        ]
        if len(self.problems) > SHOWN:
            lines.append(f"… and {len(self.problems) - SHOWN} more problems")
        return "\n".join(lines)
