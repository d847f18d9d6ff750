"""Lines, transformers and boundary lines of PowSyBl's model as branches of a case.

PowSyBl has impedances in Ω and admittances in S, with voltages in kV at either end. A two-winding
transformer is an ideal one at side 1, of ratio ρ and angle α, then admittances to ground and a
series impedance at the voltage of side 2. A line between levels of different nominal voltage is the
same with ρ = 1. A three-winding transformer is three of them around a star.
"""

import cmath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.errors import GridveilError
from gridveil.network.formats.case_rows import FixedInjection, named
from gridveil.network.formats.powsybl.grid import LOW_IMPEDANCE, Grid

_UNLIMITED = 1e6
"""Currents in A, and powers in MVA, from which a limit is none."""


@dataclass(frozen=True)
class Branch:
    """A branch in Ω, S and kV: an ideal transformer at side 1, then a π."""

    id: str
    buses: tuple[int | None, int | None]
    """None where an end is open."""
    kv: tuple[float, float]
    """Nominal voltages."""
    impedance: complex
    ratio: complex
    """Voltage behind the ideal transformer over that of side 1."""
    shunts: tuple[complex, complex]
    """Admittances to ground, that of side 1 behind the ideal transformer."""
    rate_mva: float = 0.0


def add_lines(grid: Grid) -> None:
    """Add lines, and the halves of tie lines around a boundary bus."""
    rates = ratings(grid)
    for row in grid.frame("lines"):
        if not _is_low_impedance(grid, row):
            add_branch(grid, _line(grid, row, rates))
    boundary = {row["id"]: row for row in grid.frame("boundary_lines")}
    for row in grid.frame("tie_lines"):
        halves = [boundary[row[f"boundary_line{side}_id"]] for side in (1, 2)]
        middle = grid.new_bus(grid.nominal_kv[halves[0]["voltage_level_id"]])
        for half in halves:
            add_branch(grid, _boundary_line(grid, half, middle, rates))


def add_boundary_lines(grid: Grid) -> None:
    """Add lines that lead out of the network, with a fixed injection at their far end."""
    rates = ratings(grid)
    generation = {row["id"]: row for row in grid.frame("boundary_lines_generation")}
    regulating = [k for k, row in generation.items() if row.get("voltage_regulator_on") is True]
    if regulating:
        raise GridveilError(
            f"boundary line {named(regulating)}: generation that holds the voltage at a boundary "
            "is not supported; replace it by a generator, or switch its regulation off"
        )
    for row in grid.frame("boundary_lines"):
        if row["paired"]:
            continue
        near = grid.bus_number.get(row["bus_id"]) if row["connected"] else None
        at = grid.level_bus.get(row["voltage_level_id"], 0)
        if near is not None:
            at = grid.new_bus(grid.nominal_kv[row["voltage_level_id"]])
            add_branch(grid, _boundary_line(grid, row, at, rates))
        own = generation.get(row["id"], {})
        p, q = (_number(row[f"{x}0"]) - _number(own.get(f"target_{x}", 0.0)) for x in "pq")
        injection = FixedInjection(at, f"boundary line {row['id']}", p, q, str(row["name"]))
        grid.rows.add_injection(injection, grid.is_public("boundary"), near is not None)


def add_two_winding_transformers(grid: Grid) -> None:
    """Add transformers with two windings, at their present taps."""
    rates = ratings(grid)
    for row in grid.frame("2_windings_transformers"):
        admittance = complex(row["g_at_current_tap"], row["b_at_current_tap"])
        add_branch(
            grid,
            Branch(
                id=row["id"],
                buses=(_bus(grid, row, "1"), _bus(grid, row, "2")),
                kv=(_kv(grid, row, "1"), _kv(grid, row, "2")),
                impedance=complex(row["r_at_current_tap"], row["x_at_current_tap"]),
                ratio=cmath.rect(row["rho"], np.radians(row["alpha"])),
                shunts=(admittance, 0.0),
                rate_mva=rates.get(row["id"], 0.0),
            ),
        )


def add_three_winding_transformers(grid: Grid) -> None:
    """Add transformers with three windings as three branches to a new bus, their star."""
    rates, added = ratings(grid), []
    for row in grid.frame("3_windings_transformers"):
        star_kv = float(row["rated_u0"])
        legs = [side for side in "123" if _bus(grid, row, side) is not None]
        if len(legs) < 2:
            grid.rows.note([f"three-winding transformer {row['id']}"], "open: left out")
            continue
        star = grid.new_bus(star_kv)
        added.append(f"three-winding transformer {row['id']}")
        for side in "123":
            add_branch(
                grid,
                Branch(
                    id=f"{row['id']}, winding {side}",
                    buses=(_bus(grid, row, side), star),
                    kv=(_kv(grid, row, side), star_kv),
                    impedance=complex(
                        row[f"r{side}_at_current_tap"], row[f"x{side}_at_current_tap"]
                    ),
                    ratio=cmath.rect(row[f"rho{side}"], np.radians(row[f"alpha{side}"])),
                    shunts=(
                        complex(row[f"g{side}_at_current_tap"], row[f"b{side}_at_current_tap"]),
                        0.0,
                    ),
                    rate_mva=rates.get(f"{row['id']} {side}", 0.0),
                ),
            )
    grid.rows.note(added, "as three branches around a star bus of its own")


