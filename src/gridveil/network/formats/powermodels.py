"""PowerModels' JSON: the data of a network as dictionaries of components."""

import cmath
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from gridveil.files import read_file, write_atomically
from gridveil.network.conversion import ISOLATED, PIECEWISE_LINEAR, POLYNOMIAL, REFERENCE
from gridveil.network.formats.base import ReadOnlyFormat, first_bytes
from gridveil.network.formats.case_rows import (
    NO_COST,
    CaseRows,
    FixedInjection,
    network_of_rows,
)
from gridveil.network.formats.write_back import released_values
from gridveil.network.network import Network
from gridveil.network.problems import CaseError, Problem, ProblemKind
from gridveil.network.source_loads import SourceLoad

_REQUIRED = ("bus", "gen", "branch", "load")
_REFUSED = {"switch": "switch", "ne_branch": "candidate branch"}
_LOOKED_AT = 1 << 16
_RESULTS = {"bus": {"vm": 1.0, "va": 0.0}, "gen": {"pg": 0.0, "qg": 0.0}}
"""What a power flow fills in, and what stands there before."""
_FLOWS = ("pf", "pt", "qf", "qt")
Component = dict[str, Any]


class Read(Protocol):
    """Reads a number of one component by its name."""

    def __call__(self, name: str, default: float | None = None) -> float:  # noqa: D102
        ...


class PowerModelsFormat(ReadOnlyFormat):
    """PowerModels' JSON files."""

    name = "powermodels"
    suffixes = (".json",)
    injection_kinds = ("storage", "dcline")

    def recognises(self, path: Path) -> bool:
        """Return whether the file begins as a dictionary with fields of PowerModels."""
        start = first_bytes(path, _LOOKED_AT).lstrip()
        fields = (b'"per_unit"', b'"f_bus"', b'"load_bus"', b'"gen_bus"', b'"bus_type"')
        return (
            start.startswith(b"{")
            and b"pandapowerNet" not in start
            and any(field in start for field in fields)
        )

    def read(self, path: Path, load_buses: Sequence[int] | None = None) -> Network:
        """Read a network; a load is known by its index, "load 3"."""
        model = _Model(path, _parsed(path))
        rows = model.rows(self._public)
        return network_of_rows(rows, path, load_buses, model.name)

    def write_back(self, network: Network, source: Path, path: Path) -> list[str]:
        """Write a copy of a file with this network's loads; see `CaseFormat.write_back`."""
        data = _parsed(source)
        model = _Model(source, data)
        loads = {f"load {key}": load for key, load in model.components("load")}
        values, lost = released_values(network, list(loads))
        for key, load in loads.items():
            load["pd"], load["qd"] = (value / model.power for value in values[key])
        for table, fields in _RESULTS.items():
            for _, component in model.components(table):
                component.update({name: v for name, v in fields.items() if name in component})
        for _, branch in model.components("branch"):
            for name in _FLOWS:
                branch.pop(name, None)
        data.pop("solution", None)
        write_atomically(path, json.dumps(data, indent=1).encode())
        return [*lost, "voltages, flows and outputs of generators are cleared"]


