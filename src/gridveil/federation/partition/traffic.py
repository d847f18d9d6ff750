"""Which parties exchange messages, and how much they send in an iteration.

A component exchanges numbers with the bus it is connected to. So two parties are neighbours if one
owns a component at a bus of the other; parties that are not neighbours exchange nothing.
"""

from dataclasses import dataclass

from gridveil.federation.partition.ownership import Partition
from gridveil.network.network import Network

_POWERS, _LINE_END = 2, 4
"""Numbers that a load or generator, and that the end of a line, shares with its bus."""
_NUMBER_BYTES = 8


@dataclass(frozen=True)
class Traffic:
    """The numbers that one party sends another in an iteration."""

    sender: str
    receiver: str
    copies: int
    """x of the sender's components at the receiver's buses."""
    penalties: int
    """Penalties of the sender's lines there."""
    consensus: int
    """z of the receiver's components at the sender's buses."""

    @property
    def data_bytes(self) -> int:
        """Size of these numbers in bytes, without headers and encryption."""
        return _NUMBER_BYTES * (self.copies + self.penalties + self.consensus)


def traffic(network: Network, partition: Partition) -> list[Traffic]:
    """Return what each party sends each neighbour in an iteration, sorted by name."""
    copies: dict[tuple[str, str], int] = {}
    penalties: dict[tuple[str, str], int] = {}
    lines = network.lines
    connections = (
        (network.loads.bus, partition.loads, _POWERS, 0),
        (network.generators.bus, partition.generators, _POWERS, 0),
        (lines.from_bus, partition.lines, _LINE_END, _LINE_END),
        (lines.to_bus, partition.lines, _LINE_END, _LINE_END),
    )
    for buses, owners, shared, weights in connections:
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
