"""A grid in PowSyBl's model as data frames, and the buses of its bus view.

PowSyBl reads PSS/E, CGMES, UCTE-DEF, IEEE-CDF and its own files into one model (IIDM). Its data
frames are taken, not its export to MATPOWER, which loses voltage limits and scales ratings.
Switches and node-breaker topology are resolved by its bus view: what closed switches connect is one
bus.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from gridveil.network.formats.case_rows import CaseRows

PLACEHOLDER = 9999.0
"""Limits in MW and MVAr of at least this size stand for none, in PSS/E, IEEE-CDF and IIDM."""
UNLIMITED = 1e9
"""The limit of a generator without any, in MW and MVAr, as pandapower writes it."""
_NUMBERED = re.compile(r"B([1-9][0-9]{0,8})$")
"""What PowSyBl calls the buses of formats that number them."""
LOW_IMPEDANCE = 1e-8
"""Branches of less impedance in p.u. connect their buses as if they were one, as PowSyBl has it."""


@dataclass
class Grid:
    """The data frames of a PowSyBl network, as records, and the case they are turned into."""

    source: Any = field(repr=False)
    """The network of pypowsybl."""
    rows: CaseRows = field(repr=False)
    bus_number: dict[str, int] = field(default_factory=dict)
    """Number in the tables of each bus of the bus view; several are one if nothing is between."""
    public: frozenset[str] = frozenset()
    voltage_limits: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """Limits in p.u. that the source has for its numbered buses, and PowSyBl does not read."""

    def frame(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a data frame, each with its id."""
        frame = getattr(self.source, f"get_{name}")(all_attributes=True)
        return [
            {"id": str(key), **row}
            for key, row in zip(frame.index, frame.to_dict("records"), strict=True)
        ]

    @cached_property
    def widest_reactive_limits(self) -> dict[str, tuple[float, float]]:
        """The least and the largest reactive power on each element's capability curve."""
        points = self.source.get_reactive_capability_curve_points()
        by_element = points.groupby(level=0)
        low, high = by_element["min_q"].min(), by_element["max_q"].max()
        return {str(key): (float(low[key]), float(high[key])) for key in low.index}

    def extension(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of an extension, each with the id of its element."""
        frame = self.source.get_extensions(name)
        return [
            {"id": str(key), **row}
            for key, row in zip(frame.index, frame.to_dict("records"), strict=True)
        ]

    def is_public(self, kind: str) -> bool:
        """Return whether the owner declared this kind of fixed injection public."""
        return kind in self.public

    @cached_property
    def nominal_kv(self) -> dict[str, float]:
        """Nominal voltage of each voltage level."""
        return {row["id"]: float(row["nominal_v"]) for row in self.frame("voltage_levels")}

    @cached_property
    def level_bus(self) -> dict[str, int]:
        """The number of one bus of each voltage level, for what is connected to none."""
        found: dict[str, int] = {}
        for row in self.frame("buses"):
            found.setdefault(row["voltage_level_id"], self.bus_number[row["id"]])
        return found

    @property
    def base_mva(self) -> float:
        """The base of per unit."""
        return self.rows.base_mva

    def impedance_base(self, kv: float) -> float:
        """Return the base impedance in Ω at a voltage."""
        return kv**2 / self.base_mva

    def new_bus(self, kv: float) -> int:
        """Add a bus that the bus view does not have, without voltage limits."""
        number = self._next_number
        self._next_number += 1
        self.rows.add_bus(number, kv, 0.0, 2.0)
        return number

    def add_buses(self, joined: Iterable[tuple[str, str]]) -> None:
        """Add the buses of the bus view; `joined` are pairs that are one bus."""
        buses, levels = self.frame("buses"), {r["id"]: r for r in self.frame("voltage_levels")}
        group = _groups([row["id"] for row in buses], joined)
        numbers = self._numbers(buses, group)
        unlimited: list[str] = []
        for row in buses:
            self.bus_number[row["id"]] = numbers[group[row["id"]]]
            if group[row["id"]] != row["id"]:
                continue
            level = levels[row["voltage_level_id"]]
            kv = float(level["nominal_v"])
            low, high = (float(level[f"{side}_voltage_limit"]) / kv for side in ("low", "high"))
            low, high = self.voltage_limits.get(numbers[row["id"]], (low, high))
            if np.isnan(low) or np.isnan(high):
                unlimited.append(f"bus {numbers[row['id']]}")
            self.rows.add_bus(numbers[row["id"]], kv, low, high)
        self._next_number = max(numbers.values(), default=0) + 1
        self.rows.note(unlimited, "without voltage limits in the source: 0.9 and 1.1 p.u.")

    def _numbers(self, buses: list[dict[str, Any]], group: dict[str, str]) -> dict[str, int]:
        """Return the number of each group: the source's own where all buses have one."""
        found: dict[str, int] = {}
        frame = self.source.get_bus_breaker_view_buses(all_attributes=True)
        for key, bus in zip(frame.index, frame["bus_id"], strict=True):
            match = _NUMBERED.match(str(key))
            if match and bus in group:
                root = group[bus]
                found[root] = min(int(match[1]), found.get(root, int(match[1])))
        roots = dict.fromkeys(group[row["id"]] for row in buses)
        if all(root in found for root in roots):
            return found
        return {root: number for number, root in enumerate(roots, 1)}


def bounded(limit: float) -> float:
    """Return a limit, ±10⁹ where it only stands for none: solvers need a finite one.

    Example:
        >>> bounded(-1.7976931348623157e308), bounded(250.0)
        (-1000000000.0, 250.0)
    """
    return float(np.copysign(UNLIMITED, limit)) if abs(limit) >= PLACEHOLDER else float(limit)


def _groups(ids: list[str], joined: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for each bus the first of those it is one with."""
    root = {key: key for key in ids}

    def find(key: str) -> str:
        while root[key] != key:
            key = root[key]
        return key

    order = {key: i for i, key in enumerate(ids)}
    for one, other in joined:
        first, second = sorted((find(one), find(other)), key=order.__getitem__)
        root[second] = first
    return {key: find(key) for key in ids}
