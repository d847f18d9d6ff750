"""By which keys the owner of a network knows its loads, and what stands around each of them.

A key stays the same when a switch opens, rows are ordered anew or a converter numbers buses anew:
in a case file it is the number of the bus, in a pandapower net the index of the load. Branches are
recognised by their impedances, whatever their ends are called and whether they are in service.
Nothing here depends on the value of a load.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from gridveil.network.conversion import has_load
from gridveil.network.network import Network

_DIGITS = 6
"""Significant digits of an impedance: a converter may change the last ones."""


@dataclass(frozen=True)
class LoadKeys:
    """The keys of the loads of a network."""

    in_service: tuple[tuple[str, ...], ...]
    """For each load of the network, the owner's loads that it is the sum of."""
    idle: tuple[str, ...]
    """The owner's loads that are out of service."""


def load_keys(network: Network) -> LoadKeys:
    """Return the keys that a network brings with it, or else the numbers of its buses."""
    if network.load_keys is not None:
        return LoadKeys(*network.load_keys)
    bus = network.case.tables["bus"]
    listed = np.zeros(len(bus.values), dtype=bool)
    listed[network.loads.row] = True
    number = bus.column("bus_i")[has_load(bus) & ~listed]
    return LoadKeys(
        tuple((bus_key(n),) for n in network.load_buses), tuple(map(bus_key, map(int, number)))
    )


def bus_key(number: int) -> str:
    """Return the key of the load at a bus of a case file."""
    return f"bus {number}"


def surroundings(
    network: Network, rows: Collection[int] | None = None
) -> tuple[frozenset[str], ...]:
    """Return the branches at the bus of each load, as short digests of their impedances.

    Each branch has two: on a base of 1 MVA, which a converter keeps that changes the base, and as
    in the file, which an owner keeps who corrects the base.

    Args:
        network: The network.
        rows: Which rows of the branch table are looked at; None looks at all.
    """
    table = network.case.tables["branch"]
    base = network.base_mva
    around: dict[float, set[str]] = {}
    columns = (table.column(name).tolist() for name in ("fbus", "tbus", "r", "x", "b"))
    for row, (one, other, r, x, b) in enumerate(zip(*columns, strict=True)):
        if rows is not None and row not in rows:
            continue
        digests = branch_digest(r, x, b), branch_digest(r / base, x / base, b * base)
        for end in (one, other):
            around.setdefault(end, set()).update(digests)
    return tuple(frozenset(around.get(float(n), ())) for n in network.load_buses)


def branch_digest(r: float, x: float, b: float) -> str:
    """Return a short digest of a branch's impedances."""
    text = " ".join(f"{value:.{_DIGITS - 1}e}" for value in (r, x, b))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
