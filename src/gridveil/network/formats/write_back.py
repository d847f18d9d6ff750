"""Released loads by the keys of the source they go back to."""

from collections.abc import Sequence

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.formats.case_rows import named
from gridveil.network.load_values import load_cells
from gridveil.network.network import Network, released_idle_loads
from gridveil.network.source_loads import LoadIdentity


def released_values(
    network: Network, keys: Sequence[str]
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Return P and Q in MW for every load of a source, those out of service too.

    Args:
        network: What is written; its idle loads are 0 unless it lists them as released.
        keys: The keys of all loads of the source.

    Returns:
        The values by key, and sentences on what the source has no place for.

    Raises:
        GridveilError: The source has a load that the network does not have, by its key.
    """
    own = _by_key(network, network.load_identities, network.loads.values)
    idle_loads = released_idle_loads(network)
    idle = _by_key(network, idle_loads.identities, idle_loads.values)
    known, places = own | idle, set(keys)
    missing = [key for key in keys if key not in known]
    if missing:
        raise GridveilError(
            f"{named(missing)}: in the source, but not a load of this network; was it read from "
            "another file?"
        )
    lost = []
    without_place = [key for key in own if key not in places]
    if without_place:
        lost.append(
            f"{named(without_place)}: no load in this format; what the source has there still "
            "stands"
        )
    cleared = [key for key in keys if idle.get(key) == (0.0, 0.0)]
    if cleared:
        lost.append(f"{named(cleared)}: out of service, set to 0")
    return {key: known[key] for key in keys}, lost


def _by_key(
    network: Network, identities: Sequence[LoadIdentity], values: FloatArray
) -> dict[str, tuple[float, float]]:
    cells = load_cells(values, network.base_mva).tolist()
    return {one.key: (p, q) for one, (p, q) in zip(identities, cells, strict=True)}
