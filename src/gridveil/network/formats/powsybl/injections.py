"""What injects power in PowSyBl's model: loads, generators, compensators, HVDC, batteries.

Powers that are set and not dispatched (HVDC, batteries) are fixed injections. What holds a voltage
without active power of its own (compensators, converters) is a generator of reactive power alone.
"""

import math
from collections.abc import Mapping
from typing import Any

from gridveil.network.formats.case_rows import FixedInjection
from gridveil.network.formats.powsybl.grid import PLACEHOLDER, UNLIMITED, Grid, bounded
from gridveil.network.source_loads import SourceLoad

_EQUIVALENT = "EquivalentInjection"
INJECTION_KINDS = ("dcline", "storage", "boundary", "svc", "injection")
"""What an owner may declare public: HVDC lines, batteries, what flows at boundaries, …"""


def add_loads(grid: Grid, keys: Mapping[str, str]) -> None:
    """Add the loads one by one; what a format calls them otherwise than "load ID" is in `keys`."""
    for row in grid.frame("loads"):
        bus = grid.bus_number.get(row["bus_id"]) if row["connected"] else None
        grid.rows.loads.append(
            SourceLoad(
                bus=grid.level_bus.get(row["voltage_level_id"], 0) if bus is None else bus,
                key=keys.get(row["id"], f"load {row['id']}"),
                p_mw=float(row["p0"]),
                q_mvar=float(row["q0"]),
                in_service=bus is not None,
                name=str(row["name"] or ""),
            )
        )
    for row in grid.frame("buses"):
        p, q = _number(row["fictitious_p0"]), _number(row["fictitious_q0"])
        if p or q:
            number = grid.bus_number[row["id"]]
            injection = FixedInjection(number, f"injection at {row['id']}", p, q)
            grid.rows.add_injection(injection, grid.is_public("injection"))


def add_generators(grid: Grid) -> None:
    """Add generators; limits of active power that the source lacks come from the rating."""
    rated: list[str] = []
    unlimited: list[str] = []
    curved: list[str] = []
    equivalents: list[str] = []
    for row in grid.frame("generators"):
        bus = _bus(grid, row)
        if bus is None:
            continue
        name = row["id"]
        if row.get("CGMES.originalClass") == _EQUIVALENT:
            _add_equivalent(grid, row, bus)
            equivalents.append(f"injection {name}")
            continue
        low, high = bounded(row["min_p"]), bounded(row["max_p"])
        if UNLIMITED in (-low, high):
            size = _number(row["rated_s"])
            is_rated = 0 < size < PLACEHOLDER
            (rated if is_rated else unlimited).append(f"generator {name}")
            if is_rated:
                low = max(low, 0.0 if row["target_p"] >= 0 else -size)
                high = min(high, size)
        if row["reactive_limits_kind"] == "CURVE":
            curved.append(f"generator {name}")
        kv = grid.nominal_kv[row["voltage_level_id"]]
        voltage = _number(row["target_v"]) / kv if row["regulated_element_id"] == name else 1.0
        grid.rows.add_generator(
            name, bus, (low, high), _reactive_limits(grid, row),
            (float(row["target_p"]), _number(row["target_q"]), voltage or 1.0),
        )  # fmt: skip
    grid.rows.note(curved, "with the widest reactive limits of its capability curve")
    grid.rows.note(equivalents, "stands for another network: a fixed injection")
    grid.rows.note(rated, "without limits of active power: its rating is taken")
    grid.rows.note(
        unlimited,
        "without limits of active power in the source, or with 9999 MW, which stands for none: "
        "unlimited; a band of the dispatch needs limits, so fill them in the source",
    )


def _add_equivalent(grid: Grid, row: dict[str, Any], bus: int) -> None:
    """Add what stands for another network, which PowSyBl takes as a generator without room."""
    key, reactive = f"injection {row['id']}", -_number(row["target_q"])
    if row["voltage_regulator_on"]:
        _add_reactive_source(grid, key, bus, _reactive_limits(grid, row))
        reactive = 0.0
    injection = FixedInjection(bus, key, -float(row["target_p"]), reactive, str(row["name"]))
    grid.rows.add_injection(injection, grid.is_public("injection"))


def add_shunts(grid: Grid) -> None:
    """Add shunt compensators with the sections that are on."""
    for row in grid.frame("shunt_compensators"):
        bus = _bus(grid, row)
        if bus is not None:
            base = grid.impedance_base(grid.nominal_kv[row["voltage_level_id"]])
            grid.rows.add_shunt(bus, complex(_number(row["g"]), _number(row["b"])) * base)


