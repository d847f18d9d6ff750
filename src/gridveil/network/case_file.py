"""A case as a file holds it: its text, and its tables in MATPOWER's columns and units.

Every table knows the place of each of its rows in the text, so that a message can name the line and
a saved file differs from its source in the changed cells only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from gridveil.arrays import FloatArray, Index, IntArray
from gridveil.network.problems import Problem, ProblemKind
from gridveil.network.source_loads import SourceLoad

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

NO_COST = (2.0, 0.0, 0.0, 1.0, 0.0)
"""The row of gencost of a generator without a cost: a polynomial whose only number is 0."""

LOAD_COLUMNS = {("bus", "Pd"), ("bus", "Qd")}
"""The columns whose values no message may show."""


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

    def problem(
        self, kind: ProblemKind, row: Index, name: str, value: object, reason: str
    ) -> Problem:
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
    others: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What it assigns to fields that every case does not have, as text without comments."""
    loads: tuple[SourceLoad, ...] | None = field(default=None, repr=False)
    """Its loads one by one, where the bus table has their sums; None where each bus has one."""


@dataclass(frozen=True)
class Edit:
    """A new value for one cell of a table, its row from 0, its column by name or from 0."""

    table: str
    row: int
    column: str | int
    value: float
