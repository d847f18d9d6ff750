"""The generators of a pandapower net: what it feeds in by choice, within limits and at costs.

These are external grids, generators, and the static generators, loads and storages that are
controllable. A limit that is missing comes from the rating of the element (sn_mva) or, at a bus
without a load, from the ratings of the branches there.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.errors import GridveilError
from gridveil.network.conversion import PIECEWISE_LINEAR, POLYNOMIAL
from gridveil.network.formats.pandapower_topology import Topology

_FLEXIBLE = {"sgen": 1, "load": -1, "storage": -1}
"""Tables whose controllable elements are generators, and the sign of what they feed in."""
_FREE = (POLYNOMIAL, 0.0, 0.0, 1.0, 0.0)
"""The cost row of what costs nothing."""
_LIMITS = ("min_p_mw", "max_p_mw", "min_q_mvar", "max_q_mvar")


@dataclass(frozen=True)
class SourceGenerator:
    """What a source says of one generator."""

    row: int
    """The row of its bus."""
    key: str
    """Its table and index: "gen 3"."""
    p: tuple[float, float]
    """Its limits of active power in MW."""
    q: tuple[float, float]
    """Its limits of reactive power in MVAr."""
    in_service: bool = True
    cost: tuple[float, ...] = _FREE
    """Its row of the gencost table."""
    voltage: float | None = None
    """The voltage it holds in p.u., None where it is free within the limits of the bus."""
    v_limits: tuple[float, float] = (-np.inf, np.inf)
    """Its own limits of the voltage."""
    reference: bool = False
    """Whether it can be the reference of an island."""


def flexible_keys(net: Any) -> frozenset[str]:
    """Return the keys of the static generators, loads and storages that are generators.

    They are controllable, and have limits of active power or a cost.
    """
    costs = _costs(net)
    found = set()
    for table in _FLEXIBLE:
        if "controllable" in net[table].columns:
            for index, element in net[table][net[table].controllable.eq(True)].iterrows():
                if (table, index) in costs or not any(map(np.isnan, _given(element)[:2])):
                    found.add(f"{table} {index}")
    return frozenset(found)


def generators(net: Any, place: Topology, load_rows: Collection[int]) -> list[SourceGenerator]:
    """Return the generators of a net, external grids first.

    Args:
        net: The net.
        place: Where its buses are.
        load_rows: Rows of buses with a load, whose branches tell nothing of a generator there.

    Raises:
        GridveilError: A limit is missing that no rating gives, or a cost cannot be said.
    """
    reader = _Reader(net, place, load_rows)
    found = [*reader.external_grids(), *reader.generators(), *reader.flexible()]
    if reader.missing:
        raise GridveilError(
            "generators have neither limits nor a rating to take them from:\n"
            + "\n".join(reader.missing)
        )
    return [*found, *_extended_wards(net, place), *_dc_line_voltages(net, place)]


class _Reader:
    """Reads the generators of a net and remembers what is missing."""

    def __init__(self, net: Any, place: Topology, load_rows: Collection[int]) -> None:
        self._net, self._place, self._load_rows = net, place, load_rows
        self._costs = _costs(net)
        self.missing: list[str] = []

    def external_grids(self) -> Iterator[SourceGenerator]:
        """Yield external grids; one without limits and ratings is unlimited."""
        for index, grid in self._net.ext_grid.iterrows():
            row = self._row("ext_grid", index, grid.bus)
            rating = self._rating(grid, row)
            limit = np.inf if rating is None else rating
            low_p, high_p, low_q, high_q = _given(grid)
            yield SourceGenerator(
                row,
                f"ext_grid {index}",
                (_or(low_p, -limit), _or(high_p, limit)),
                (_or(low_q, -limit), _or(high_q, limit)),
                bool(grid.in_service),
                self._cost("ext_grid", index),
                voltage=None if _true(grid, "controllable", False) else float(grid.vm_pu),
                reference=True,
            )

    def generators(self) -> Iterator[SourceGenerator]:
        """Yield generators; one that is not controllable has its output and voltage."""
        for index, gen in self._net.gen.iterrows():
            row = self._row("gen", index, gen.bus)
            p, q = self._limits("gen", index, gen, row)
            fixed = not _true(gen, "controllable", True)
            if fixed:
                p = (output := float(gen.p_mw) * float(gen.get("scaling", 1.0)), output)
            slack = _true(gen, "slack", False)
            yield SourceGenerator(
                row,
                f"gen {index}",
                p,
                q,
                bool(gen.in_service),
                self._cost("gen", index),
                voltage=float(gen.vm_pu) if fixed else None,
                v_limits=(
                    _or(_number(gen, "min_vm_pu"), -np.inf),
                    _or(_number(gen, "max_vm_pu"), np.inf),
                ),
                reference=slack,
            )

    def flexible(self) -> Iterator[SourceGenerator]:
        """Yield controllable static generators, loads and storages."""
        keys = flexible_keys(self._net)
        for table, sign in _FLEXIBLE.items():
            for index, element in self._net[table].iterrows():
                if f"{table} {index}" in keys:
                    row = self._row(table, index, element.bus)
                    p, q = self._limits(table, index, element, row)
                    yield SourceGenerator(
                        row,
                        f"{table} {index}",
                        p if sign > 0 else (-p[1], -p[0]),
                        q if sign > 0 else (-q[1], -q[0]),
                        bool(element.in_service),
                        self._cost(table, index, sign),
                    )

    def _row(self, table: str, index: Any, bus: Any) -> int:
        row = self._place.row(bus)
        if row < 0:
            raise GridveilError(f"{table} {index}: there is no bus {bus} in net.bus")
        return row

    def _cost(self, table: str, index: Any, sign: int = 1) -> tuple[float, ...]:
        cost = self._costs.get((table, index))
        return _FREE if cost is None else cost if sign > 0 else _mirrored(cost)

    def _limits(
        self, table: str, index: Any, element: Any, row: int
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the limits of P and Q as the element has them, or its rating does."""
        given = _given(element)
        rating = self._rating(element, row)
        if rating is None:
            if element.in_service and not self._place.isolated[row]:
                self._miss(table, index, given)
            rating = 0.0
        consumes = table == "storage" or float(element.get("p_mw", 0.0)) < 0
        low = -rating if consumes else 0.0
        p_low, p_high, q_low, q_high = given
        return (_or(p_low, low), _or(p_high, rating)), (_or(q_low, -rating), _or(q_high, rating))

    def _miss(self, table: str, index: Any, given: Sequence[float]) -> None:
        names = [name for name, value in zip(_LIMITS, given, strict=True) if np.isnan(value)]
        if names:
            self.missing.append(
                f"{table} {index}: fill {', '.join(names)} in row {index} of net.{table}, or sn_mva"
            )

    def _rating(self, element: Any, row: int) -> float | None:
        """Return the rating of an element, or of the branches at its bus if it has no load."""
        own = _number(element, "sn_mva")
        if own > 0:
            return own
        branches = float(self._place.rating[row])
        return branches if np.isfinite(branches) and row not in self._load_rows else None


