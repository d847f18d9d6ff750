"""Loads made up from public numbers alone, to try out a release without the true ones.

Each load gets a random part of its public rating or, without ratings, of what the branches at its
bus can carry. All are scaled to what the generators can give, and further down until the network
has an AC-OPF. Nothing here reads a raw load: the network is blank.
"""

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.projection import projected_loads
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.nonlinear_program import Iteration
from gridveil.privacy.plausible_distance import typical_load

_PART = (0.1, 0.6)
"""Of its rating, or of what branches carry, that a load draws: the ends of a uniform draw."""
_POWER_FACTOR = (0.9, 1.0)
_CAPACITY = 0.6
"""The share of all generators' capacity that the loads draw at most."""
_SCALES = (1.0, 0.8, 0.6, 0.4, 0.2)
_MARGINS = (0.05, 0.02, 0.002)
"""By which limits are tightened before loads are projected, where no scale works."""
_MOST_ITERATIONS = 500


def made_up_opf(network: Network, ratings_mva: FloatArray | None, seed: int) -> OPFResult:
    """Return an AC-OPF of a network with made-up loads; its network holds them.

    Args:
        network: The network without loads, such as `blank` returns.
        ratings_mva: The public rating of each load, if there are any.
        seed: Of the random parts and power factors.
    """
    loads = _made_up(network, ratings_mva, np.random.default_rng(seed))
    for scale in _SCALES:
        found = solve_acopf(network.with_loads(*(scale * loads).T), watch=_goes_on)
        if found.status.solved:
            return found
    for margin in _MARGINS:
        near = projected_loads(network, loads, margin)
        if near.status.solved:
            nearer = network.with_loads(near.p, near.q)
            found = solve_acopf(nearer, start=near.point, watch=_goes_on)
            if found.status.solved:
                return found
    raise GridveilError(
        f"{network.name}: no made-up loads were found that it can serve; its owner can forecast "
        "with the true ones (--from own)"
    )


def _made_up(
    network: Network, ratings_mva: FloatArray | None, random: np.random.Generator
) -> FloatArray:
    """Return made-up loads in p.u., of shape (loads, 2), within the capacity of the generators."""
    sizes = _sizes(network) if ratings_mva is None else ratings_mva / network.base_mva
    p = sizes * random.uniform(*_PART, len(sizes))
    capacity = float(np.maximum(network.generators.p_max, 0.0).sum())
    p *= min(1.0, _CAPACITY * capacity / float(p.sum()))
    factor = random.uniform(*_POWER_FACTOR, len(sizes))
    return np.stack([p, p * np.tan(np.arccos(factor))], axis=1)


def _sizes(network: Network) -> FloatArray:
    """Return what the branches at each load can carry, in p.u., shared by the loads of a bus.

    It is the usual size where they have no limit.
    """
    typical = typical_load(network)
    if typical is None:
        raise GridveilError(
            f"{network.name}: no public number tells how large its loads may be: neither its "
            "generators nor its branches have limits"
        )
    lines, carried = network.lines, np.zeros(len(network.buses))
    for ends in (lines.from_bus, lines.to_bus):
        np.add.at(carried, ends, lines.rate)
    shared = carried / np.maximum(np.bincount(network.loads.bus, minlength=len(carried)), 1)
    at_loads = shared[network.loads.bus]
    usable = np.isfinite(at_loads) & (at_loads > 0)
    return np.where(usable, at_loads, typical / network.base_mva)


def _goes_on(iteration: Iteration) -> bool:
    return iteration.number < _MOST_ITERATIONS
