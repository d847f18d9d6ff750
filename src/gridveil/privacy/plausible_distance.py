"""Whether a distance α can be meant: neither far below any load of a network nor beyond all of it.

Judged by public numbers alone: generator limits, ratings of branches, how many loads there are.
"""

from fractions import Fraction

import numpy as np

from gridveil.errors import GridveilError
from gridveil.network.network import Network

SMALLEST_SHARE = 1e-4
"""Of the size of a load: what differs by less says nothing about its owner."""


def plausible_range(network: Network) -> tuple[float, float]:
    """Return the least and the largest distance, in MVA, that can be meant for a network.

    The size of a load is taken for the lesser of the generators' capacity divided by the number of
    loads, and the median of what the branches at a load can carry. The largest distance is the
    capacity of all generators, or of all branches where that is more.
    """
    base, gens, lines = network.base_mva, network.generators, network.lines
    reach = np.maximum(np.abs(gens.p_max), np.abs(gens.p_min))
    capacity = float(reach[np.isfinite(reach)].sum()) * base
    rated = np.isfinite(lines.rate)
    at_bus = np.zeros(len(network.buses))
    for ends in (lines.from_bus, lines.to_bus):
        np.add.at(at_bus, ends[rated], lines.rate[rated] * base)
    carried = at_bus[network.loads.bus]
    carried = carried[carried > 0]
    sizes = [capacity / max(len(network.loads), 1)] if capacity else []
    if len(carried):
        sizes.append(float(np.median(carried)))
    if not sizes:
        return 0.0, float("inf")
    return SMALLEST_SHARE * min(sizes), max(capacity, float(at_bus.sum()) / 2)


def check_distance(
    network: Network, distance_mva: Fraction | None, counted_at: Fraction | None
) -> None:
    """Refuse a distance that cannot be meant.

    Args:
        network: The network.
        distance_mva: The distance α of a release, in MVA; None where it has none.
        counted_at: The distance at which its ledger counts, which its owner has accepted.
    """
    if distance_mva is None:
        return
    low, high = plausible_range(network)
    if counted_at is not None:
        low, high = min(low, float(counted_at)), max(high, float(counted_at))
    asked, base = float(distance_mva), network.base_mva
    if low <= asked <= high:
        return
    what = (
        f"two loads that differ by more than {asked:g} MVA could be told apart, which protects "
        "next to nothing here"
        if asked < low
        else f"no two loads of a network that can serve {high:g} MVA differ by that much"
    )
    meant = [m for m in (asked / base, asked * base) if low <= m <= high]
    hint = ""
    if meant:
        hint = (
            f" Was α = {meant[0] / base:g} p.u. meant, which is {meant[0]:g} MVA? α is in p.u. on "
            f"the base of {base:g} MVA."
        )
    raise GridveilError(
        f"alpha = {asked / base:g} p.u. is {asked:g} MVA: {what}. Nothing was drawn.{hint} "
        f"Distances from {low:.1g} to {high:.3g} MVA make sense for {network.name}; one beyond "
        "them has to be set first, with a reason: gridveil ledger cap --distance"
    )
