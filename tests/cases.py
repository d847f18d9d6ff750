"""Small cases written for the tests, and where the shared ones are."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gridveil.network.case_file import REQUIRED_COLUMNS
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.from_case import network_from_case, network_from_tables
from gridveil.network.library import find_case
from gridveil.network.network import Network
from gridveil.network.source_loads import SourceLoad

NESTA = Path(os.environ.get("GRIDVEIL_NESTA", Path(__file__).parents[2] / "shared" / "nesta"))
needs_nesta = pytest.mark.skipif(
    not NESTA.is_dir(), reason="the NESTA cases are third-party data and not in this repository"
)

ISOLATED_LOADS = NESTA / "nesta_case1397sp_eir.m"
"""The one file with loads on isolated buses, which are out of service with them."""
NESTA_FILES = sorted(NESTA.glob("*.m"))

Row = Sequence[float | str]


@dataclass(frozen=True)
class Case:
    """The tables of a case, as rows; `text()` spells them as a file."""

    bus: Sequence[Row]
    gen: Sequence[Row]
    branch: Sequence[Row]
    gencost: Sequence[Row]
    base_mva: float | str = 100.0
    extra: str = ""

    def text(self) -> str:
        return "\n".join(
            [
                "function mpc = tiny",
                "mpc.version = '2';",
                f"mpc.baseMVA = {self.base_mva};",
                *(
                    table
                    for name in ("bus", "gen", "gencost", "branch")
                    for table in _table(name, _padded(name, getattr(self, name)))
                ),
                self.extra,
            ]
        )

    def network(self) -> Network:
        case = parse_matpower(self.text(), "tiny.m", "tiny")
        assert check_case(case) == []
        return build_network(case)

    def with_(self, **tables: object) -> "Case":
        return replace(self, **tables)  # type: ignore[arg-type]

    def with_cell(self, table: str, row: int, column: int, value: float | str) -> "Case":
        """Return the case with one cell changed (row and column from 0)."""
        rows = [list(r) for r in getattr(self, table)]
        rows[row][column] = value
        return replace(self, **{table: rows})


def bus(number: int, kind: int, p: float = 0.0, q: float = 0.0, g: float = 0.0, b: float = 0.0):
    return [number, kind, p, q, g, b, 1, 1.0, 0.0, 230.0, 1, 1.1, 0.9]


def gen(at: int, p_max: float, q: float = 200.0, p_min: float = 0.0, status: int = 1):
    return [at, 0.0, 0.0, q, -q, 1.0, 100.0, status, p_max, p_min]


def line(
    start: int, end: int, r=0.01, x=0.1, b=0.02, rate=0.0, tap=0.0, shift=0.0, status=1, angle=30.0
):
    return [start, end, r, x, b, rate, 0.0, 0.0, tap, shift, status, -angle, angle]


def polynomial(*coefficients: float):
    return [2, 0.0, 0.0, len(coefficients), *coefficients]


def in_parts(network: Network, shares: Sequence[float] = (0.4, 0.6)) -> Network:
    """Return a network whose loads are several at their bus, which together draw the same."""
    tables = {name: network.case.tables[name].values.copy() for name in REQUIRED_COLUMNS}
    columns = (tables["bus"][network.loads.row, at].tolist() for at in (2, 3))
    loads = [
        SourceLoad(bus, f"load {len(shares) * i + k}", share * p, share * q)
        for i, (bus, p, q) in enumerate(zip(network.load_buses, *columns, strict=True))
        for k, share in enumerate(shares)
    ]
    tables["bus"][:, 2:4] = 0.0
    return network_from_tables(tables, network.base_mva, network.name, None, loads)


TINY = Case(
    bus=[bus(1, 3), bus(2, 1, 80.0, 20.0), bus(7, 2, 50.0, 10.0)],
    gen=[gen(1, 200.0), gen(7, 100.0)],
    branch=[line(1, 2, rate=150.0), line(2, 7), line(1, 7)],
    gencost=[polynomial(0.02, 10.0, 5.0), polynomial(0.01, 20.0, 0.0)],
)
"""Three buses in a triangle, two generators, two loads."""


def without_costs(name: str) -> str:
    """Return the text of a case by name without its table of costs."""
    text = find_case(name).read_text()
    return re.sub(r"mpc\.gencost\s*=\s*\[[^\]]*\];", "", text)


def network_without_costs(name: str) -> Network:
    """Return the network of a case by name, in a file without costs."""
    return network_from_case(parse_matpower(without_costs(name), f"{name}.m", name))


def _padded(name: str, rows: Sequence[Row]) -> Sequence[Row]:
    """Fill costs of different lengths up with zeros, as case files do."""
    if name != "gencost":
        return rows
    width = max((len(row) for row in rows), default=0)
    return [[*row, *(0.0,) * (width - len(row))] for row in rows]


def _table(name: str, rows: Iterable[Row]) -> list[str]:
    spelled = ["\t" + "\t".join(str(value) for value in row) + ";" for row in rows]
    return [f"mpc.{name} = [", *spelled, "];"]
