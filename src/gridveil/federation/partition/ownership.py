"""Which party owns which component, and who has to talk to whom because of that.

A component talks to the bus it is connected to, so two parties are neighbours where one owns a
component at a bus of the other. Nobody else ever exchanges a message.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, laplacian
from scipy.sparse.linalg import eigsh

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.federation.names import check_party_name
from gridveil.files import csv_bytes, read_rows, write_atomically
from gridveil.network.network import Network

COLUMNS = ("component", "number", "party")
BUS, LOAD, GENERATOR, LINE = "bus", "load", "generator", "line"
_TIE = 1e-3
_SMALL = 1000
"""Up to so many buses a dense solver is quick enough."""
_POWERS, _LINE_END = 2, 4
"""What a load or generator, and what the end of a line, shares with its bus."""


@dataclass(frozen=True)
class Partition:
    """The party of every component, in the network's order."""

    buses: tuple[str, ...]
    loads: tuple[str, ...]
    generators: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties, by name."""
        return tuple(sorted({*self.buses, *self.loads, *self.generators, *self.lines}))


@dataclass(frozen=True)
class Traffic:
    """What one party sends another in an iteration."""

    sender: str
    receiver: str
    copies: int
    """Numbers of its components at the other's buses."""
    penalties: int
    """Penalties of its lines there."""
    answers: int
    """Numbers of the other's components at its own buses."""

    @property
    def data_bytes(self) -> int:
        """Bytes of numbers."""
        return 8 * (self.copies + self.penalties + self.answers)


def numbers(network: Network) -> dict[str, tuple[int, ...]]:
    """Return what components are called: loads by their bus, generators and lines by their row."""
    return {
        BUS: tuple(network.buses.number.tolist()),
        LOAD: tuple(network.load_buses),
        GENERATOR: tuple((network.generators.row + 1).tolist()),
        LINE: tuple((network.lines.row + 1).tolist()),
    }


def partition_into(network: Network, count: int) -> Partition:
    """Cut a network into parts of about the same number of buses, with few lines between them.

    It is cut in two again and again, across the slowest mode of its graph (the Fiedler vector). A
    line belongs to the party of its from bus, all else to that of its bus.
    """
    buses, lines = len(network.buses), network.lines
    if not 1 <= count <= buses:
        raise GridveilError(f"parties: {count} must be from 1 to {buses}, the number of buses")
    ends = (lines.from_bus, lines.to_bus)
    graph = coo_array((np.ones(len(lines)), ends), shape=(buses, buses)).tocsr()
    part = np.zeros(buses, dtype=np.int64)
    _cut((graph + graph.T).tocsr(), np.arange(buses), count, 0, part)
    width = len(str(count))
    return _by_bus(network, [f"party-{i + 1:0{width}}" for i in part.tolist()])


def _cut(graph: csr_array, buses: IntArray, count: int, first: int, part: IntArray) -> None:
    """Give the parts of some buses numbers, from `first` on."""
    if count == 1:
        part[buses] = first
        return
    few = count // 2
    order = buses[np.argsort(_slowest_mode(graph[buses][:, buses]), kind="stable")]
    place = len(buses) * few // count
    _cut(graph, np.sort(order[:place]), few, first, part)
    _cut(graph, np.sort(order[place:]), count - few, first + few, part)


def _slowest_mode(graph: csr_array) -> FloatArray:
    """Return the Fiedler vector of a graph, with the first of its largest entries above 0.

    Parts without a line between them are tied together weakly, so that they are cut last.
    """
    size = graph.shape[0]
    first = np.unique(connected_components(graph)[1], return_index=True)[1]
    ties = coo_array((np.full(len(first) - 1, _TIE), (first[:-1], first[1:])), shape=(size, size))
    weights: Any = laplacian(csr_array(graph + ties + ties.T))
    if size <= _SMALL:
        vector = np.linalg.eigh(weights.toarray())[1][:, 1]
    else:
        start = np.sin(np.arange(size))  # any, but always the same
        vector = eigsh(weights.tocsc(), k=2, sigma=-1e-3, v0=start)[1][:, 1]
    rounded = np.round(vector / np.abs(vector).max(), 6)
    return np.asarray(rounded * np.sign(rounded[np.argmax(np.abs(rounded))]))