def add_static_var_compensators(grid: Grid) -> None:
    """Add static var compensators: as sources of reactive power, or with the power they are set to.

    One that regulates the voltage supplies what its susceptances do at nominal voltage.
    """
    regulating, fixed, off = [], [], []
    for row in grid.frame("static_var_compensators"):
        bus, name = _bus(grid, row), f"static var compensator {row['id']}"
        if bus is None:
            continue
        square = grid.nominal_kv[row["voltage_level_id"]] ** 2
        mode = row["regulation_mode"] if row["regulating"] else "OFF"
        if mode == "VOLTAGE":
            _add_reactive_source(grid, name, bus, (row["b_min"] * square, row["b_max"] * square))
            regulating.append(name)
        elif mode == "REACTIVE_POWER":
            injection = FixedInjection(bus, name, 0.0, _number(row["target_q"]))
            grid.rows.add_injection(injection, grid.is_public("svc"))
            fixed.append(name)
        else:
            off.append(name)
    grid.rows.note(regulating, "as a source of reactive power, with its limits at nominal voltage")
    grid.rows.note(fixed, "as a fixed injection of reactive power")
    grid.rows.note(off, "does not regulate: left out")


def add_hvdc_lines(grid: Grid) -> None:
    """Add HVDC lines as a pair of fixed injections, losses at the inverter's end."""
    droop = {row["id"] for row in grid.extension("hvdcAngleDroopActivePowerControl")
             if row["enabled"]}  # fmt: skip
    stations = {row["id"]: row for kind in ("vsc", "lcc")
                for row in grid.frame(f"{kind}_converter_stations")}  # fmt: skip
    added = []
    for row in grid.frame("hvdc_lines"):
        ends = [stations[row[f"converter_station{side}_id"]] for side in (1, 2)]
        buses = [_bus(grid, end) for end in ends]
        if None in buses or not (row["connected1"] and row["connected2"]):
            grid.rows.note([f"hvdc line {row['id']}"], "open: transports nothing")
            powers = (0.0, 0.0)
        else:
            powers = _converter_powers(row, ends)
            added.append(f"hvdc line {row['id']}")
        for side, (station, bus, power) in enumerate(zip(ends, buses, powers, strict=True), 1):
            if bus is not None:
                _add_converter(grid, f"hvdc line {row['id']} end {side}", bus, station, power)
    grid.rows.note(added, "as a pair of fixed injections")
    grid.rows.note(
        [f"hvdc line {name}" for name in sorted(droop)],
        "follows the angle in its source; here its power stays as it is set",
    )


def add_batteries(grid: Grid) -> None:
    """Add batteries as fixed injections of the power they are set to."""
    added = []
    for row in grid.frame("batteries"):
        bus, key = _bus(grid, row), f"battery {row['id']}"
        injection = FixedInjection(
            grid.level_bus.get(row["voltage_level_id"], 0) if bus is None else bus,
            key,
            -_number(row["target_p"]),
            -_number(row["target_q"]),
            str(row["name"]),
        )
        grid.rows.add_injection(injection, grid.is_public("storage"), bus is not None)
        added += [key] if bus is not None else []
    grid.rows.note(added, "as a fixed injection")


def _converter_powers(line: dict[str, Any], ends: list[dict[str, Any]]) -> tuple[float, float]:
    """Return what each end draws: the rectifier's set power, the inverter's less all losses."""
    rectifier = 0 if line["converters_mode"] == "SIDE_1_RECTIFIER_SIDE_2_INVERTER" else 1
    loss = [_number(end["loss_factor"]) / 100 for end in ends]
    sent = float(line["target_p"]) * (1 - loss[rectifier])
    arriving = sent - _number(line["r"]) * (sent / float(line["nominal_v"])) ** 2
    powers = [0.0, 0.0]
    powers[rectifier] = float(line["target_p"])
    powers[1 - rectifier] = -arriving * (1 - loss[1 - rectifier])
    return powers[0], powers[1]


def _add_converter(grid: Grid, key: str, bus: int, station: dict[str, Any], power: float) -> None:
    if "power_factor" in station:
        reactive = abs(power) * math.tan(math.acos(float(station["power_factor"])))
    elif station["voltage_regulator_on"]:
        reactive = 0.0
        name = f"converter station {station['id']}"
        _add_reactive_source(grid, name, bus, _reactive_limits(grid, station))
    else:
        reactive = -_number(station["target_q"])
    grid.rows.add_injection(FixedInjection(bus, key, power, reactive), grid.is_public("dcline"))


def _add_reactive_source(grid: Grid, name: str, bus: int, limits: tuple[float, float]) -> None:
    grid.rows.add_generator(name, bus, (0.0, 0.0), limits)


def _reactive_limits(grid: Grid, row: dict[str, Any]) -> tuple[float, float]:
    """Return the widest limits of an element: those at its set point would tell what that is."""
    if row["reactive_limits_kind"] != "CURVE":
        return bounded(row["min_q"]), bounded(row["max_q"])
    low, high = grid.widest_reactive_limits[row["id"]]
    return bounded(low), bounded(high)


def _bus(grid: Grid, row: dict[str, Any]) -> int | None:
    return grid.bus_number.get(row["bus_id"]) if row["connected"] else None


def _number(value: object) -> float:
    return 0.0 if value is None or value != value else float(value)  # type: ignore[arg-type]
