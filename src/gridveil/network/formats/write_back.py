"""Released loads by the keys of the source they go back to."""

from collections.abc import Sequence

from gridveil.errors import GridveilError
from gridveil.network.formats.case_rows import named
from gridveil.network.load_values import load_cells
from gridveil.network.network import Network


def released_values(
    network: Network, keys: Sequence[str]
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return P and Q in MW for every load of a source, 0 for those out of service.

    Args:
        network: What is written.
        keys: The keys of all loads of the source.

    Returns:
        The values by key, and sentences on what the source has no place for.

    Raises:
        GridveilError: The source has a load in service that the network does not have, by its key.
    """
    cells = load_cells(network.loads.values, network.base_mva).tolist()
    own = {
        identity.key: (p, q)
        for identity, (p, q) in zip(network.load_identities, cells, strict=True)
    }
    idle = {identity.key for identity in network.idle_loads.identities}
    missing = [key for key in keys if key not in own and key not in idle]
    if missing:
        raise GridveilError(
            f"{named(missing)}: in the source, but not a load of this network; was it read from "
            "another file?"
        )
    without_place = [key for key in own if key not in set(keys)]
    lost = (
        [f"{named(without_place)}: no load in this format; what the source has there still stands"]
        if without_place
        else []
    )
    cleared = [key for key in keys if key in idle]
    if cleared:
        lost.append(f"{named(cleared)}: out of service, set to 0")
    return {key: own.get(key, (0.0, 0.0)) for key in keys}, lost
