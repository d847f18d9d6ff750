"""The files that a report is drawn from beside the network: positions of buses, and the history.

Positions follow from the network. The history of the agents is known to them alone, so that it can
only be what such a history looks like, and is there only where agents were.
"""

from collections.abc import Iterator

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.claims import Claim, claim, stated, unchecked
from gridveil.errors import GridveilError
from gridveil.fidelity.registry import METHODS
from gridveil.network.network import Network
from gridveil.network.positions import positions
from gridveil.printable import excerpt
from gridveil.publication.folder import HISTORY, POSITIONS
from gridveil.publication.page_data import (
    PLACES,
    file_of_positions,
    history_file,
    read_history,
    read_positions,
)

_HARDLY = 1e-8
"""How far places may differ from one machine to the next: some 1e-12 where it was tried.

So a coordinate that is rounded otherwise there lies as close to half-way between two roundings, as
one in 5,000 does: where it is, another digit is believed, and nowhere else.
"""
_NEAR = 0.5 * 10.0**-PLACES + _HARDLY
"""How far a rounded place may be from one that is not, and hardly differs from its own."""
_LONGEST_VERSION = 20


def positions_claim(data: bytes, network: Network, software: dict[str, str]) -> Claim:
    """Check that positions are those that follow from the network.

    They come from a singular value decomposition, whose last digits may differ from one machine to
    the next; so may a direction, where two coordinates that decide on its sign are as large.
    """
    name, claimed = POSITIONS, "where the network puts its buses"
    try:
        place = read_positions(data, network)
    except GridveilError as error:
        return claim(name, claimed, str(error), ok=False)
    if file_of_positions(network, place) != data:
        return claim(name, claimed, "in another spelling", ok=False)
    own = positions(network.buses, network.lines)
    if file_of_positions(network, own) == data:
        return claim(name, claimed, "the same, byte by byte", ok=True)
    if all(_is_near(*both) for both in zip(place.T, own.T, strict=True)):
        return claim(name, claimed, "the same, but for rounding and direction", ok=True)
    versions = " and ".join(
        f"{package} {excerpt(software.get(package, 'unknown'), _LONGEST_VERSION)}"
        for package in ("numpy", "scipy")
    )
    why = f"other places are computed here; verify with {versions}, on a machine like the owner's"
    return unchecked(name, claimed, why)


def history_claims(data: bytes | None, method: str) -> Iterator[Claim]:
    """Check that a history is there only where there were agents, and in one spelling."""
    name, claimed = HISTORY, "the iterations of the agents"
    try:
        has_agents = METHODS.get(method).has_agents
    except GridveilError:
        if data is not None:
            yield unchecked(name, claimed, f"the method {method!r} is not known here")
        return
    if data is None:
        if has_agents:
            yield stated(name, "none", "only the agents know how they agreed")
        return
    if not has_agents:
        yield claim(name, claimed, f"the method {method!r} has no agents", ok=False)
        return
    try:
        history = read_history(data)
    except GridveilError as error:
        yield claim(name, claimed, str(error), ok=False)
        return
    if not len(history) or history_file(history) != data:
        yield claim(name, claimed, "in another spelling", ok=False)
        return
    yield stated(name, f"{len(history):,} iterations of the agents", "only the agents know them")


def _is_near(one: FloatArray, other: FloatArray) -> bool:
    """Whether coordinates are those of a file rounded from others, in either direction."""
    mirrored = other.max() + other.min() - other
    return any(bool((np.abs(one - each) <= _NEAR).all()) for each in (other, mirrored))