class _Model:
    """A parsed file: its components, and numbers of them in MW, degrees and p.u."""

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self.path, self.data = path, data
        self.name = str(data.get("name") or path.stem)
        for table in _REQUIRED:
            if not isinstance(data.get(table), dict):
                raise self._error(ProblemKind.MISSING, f"no dictionary {table!r}")
        if data.get("multinetwork") or "conductors" in data or data.get("data_model"):
            reason = "only single networks with one conductor are read"
            raise self._error(ProblemKind.UNSUPPORTED, reason)
        base = data.get("baseMVA")
        if not isinstance(base, int | float) or not 0 < base < math.inf:
            raise self._error(ProblemKind.OUT_OF_RANGE, "baseMVA must be a number above 0")
        self.base_mva = float(base)
        self.power = self.base_mva if data.get("per_unit", False) else 1.0
        """What turns the file's powers into MW."""
        self.angle = 180 / math.pi if data.get("per_unit", False) else 1.0
        """What turns its angles into degrees."""
        self._all: set[int] = set()

    def components(self, table: str) -> Iterator[tuple[str, Component]]:
        """Yield the components of a kind in the order of their indices."""
        found = self.data.get(table) or {}
        for key in sorted(found, key=_index_order):
            if not isinstance(found[key], dict):
                raise self._error(ProblemKind.SYNTAX, f"{table} {key} is not a dictionary")
            yield key, found[key]

    def number(
        self, table: str, key: str, component: Component, name: str, default: float | None = None
    ) -> float:
        """Return a number of a component; no message shows its value."""
        value = component.get(name, default)
        if value is None and name in component:
            value = default
        if isinstance(value, str) and value.strip().lower() in ("inf", "-inf", "infinity"):
            value = float(value)  # as Julia's JSON may write infinity
        if value is None or isinstance(value, bool | str | list | dict) or math.isnan(value):
            what = "is missing" if name not in component else "is not a number"
            raise self._error(ProblemKind.NOT_A_NUMBER, f"{table} {key}: {name} {what}")
        return float(value)

    def rows(self, public: Sequence[str]) -> CaseRows:
        """Return the rows of a case; these kinds of fixed injections are public."""
        for table, what in _REFUSED.items():
            for key, part in self.components(table):
                if part.get("status", part.get("br_status", 1)):
                    raise self._error(ProblemKind.UNSUPPORTED, f"{what} {key} is not supported")
        rows = CaseRows(self.base_mva)
        self._add_buses(rows)
        self._add_shunts(rows)
        self._add_branches(rows)
        self._add_generators(rows)
        self._add_loads(rows)
        self._add_fixed(rows, public)
        rows.settle_islands(self._references)
        return rows

    def _add_buses(self, rows: CaseRows) -> None:
        self._on: set[int] = set()
        self._references: list[int] = []
        for key, bus in self.components("bus"):
            read = self._reader("bus", key, bus)
            number = int(read("bus_i") if "bus_i" in bus else read("index"))
            if number in self._all:
                raise self._error(ProblemKind.DUPLICATE, f"bus {number} is there twice")
            limits = read("vmin", math.nan), read("vmax", math.nan)
            rows.add_bus(number, read("base_kv", 0.0), *limits)
            kind = read("bus_type", 1.0)
            self._all.add(number)
            if kind != ISOLATED:
                self._on.add(number)
            if kind == REFERENCE:
                self._references.append(number)

    def _add_shunts(self, rows: CaseRows) -> None:
        for _, at, read in self._at_buses("shunt", "shunt_bus", "status"):
            admittance = complex(read("gs", 0.0), read("bs", 0.0))
            rows.add_shunt(at, admittance * self.power / self.base_mva)

    def _add_branches(self, rows: CaseRows) -> None:
        for key, branch in self.components("branch"):
            read = self._reader("branch", key, branch)
            ends = self._bus("branch", key, read("f_bus")), self._bus("branch", key, read("t_bus"))
            if not read("br_status", 1.0) or not self._on.issuperset(ends):
                continue
            shift = math.radians(read("shift", 0.0) * self.angle)
            rows.add_branch(
                ends,
                complex(read("br_r"), read("br_x")),
                cmath.rect(read("tap", 1.0) or 1.0, shift) if shift else read("tap", 1.0) or 1.0,
                (
                    complex(read("g_fr", 0.0), read("b_fr", 0.0)),
                    complex(read("g_to", 0.0), read("b_to", 0.0)),
                ),
                read("rate_a", 0.0) * self.power,
                (read("angmin", -math.tau) * self.angle, read("angmax", math.tau) * self.angle),
            )

    def _add_generators(self, rows: CaseRows) -> None:
        for key, at, read in self._at_buses("gen", "gen_bus", "gen_status"):
            p = read("pmin") * self.power, read("pmax") * self.power
            q = read("qmin") * self.power, read("qmax") * self.power
            set_point = read("pg", 0.0) * self.power, read("qg", 0.0) * self.power, read("vg", 1.0)
            rows.add_generator(f"gen {key}", at, p, q, set_point, self._cost(key))

    def _add_loads(self, rows: CaseRows) -> None:
        for key, load in self.components("load"):
            read = self._reader("load", key, load)
            number = self._bus("load", key, read("load_bus"))
            rows.loads.append(
                SourceLoad(
                    number,
                    f"load {key}",
                    read("pd", 0.0) * self.power,
                    read("qd", 0.0) * self.power,
                    bool(read("status", 1.0)) and number in self._on,
                    str(load.get("name") or ""),
                )
            )

    def _add_fixed(self, rows: CaseRows, public: Sequence[str]) -> None:
        """Add what has a set power: storage, and both ends of DC lines."""
        names = []
        for key, at, read in self._at_buses("storage", "storage_bus", "status"):
            p, q = read("ps", 0.0) * self.power, read("qs", 0.0) * self.power
            injection = FixedInjection(at, f"storage {key}", p, q)
            rows.add_injection(injection, "storage" in public)
            names.append(f"storage {key}")
        for key, line in self.components("dcline"):
            read = self._reader("dcline", key, line)
            if not read("br_status", 1.0):
                continue
            names.append(f"dcline {key}")
            for side, (end, power) in enumerate((("f_bus", "f"), ("t_bus", "t")), 1):
                at = self._bus("dcline", key, read(end))
                p, q = read(f"p{power}", 0.0) * self.power, read(f"q{power}", 0.0) * self.power
                injection = FixedInjection(at, f"dcline {key} end {side}", p, q)
                rows.add_injection(injection, "dcline" in public)
        rows.note(names, "as fixed injections of the power it is set to")

    def _cost(self, key: str) -> Sequence[float]:
        """Return a row of the gencost table."""
        gen = self.data["gen"][key]
        cost = gen.get("cost")
        if not cost:
            return NO_COST
        if not isinstance(cost, list) or not all(_is_finite(value) for value in cost):
            raise self._error(ProblemKind.NOT_A_NUMBER, f"gen {key}: cost is not a list of numbers")
        if gen.get("model", POLYNOMIAL) == POLYNOMIAL:
            n = len(cost)
            values = [c / self.power ** (n - 1 - i) for i, c in enumerate(cost)]
            return (float(POLYNOMIAL), 0.0, 0.0, float(n), *values)
        points = [c * self.power if i % 2 == 0 else c for i, c in enumerate(cost)]
        return (float(PIECEWISE_LINEAR), 0.0, 0.0, float(len(points) // 2), *points)

    def _at_buses(self, table: str, bus: str, status: str) -> Iterator[tuple[str, int, Read]]:
        """Yield the components in service at buses in service."""
        for key, component in self.components(table):
            read = self._reader(table, key, component)
            at = self._bus(table, key, read(bus))
            if read(status, 1.0) and at in self._on:
                yield key, at, read

    def _bus(self, table: str, key: str, number: float) -> int:
        if number not in self._all:
            reason = f"{table} {key}: there is no bus {number:.15g}"
            raise self._error(ProblemKind.UNKNOWN_BUS, reason)
        return int(number)

    def _reader(self, table: str, key: str, component: Component) -> Read:
        return lambda name, default=None: self.number(table, key, component, name, default)

    def _error(self, kind: ProblemKind, reason: str) -> CaseError:
        return CaseError(self.path, [Problem(kind, reason)])


def _parsed(path: Path) -> dict[str, Any]:
    """Return the contents of a JSON file; no message shows any of it."""
    try:
        data = json.loads(read_file(path))
    except json.JSONDecodeError as error:
        line, reason = error.lineno, f"this is not complete JSON: {error.msg}"
    except (UnicodeDecodeError, RecursionError):
        line, reason = None, "this is not JSON in UTF-8"
    else:
        if isinstance(data, dict):
            return data
        line, reason = 1, "this is JSON, but not a dictionary of components"
    raise CaseError(path, [Problem(ProblemKind.NOT_A_CASE, reason, line=line)])


def _index_order(key: str) -> tuple[bool, int, str]:
    return (not key.isdecimal(), int(key) if key.isdecimal() else 0, key)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
