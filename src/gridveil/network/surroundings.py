"""What stands around the loads of a network, by which a ledger recognises them.

Branches are recognised by their impedances, whatever their ends are called and whether they are in
service; the structure of the network around a load, by which buses are connected, whatever the
impedances are. A bus has the same neighbours, by their numbers, as long as nothing is numbered
anew. Nothing here depends on the value of a load.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

from gridveil.network.network import Network

_DIGITS = 6
"""Significant digits of an impedance: a converter may change the last ones."""
_RADIUS = 3
"""How many branches away from a load the structure around it is looked at."""
STRUCTURE = "structure "
"""What the digest of a structure begins with."""
NEIGHBOURS = "neighbours "
"""What the digest of neighbours begins with."""


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