def _extended_wards(net: Any, place: Topology) -> Iterator[SourceGenerator]:
    """Yield what holds the voltage inside of extended wards, without active power."""
    for (index, ward), bus in zip(
        net.xward.iterrows(), place.internal.get("xward", ()), strict=True
    ):
        yield SourceGenerator(
            place.row(bus),
            f"xward {index}",
            (0.0, 0.0),
            (-np.inf, np.inf),
            bool(ward.in_service),
            voltage=float(ward.vm_pu),
        )


def _dc_line_voltages(net: Any, place: Topology) -> Iterator[SourceGenerator]:
    """Yield the reactive power at both ends of DC lines, within its limits."""
    for index, line in net.dcline.iterrows():
        for end in ("from", "to"):
            row = place.row(line[f"{end}_bus"])
            low, high = (_number(line, f"{which}_q_{end}_mvar") for which in ("min", "max"))
            limits = _or(low, -np.inf), _or(high, np.inf)
            key = f"dcline {index} {end}"
            yield SourceGenerator(row, key, (0.0, 0.0), limits, bool(line.in_service))


def _costs(net: Any) -> dict[tuple[str, Any], tuple[float, ...]]:
    """Return the gencost row of each element that has one, in its own sign."""
    found: dict[tuple[str, Any], tuple[float, ...]] = {}
    for _, cost in net.poly_cost.iterrows():
        if any(_or(_number(cost, name), 0.0) for name in ("cq1_eur_per_mvar", "cq2_eur_per_mvar2")):
            raise GridveilError(_reactive(cost))
        names = ("cp2_eur_per_mw2", "cp1_eur_per_mw", "cp0_eur")
        _add(found, cost, (POLYNOMIAL, 0.0, 0.0, 3.0, *(_or(_number(cost, n), 0.0) for n in names)))
    for _, cost in net.pwl_cost.iterrows():
        if cost.get("power_type", "p") != "p":
            raise GridveilError(_reactive(cost))
        _add(found, cost, _piecewise(cost))
    return found


def _add(
    found: dict[tuple[str, Any], tuple[float, ...]], cost: Any, row: tuple[float, ...]
) -> None:
    of = (str(cost.et), int(cost.element))
    if of in found:
        raise GridveilError(f"{of[0]} {of[1]} has two costs; keep one in poly_cost or pwl_cost")
    found[of] = row


def _reactive(cost: Any) -> str:
    return (
        f"{cost.et} {cost.element} has a cost of reactive power, which is not supported; set it to "
        "0 or remove it"
    )


def _piecewise(cost: Any) -> tuple[float, ...]:
    """Return the points of a cost that is given as slopes between outputs."""
    points: list[tuple[float, float]] = []
    for low, high, slope in cost.points:
        if not points:
            points.append((float(low), float(low * slope)))
        elif points[-1][0] != low:
            raise GridveilError(f"{cost.et} {cost.element}: the parts of its cost have gaps")
        points.append((float(high), points[-1][1] + float((high - low) * slope)))
    flat = (value for point in points for value in point)
    return (PIECEWISE_LINEAR, 0.0, 0.0, float(len(points)), *flat)


def _mirrored(cost: Sequence[float]) -> tuple[float, ...]:
    """Return the cost of what an element draws as that of what it feeds in."""
    head, values = tuple(cost[:4]), cost[4:]
    if cost[0] == POLYNOMIAL:
        return (*head, *(v * (-1) ** (len(values) - 1 - i) for i, v in enumerate(values)))
    points = list(zip(values[::2], values[1::2], strict=True))
    return (*head, *(value for p, c in reversed(points) for value in (-p, c)))


def _given(element: Any) -> tuple[float, float, float, float]:
    """Return the limits an element has, not a number where there is none."""
    low_p, high_p, low_q, high_q = (_number(element, name) for name in _LIMITS)
    return low_p, high_p, low_q, high_q


def _number(element: Any, name: str) -> float:
    value = element.get(name)
    return np.nan if value is None else float(value)


def _or(value: float, default: float) -> float:
    return default if np.isnan(value) else value


def _true(element: Any, name: str, default: bool) -> bool:
    """Return a flag of an element; not a number means the default."""
    value = element.get(name, default)
    return default if value is None or value != value else bool(value)
