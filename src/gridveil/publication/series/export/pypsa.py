"""A released series as a folder of CSV files that PyPSA imports.

The network, loads, outputs of generators and voltages: a power flow of every hour has the voltages
that were released.

Written by the formats of PyPSA 1.x, without PyPSA. Snapshots are UTC, as PyPSA has no time zones.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from gridveil.arrays import BoolArray, FloatArray
from gridveil.files import csv_bytes
from gridveil.network.network import Network
from gridveil.publication.series.export.released import ReleasedSeries

_UNLIMITED_MVA = 1e6
_NO_LIMITS = "PyPSA has no limits of reactive power and of angles across lines"

Rows = Iterable[Sequence[object]]


def pypsa_files(released: ReleasedSeries) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of a released series for PyPSA, and what they do not hold."""
    network, names = released.network, released.load_names
    times = [
        str(time).replace("T", " ") for time in released.times.astype("datetime64[s]").tolist()
    ]
    files = {
        "network.csv": csv_bytes(("name",), [(network.name,)]),
        "snapshots.csv": csv_bytes(
            ("", "snapshot", "objective", "stores", "generators"),
            [(step, time, 1.0, 1.0, 1.0) for step, time in enumerate(times)],
        ),
        "loads.csv": csv_bytes(
            ("name", "bus"),
            [
                (name, _bus(network, bus))
                for name, bus in zip(names, network.loads.bus, strict=True)
            ],
        ),
        "loads-p_set.csv": _series(names, released.p_mw),
        "loads-q_set.csv": _series(names, released.q_mvar),
        "generators-p_set.csv": _series(_names(network), released.output_mw),
        "buses-v_mag_pu_set.csv": _series(_buses(network), released.v),
        "buses.csv": csv_bytes(
            ("name", "v_nom", "v_mag_pu_min", "v_mag_pu_max"),
            zip(
                _buses(network),
                base_kv(network).tolist(),
                network.buses.v_min.tolist(),
                network.buses.v_max.tolist(),
                strict=True,
            ),
        ),
        "generators.csv": csv_bytes(_GENERATORS, _generators(network)),
        "lines.csv": csv_bytes(_LINES, _lines(network)),
        "transformers.csv": csv_bytes(_TRANSFORMERS, _transformers(network)),
        "shunt_impedances.csv": csv_bytes(("name", "bus", "g", "b"), _shunts(network)),
    }
    has_rows = {name: data for name, data in files.items() if data.count(b"\n") > 1}
    return has_rows, _told(network)


_GENERATORS = ("name", "bus", "control", "p_nom", "p_min_pu", "p_max_pu",
               "marginal_cost", "marginal_cost_quadratic")  # fmt: skip
_LINES = ("name", "bus0", "bus1", "r", "x", "b", "s_nom")
_TRANSFORMERS = ("name", "bus0", "bus1", "model", "r", "x", "b", "s_nom", "tap_ratio",
                 "phase_shift")  # fmt: skip


def base_kv(network: Network) -> FloatArray:
    """Return the nominal voltage of each bus in kV; 1 where a case has none."""
    kv = network.case.tables["bus"].column("baseKV")[network.buses.row]
    return np.where(kv > 0, kv, 1.0)


def _series(names: list[str], values: FloatArray) -> bytes:
    return csv_bytes(["", *names], ([step, *row] for step, row in enumerate(values.tolist())))


def _bus(network: Network, bus: int) -> str:
    return f"bus {network.buses.number[bus]}"


def _buses(network: Network) -> list[str]:
    return [f"bus {number}" for number in network.buses.number.tolist()]


def _names(network: Network) -> list[str]:
    return [f"generator {row + 1}" for row in network.generators.row.tolist()]


def _generators(network: Network) -> Rows:
    """Return generators; the largest at each reference bus is the slack."""
    gens, base = network.generators, network.base_mva
    largest = np.maximum(np.abs(gens.p_min), np.abs(gens.p_max))
    p_nom = np.where(largest > 0, largest, 1.0) * base
    slack = set()
    for bus in np.flatnonzero(network.buses.reference):
        there = np.flatnonzero(gens.bus == bus)
        slack |= set(there[np.argsort(-largest[there], kind="stable")][:1].tolist())
    costs = _cost_coefficients(network)
    names = _names(network)
    for i, bus in enumerate(gens.bus.tolist()):
        yield (
            names[i],
            _bus(network, bus),
            "Slack" if i in slack else "PV",
            float(p_nom[i]),
            float(gens.p_min[i] * base / p_nom[i]),
            float(gens.p_max[i] * base / p_nom[i]),
            float(costs[i, 1] / base),
            float(costs[i, 2] / base**2),
        )


def _cost_coefficients(network: Network) -> FloatArray:
    """Return the coefficients of costs as far as squares, ascending, for outputs in p.u."""
    known = network.generators.costs.coefficients[:, :3]
    return np.pad(known, ((0, 0), (0, 3 - known.shape[1])))


def _is_transformer(network: Network) -> BoolArray:
    lines, kv = network.lines, base_kv(network)
    same = kv[lines.from_bus] == kv[lines.to_bus]
    return np.asarray(~same | (lines.tap != 1) | (lines.shift != 0))


def _rates(network: Network) -> FloatArray:
    rate = network.lines.rate * network.base_mva
    return np.where(np.isfinite(rate), rate, _UNLIMITED_MVA)


def _ends(network: Network, line: int) -> tuple[str, str, str]:
    lines = network.lines
    ends = (_bus(network, lines.from_bus[line]), _bus(network, lines.to_bus[line]))
    return (f"line {lines.row[line] + 1}", *ends)


def _lines(network: Network) -> Rows:
    """Return lines in ohms and siemens."""
    lines, rates = network.lines, _rates(network)
    for i in np.flatnonzero(~_is_transformer(network)).tolist():
        ohm = base_kv(network)[lines.from_bus[i]] ** 2 / network.base_mva
        values = (lines.r[i] * ohm, lines.x[i] * ohm, lines.b[i] / ohm, rates[i])
        yield (*_ends(network, i), *map(float, values))


def _transformers(network: Network) -> Rows:
    """Return transformers in p.u. of their ratings, with the tap at their from end."""
    lines, rates = network.lines, _rates(network)
    for i in np.flatnonzero(_is_transformer(network)).tolist():
        own = rates[i] / network.base_mva
        values = (lines.r[i] * own, lines.x[i] * own, lines.b[i] / own, rates[i], lines.tap[i],
                  np.degrees(lines.shift[i]))  # fmt: skip
        yield (*_ends(network, i), "pi", *map(float, values))


def _shunts(network: Network) -> Rows:
    buses, siemens = network.buses, network.base_mva / base_kv(network) ** 2
    for i in np.flatnonzero((buses.shunt_g != 0) | (buses.shunt_b != 0)).tolist():
        values = (buses.shunt_g[i] * siemens[i], buses.shunt_b[i] * siemens[i])
        yield (f"shunt {buses.number[i]}", _bus(network, i), *map(float, values))


def _told(network: Network) -> list[str]:
    """Say what PyPSA's files do not hold."""
    costs, told = network.generators.costs, [_NO_LIMITS]
    if len(costs.segment_generator) or (costs.coefficients[:, 3:] != 0).any():
        told.append("costs that are no squares (piecewise linear, or higher) are left out")
    if (costs.coefficients[:, :1] != 0).any():
        told.append("costs of a generator that draws nothing (constants) are left out")
    if not np.isfinite(network.lines.rate).all():
        told.append(f"lines without a limit have s_nom {_UNLIMITED_MVA:g} MVA")
    return told
