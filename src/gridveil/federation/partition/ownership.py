"""Which party owns which component of a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gridveil.arrays import IntArray
from gridveil.errors import GridveilError
from gridveil.federation.names import check_party_name
from gridveil.federation.partition.bisection import bisect
from gridveil.files import csv_bytes, read_rows, write_atomically
from gridveil.network.library import as_network
from gridveil.network.network import Network

COLUMNS = ("component", "number", "party")
BUS, LOAD, GENERATOR, LINE = "bus", "load", "generator", "line"


@dataclass(frozen=True)
class Partition:
    """The owner of every component, in the network's order."""

    buses: tuple[str, ...]
    loads: tuple[str, ...]
    generators: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def parties(self) -> tuple[str, ...]:
        """All parties, sorted by name."""
        return tuple(sorted({*self.buses, *self.loads, *self.generators, *self.lines}))


def partition(
    network: Network | str | Path, parties: int | None = None, by: str | None = None
) -> Partition:
    """Assign every component of a network to a party.

    A line belongs to the owner of its from bus. Loads and generators belong to the owner of their
    bus.

    Args:
        network: The network, its name or its file.
        parties: Cut the network into this number of parts of similar size, with few lines between
            them.
        by: Or name the parties after this column of the bus table: "area", "zone".

    Raises:
        GridveilError: Not exactly one of `parties` and `by` is given; there are fewer buses than
            parties, or no such column.

    Example:
        >>> partition("case14_ieee", parties=3).parties
        ('party-1', 'party-2', 'party-3')
    """
    network = as_network(network)
    if (parties is None) == (by is None):
        raise GridveilError("give either parties, their number, or by, a column of the bus table")
    owners = _by_column(network, by) if by is not None else _by_bisection(network, parties or 0)

    def owners_at(buses: IntArray) -> tuple[str, ...]:
        return tuple(owners[bus] for bus in buses)

    return Partition(
        buses=tuple(owners),
        loads=owners_at(network.loads.bus),
        generators=owners_at(network.generators.bus),
        lines=owners_at(network.lines.from_bus),
    )


def _by_bisection(network: Network, count: int) -> Sequence[str]:
    """Return the owner of every bus, from cutting the network into `count` parts."""
    buses, lines = len(network.buses), network.lines
    if not 1 <= count <= buses:
        raise GridveilError(f"parties: {count} must be from 1 to {buses}, the number of buses")
    width = len(str(count))
    parts = bisect(lines.from_bus, lines.to_bus, buses, count)
    return [f"party-{part + 1:0{width}}" for part in parts.tolist()]


def _by_column(network: Network, column: str) -> Sequence[str]:
    """Return the owner of every bus, named after a column of the bus table."""
    table = network.case.tables["bus"]
    if column not in table.columns:
        raise GridveilError(
            f"the bus table has no column {column!r}; it has {', '.join(table.columns)}"
        )
    values = table.column(column)[network.buses.row]
    return [f"{column}-{value:g}".replace(".", "_") for value in values]


def component_names(network: Network) -> dict[str, tuple[str, ...]]:
    """Return what components are called: a load by its bus, others by their row, from 1."""
    return {
        BUS: tuple(map(str, network.buses.number.tolist())),
        LOAD: tuple(load_name(*place) for place in network.listed_loads.places),
        GENERATOR: tuple(map(str, (network.generators.row + 1).tolist())),
        LINE: tuple(map(str, (network.lines.row + 1).tolist())),
    }


def load_name(bus: int, number: int) -> str:
    """Return what a load is called: 5 is the first or only load of bus 5, 5/2 the second."""
    return str(bus) if number == 1 else f"{bus}/{number}"


def write_partition(owned: Partition, network: Network, path: Path) -> None:
    """Write a partition as a new CSV file that people can edit."""
    if path.exists():
        raise GridveilError(f"{path} exists and is not overwritten; choose another file")
    owners = (owned.buses, owned.loads, owned.generators, owned.lines)
    rows = (
        (component, number, party)
        for (component, numbers), parties in zip(
            component_names(network).items(), owners, strict=True
        )
        for number, party in zip(numbers, parties, strict=True)
    )
    write_atomically(path, csv_bytes(COLUMNS, rows))


def as_partition(partition: Partition | str | Path, network: Network) -> Partition:
    """Return a partition that is given as such or by its file."""
    return (
        partition if isinstance(partition, Partition) else read_partition(Path(partition), network)
    )


def read_partition(path: Path, network: Network) -> Partition:
    """Read a partition; refuse it if a component is missing, unknown or listed twice."""
    known = {component: set(numbers) for component, numbers in component_names(network).items()}
    owners: dict[tuple[str, str], str] = {}
    for place, row in read_rows(path, COLUMNS):
        component, number, party = (str(row[name]).strip() for name in COLUMNS)
        if component not in known:
            raise GridveilError(
                f"{place}: no such component {component!r}; there are {', '.join(known)}"
            )
        if number not in known[component]:
            raise GridveilError(f"{place}: the network has no {component} {number} in service")
        if (component, number) in owners:
            raise GridveilError(f"{place}: {component} {number} is listed twice")
        try:
            owners[component, number] = check_party_name(party)
        except GridveilError as error:
            raise GridveilError(f"{place}: {error}") from None
    _check_complete(path, network, owners)
    return Partition(
        *(
            tuple(owners[component, number] for number in numbers)
            for component, numbers in component_names(network).items()
        )
    )


def _check_complete(path: Path, network: Network, owners: dict[tuple[str, str], str]) -> None:
    missing = [
        f"{component} {number}"
        for component, numbers in component_names(network).items()
        for number in numbers
        if (component, number) not in owners
    ]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise GridveilError(f"{path}: {missing[0]}{more} belongs to no party")
