"""By which keys the owner of a network knows its loads, and what stands around each of them.

A key stays the same when a switch opens, rows are ordered anew or a converter numbers buses anew:
in a case file it is the number of the bus, in a pandapower net the index of the load. Branches are
recognised by their impedances, whatever their ends are called and whether they are in service; the
structure of the network around a load, by which buses are connected, whatever the impedances are.
A bus has the same neighbours, by their numbers, as long as nothing is numbered anew.
Nothing here depends on the value of a load.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from gridveil.network.conversion import has_load
from gridveil.network.network import Network

_DIGITS = 6
"""Significant digits of an impedance: a converter may change the last ones."""
_RADIUS = 3
"""How many branches away from a load the structure around it is looked at."""
STRUCTURE = "structure "
"""What the digest of a structure begins with."""
NEIGHBOURS = "neighbours "
"""What the digest of neighbours begins with."""


@dataclass(frozen=True)
class LoadKeys:
    """The keys of the loads of a network."""

    in_service: tuple[tuple[str, ...], ...]
    """For each load of the network, the owner's loads that it is the sum of."""
    idle: tuple[str, ...]
    """The owner's loads that are out of service."""
    idle_buses: tuple[int, ...] = ()
    """The bus of each of these; empty where they are not known."""


def load_keys(network: Network) -> LoadKeys:
    """Return the keys that a network brings with it, or else the numbers of its buses."""
    if network.load_keys is not None:
        return LoadKeys(*network.load_keys)
    bus = network.case.tables["bus"]
    listed = np.zeros(len(bus.values), dtype=bool)
    listed[network.loads.row] = True
    idle = tuple(map(int, bus.column("bus_i")[has_load(bus) & ~listed]))
    return LoadKeys(
        tuple((bus_key(n),) for n in network.load_buses), tuple(map(bus_key, idle)), idle
    )


def bus_key(number: int) -> str:
    """Return the key of the load at a bus of a case file."""
    return f"bus {number}"


def surroundings(
    network: Network, buses: Iterable[int], rows: Collection[int] | None = None
) -> tuple[frozenset[str], ...]:
    """Return as short digests what stands around loads: branches, structure, neighbours.

    Each branch has two: on a base of 1 MVA, which a converter keeps that changes the base, and as
    in the file, which an owner keeps who corrects the base.

    Args:
        network: The network.
        buses: The bus of each load.
        rows: Which rows of the branch table count as branches; None takes all.
    """
    around: dict[float, set[str]] = {}
    ends = _ends(network)
    for row, (pair, digests) in enumerate(zip(ends, _digests(network), strict=True)):
        for end in pair if rows is None or row in rows else ():
            around.setdefault(end, set()).update(digests)
    neighbours = _neighbours(ends)
    for bus, structure in _structures(neighbours).items():
        numbers = _short_digest(" ".join(f"{number:g}" for number in sorted(neighbours[bus])))
        around.setdefault(bus, set()).update((STRUCTURE + structure, NEIGHBOURS + numbers))
    return tuple(frozenset(around.get(float(n), ())) for n in buses)


def branches(network: Network) -> frozenset[str]:
    """Return digests of all branches, in service or not."""
    return frozenset(digest for digests in _digests(network) for digest in digests)


def _ends(network: Network) -> list[tuple[float, float]]:
    table = network.case.tables["branch"]
    return list(zip(table.column("fbus").tolist(), table.column("tbus").tolist(), strict=True))


def _digests(network: Network) -> list[tuple[str, str]]:
    """Return both digests of every branch."""
    table, base = network.case.tables["branch"], network.base_mva
    columns = (table.column(name).tolist() for name in ("r", "x", "b"))
    return [
        (branch_digest(r, x, b), branch_digest(r / base, x / base, b * base))
        for r, x, b in zip(*columns, strict=True)
    ]


def branch_digest(r: float, x: float, b: float) -> str:
    """Return a short digest of a branch's impedances."""
    return _short_digest(" ".join(f"{value:.{_DIGITS - 1}e}" for value in (r, x, b)))


def _neighbours(ends: Iterable[tuple[float, float]]) -> dict[float, set[float]]:
    found: dict[float, set[float]] = {}
    for one, other in ends:
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


def _structures(neighbours: Mapping[float, AbstractSet[float]]) -> dict[float, str]:
    """Return a digest for each bus: how many neighbours it has, how many these have, and so on."""
    found = dict.fromkeys(neighbours, "")
    for _ in range(_RADIUS):
        found = {
            bus: _short_digest(" ".join([found[bus], *sorted(found[n] for n in near)]))
            for bus, near in neighbours.items()
        }
    return found


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
