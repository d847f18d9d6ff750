"""Raw loads, their sums and their noise as numbers that must stand in no file, each with a name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.network.network import Network

SAME = 1e-12
"""Relative difference up to which two numbers are the same, but for the last bits."""
_LEAST = 1e-9
"""Smaller numbers, in any unit, are numerical noise and give nothing away."""


@dataclass(frozen=True, eq=False, repr=False)
class Secrets:
    """Everything no number may agree with, sorted by size, without signs."""

    values: FloatArray
    order: IntArray
    """The rank of each value; of values that are the same, the first is named."""
    names: list[str]

    def nearest(self, number: float, slack: float) -> str:
        """Return the name of what is nearest to a number, at most `slack` away."""
        low = np.searchsorted(self.values, number - slack, side="left")
        high = np.searchsorted(self.values, number + slack, side="right")
        distance = np.abs(self.values[low:high] - number)
        same = distance <= distance.min() + SAME * number
        return self.names[int((self.order[low:high][same] % len(self.names)).min())]


def secrets_of(
    network: Network, private: FloatArray, released: FloatArray, grid_step: float | None
) -> Secrets:
    """Return what must not stand in any file, in every unit that a mistake may leave it in."""
    steps = [] if grid_step is None else [1 / (grid_step * network.base_mva)]
    with np.errstate(over="ignore", invalid="ignore"):  # of loads that are huge
        named = [
            *_raw(network),
            *_differences(network, private, "noise"),
            *_differences(network, released, "displacement"),
        ]
    return _secrets(named, [*units_of(network), *steps])


def raw_secrets_of(network: Network) -> Secrets:
    """Return what must not stand in a text that is older than the noise and its grid."""
    with np.errstate(over="ignore", invalid="ignore"):
        named = list(_raw(network))
    return _secrets(named, units_of(network))


def units_of(network: Network) -> list[float]:
    """Return what turns MW into MW, kW and p.u."""
    return [1.0, 1000.0, 1 / network.base_mva]


def _secrets(named: Sequence[tuple[str, float]], scales: Sequence[float]) -> Secrets:
    names, values = [name for name, _ in named], np.abs([value for _, value in named])
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.outer(scales, values).ravel()
    order = np.argsort(scaled, kind="stable")
    order = order[np.isfinite(scaled[order]) & (scaled[order] > _LEAST)]
    return Secrets(scaled[order], order, names)


def _raw(network: Network) -> Iterator[tuple[str, float]]:
    """Name the raw loads, each on its own and as the sum at its bus; idle ones too."""
    loads, bus = replace(network, lists_idle_loads=True).listed_loads, network.case.tables["bus"]
    values = loads.values * network.base_mva
    yield from _named(network, loads.bus, loads.labels, values, "{} of {}", "{}")
    listed = np.stack([bus.column("Pd"), bus.column("Qd")], axis=1)
    at = listed.any(axis=1)
    numbers = bus.column("bus_i")[at].astype(np.int64)
    labels = [f"bus {number}" for number in numbers.tolist()]
    yield from _named(network, numbers, labels, listed[at], "{} of {}", "{}")


def _differences(network: Network, other: FloatArray, what: str) -> Iterator[tuple[str, float]]:
    """Name the differences between raw loads and what was made of them, and their sums at buses."""
    loads = network.listed_loads
    values = (loads.values - other) * network.base_mva
    single, several = what + " of {} at {}", what + " of {}"
    yield from _named(network, loads.bus, loads.labels, values, single, several)
    count = len(network.loads)
    numbers, member = np.unique(loads.bus[:count], return_inverse=True)
    if len(numbers) < count:
        columns = [np.bincount(member, column).astype(float) for column in values[:count].T]
        sums = np.stack(columns, axis=1)
        labels = [f"bus {number}" for number in numbers.tolist()]
        yield from _named(network, numbers, labels, sums, single, several)


def _named(
    network: Network,
    buses: IntArray,
    labels: Sequence[str],
    loads: FloatArray,
    single: str,
    several: str,
) -> Iterator[tuple[str, float]]:
    """Name P, Q and |S| of loads at buses, and their sums, in MW.

    Sums of huge loads may be beyond all numbers; no file can hold those.
    """
    bus, (p, q) = network.case.tables["bus"], loads.T
    row = {number: i for i, number in enumerate(bus.column("bus_i").tolist())}
    rows = np.array([row.get(number, -1) for number in buses.tolist()], dtype=np.int64)
    quantities = {"P": p, "Q": q, "|S|": np.hypot(p, q)}
    for kind, values in quantities.items():
        for label, value in zip(labels, values.tolist(), strict=True):
            yield single.format(kind, label), value
    groups = {"": np.zeros(len(rows))}
    for where, column in ((" in area", "area"), (" in zone", "zone")):  # nan: no bus of the file
        groups[where] = np.where(rows < 0, np.nan, bus.column(column)[rows])
    for where, group in groups.items():
        members, member = np.unique(group, return_inverse=True)
        sums = {kind: np.bincount(member, values) for kind, values in quantities.items()}
        for i, label in enumerate(members):
            place = f"{where} {label:.0f}" if where else ""
            for kind, total in sums.items():
                yield f"sum of {several.format(kind)}{place}", float(total[i])
            size = float(np.hypot(sums["P"][i], sums["Q"][i]))
            yield f"|S| of the sum of {several.format('S')}{place}", size


def near(values: FloatArray, numbers: FloatArray, slack: FloatArray) -> BoolArray:
    """Return for which numbers one of the sorted values is at most `slack` away."""
    with np.errstate(over="ignore"):
        low, high = numbers - slack, numbers + slack
    found = np.searchsorted(values, high, side="right") > np.searchsorted(values, low, side="left")
    return np.asarray(found)