def partition_by(network: Network, column: str) -> Partition:
    """Give every bus to the party that a column of the bus table names: area, zone, an owner."""
    table = network.case.tables["bus"]
    if column not in table.columns:
        raise GridveilError(
            f"the bus table has no column {column!r}; it has {', '.join(table.columns)}"
        )
    values = table.column(column)[network.buses.row]
    return _by_bus(network, [f"{column}-{value:g}".replace(".", "_") for value in values])


def _by_bus(network: Network, owners: Sequence[str]) -> Partition:
    def of(buses: IntArray) -> tuple[str, ...]:
        return tuple(owners[bus] for bus in buses)

    gens, lines = network.generators, network.lines
    return Partition(tuple(owners), of(network.loads.bus), of(gens.bus), of(lines.from_bus))


def write_partition(partition: Partition, network: Network, path: Path) -> None:
    """Write a partition as a CSV file, for people to change."""
    owners = (partition.buses, partition.loads, partition.generators, partition.lines)
    rows = (
        (kind, number, party)
        for (kind, named), parties in zip(numbers(network).items(), owners, strict=True)
        for number, party in zip(named, parties, strict=True)
    )
    write_atomically(path, csv_bytes(COLUMNS, rows))


def read_partition(path: Path, network: Network) -> Partition:
    """Read a partition; refuse one that leaves a component out, or has one that is not there."""
    known = {kind: set(named) for kind, named in numbers(network).items()}
    owners: dict[tuple[str, int], str] = {}
    for place, row in read_rows(path, COLUMNS):
        kind, number, party = (str(row[name]).strip() for name in COLUMNS)
        if kind not in known:
            raise GridveilError(f"{place}: no such kind {kind!r}; there are {', '.join(known)}")
        if not (number.isascii() and number.isdigit()) or int(number) not in known[kind]:
            raise GridveilError(f"{place}: the network has no {kind} {number} in service")
        if (kind, int(number)) in owners:
            raise GridveilError(f"{place}: {kind} {number} is there twice")
        try:
            owners[kind, int(number)] = check_party_name(party)
        except GridveilError as error:
            raise GridveilError(f"{place}: {error}") from None
    missing = [
        f"{kind} {number}"
        for kind, named in numbers(network).items()
        for number in named
        if (kind, number) not in owners
    ]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise GridveilError(f"{path}: {missing[0]}{more} belongs to no party")
    return Partition(
        *(
            tuple(owners[kind, number] for number in named)
            for kind, named in numbers(network).items()
        )
    )


def traffic(network: Network, partition: Partition) -> list[Traffic]:
    """Return what goes from party to party in every iteration, by name."""
    copies: dict[tuple[str, str], int] = {}
    penalties: dict[tuple[str, str], int] = {}
    lines = network.lines
    ends = (
        (network.loads.bus, partition.loads, _POWERS, 0),
        (network.generators.bus, partition.generators, _POWERS, 0),
        (lines.from_bus, partition.lines, _LINE_END, _LINE_END),
        (lines.to_bus, partition.lines, _LINE_END, _LINE_END),
    )
    for buses, owners, shared, weights in ends:
        for bus, owner in zip(buses.tolist(), owners, strict=True):
            pair = owner, partition.buses[bus]
            if pair[0] != pair[1]:
                copies[pair] = copies.get(pair, 0) + shared
                penalties[pair] = penalties.get(pair, 0) + weights
    pairs = sorted({*copies, *((b, a) for a, b in copies)})
    return [
        Traffic(a, b, copies.get((a, b), 0), penalties.get((a, b), 0), copies.get((b, a), 0))
        for a, b in pairs
    ]