def joined_buses(grid: Grid) -> Iterator[tuple[str, str]]:
    """Yield pairs of buses with a line of no impedance between them."""
    for row in grid.frame("lines"):
        if row["bus1_id"] and row["bus2_id"] and _is_low_impedance(grid, row):
            yield row["bus1_id"], row["bus2_id"]


def add_branch(grid: Grid, branch: Branch) -> None:
    """Add a branch in p.u.; one that is open at an end is an admittance to ground."""
    base = grid.impedance_base(branch.kv[1])
    z, near, far = branch.impedance / base, branch.shunts[0] * base, branch.shunts[1] * base
    ratio = branch.kv[1] / (branch.kv[0] * branch.ratio)
    one, other = branch.buses
    if abs(z) < LOW_IMPEDANCE:
        raise GridveilError(
            f"{branch.id}: a transformer or line without impedance is not supported here; give it "
            "a small reactance"
        )
    if one is not None and other is not None:
        grid.rows.add_branch((one, other), z, ratio, (near, far), branch.rate_mva)
    elif one is not None:
        grid.rows.add_shunt(one, (near + _in_series(z, far)) / abs(ratio) ** 2)
    elif other is not None:
        grid.rows.add_shunt(other, far + _in_series(z, near))
    if (one is None) != (other is None):
        grid.rows.note([branch.id], "open at one end: its charging is a shunt at the other")


def ratings(grid: Grid) -> dict[str, float]:
    """Return the limit in MVA of each branch, of each winding "ID 1" of those with three.

    Limits of currents count at nominal voltage, and so do active powers as apparent ones. Only
    permanent limits count, the smaller of both ends.
    """
    kv = _end_voltages(grid)
    found: dict[str, float] = {}
    frame = grid.source.get_loading_limits(all_attributes=True, show_inactive_sets=False)
    for row in frame.reset_index().to_dict("records"):
        element, side = str(row["element_id"]), str(row["side"])
        if row["acceptable_duration"] != -1 or not 0 < row["value"] < _UNLIMITED:
            continue
        ends = kv.get(element)
        if ends is None:
            continue
        at = {"TWO": 1, "THREE": 2}.get(side, 0)
        mva = float(row["value"])
        if row["type"] == "CURRENT":
            mva *= np.sqrt(3) * ends[at] / 1000
        key = f"{element} {at + 1}" if len(ends) == 3 else element
        found[key] = min(mva, found.get(key, mva))
    return found


def _end_voltages(grid: Grid) -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {}
    for name, sides in (
        ("lines", "12"), ("2_windings_transformers", "12"), ("3_windings_transformers", "123"),
    ):  # fmt: skip
        for row in grid.frame(name):
            found[row["id"]] = tuple(_kv(grid, row, side) for side in sides)
    for row in grid.frame("boundary_lines"):
        found[row["id"]] = (grid.nominal_kv[row["voltage_level_id"]],)
    return found


def _line(grid: Grid, row: dict[str, Any], rates: dict[str, float]) -> Branch:
    return Branch(
        id=row["id"],
        buses=(_bus(grid, row, "1"), _bus(grid, row, "2")),
        kv=(_kv(grid, row, "1"), _kv(grid, row, "2")),
        impedance=complex(row["r"], row["x"]),
        ratio=1.0,
        shunts=(complex(row["g1"], row["b1"]), complex(row["g2"], row["b2"])),
        rate_mva=rates.get(row["id"], 0.0),
    )


def _boundary_line(
    grid: Grid, row: dict[str, Any], far_bus: int, rates: dict[str, float]
) -> Branch:
    kv = grid.nominal_kv[row["voltage_level_id"]]
    return Branch(
        id=row["id"],
        buses=(grid.bus_number.get(row["bus_id"]) if row["connected"] else None, far_bus),
        kv=(kv, kv),
        impedance=complex(row["r"], row["x"]),
        ratio=1.0,
        shunts=(complex(row["g"], row["b"]), 0j),  # all of it at the near end
        rate_mva=rates.get(row["id"], 0.0),
    )


def _is_low_impedance(grid: Grid, row: dict[str, Any]) -> bool:
    one, other = _kv(grid, row, "1"), _kv(grid, row, "2")
    z = abs(complex(row["r"], row["x"])) / grid.impedance_base(other)
    return one == other and z < LOW_IMPEDANCE


def _bus(grid: Grid, row: dict[str, Any], side: str) -> int | None:
    return grid.bus_number.get(row[f"bus{side}_id"]) if row[f"connected{side}"] else None


def _kv(grid: Grid, row: dict[str, Any], side: str) -> float:
    return grid.nominal_kv[row[f"voltage_level{side}_id"]]


def _in_series(impedance: complex, admittance: complex) -> complex:
    """Return the admittance of an impedance and an admittance to ground one after the other."""
    return admittance / (1 + impedance * admittance)


def _number(value: object) -> float:
    return 0.0 if value is None or value != value else float(value)  # type: ignore[arg-type]
