"""Loads moved to the nearest with which a network works, a margin away from every limit.

At the edge of what a network can do, an AC-OPF hardly converges and its prices explode. So limits
are tightened before loads are projected, and the network itself keeps the margin as room.
"""

from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.fidelity.bands import limit_bands
from gridveil.fidelity.central import Attempt, nearest_loads
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.network.network import Network
from gridveil.opf.nonlinear_program import Watch


def projected_loads(
    network: Network,
    loads: FloatArray,
    margin: float,
    weights: FloatArray | None = None,
    limits: LoadLimits | None = None,
    watch: Watch | None = None,
) -> Attempt:
    """Return the loads closest to those given with which the network works within tighter limits.

    Args:
        network: The network; the values of its own loads are not used.
        loads: P and Q of every load in p.u., of shape (loads, 2).
        margin: See `tightened`.
        weights: How much the squared distance of each load counts; None for all alike.
        limits: Public limits of the loads, which are not tightened.
        watch: Called after every iteration; returning False ends the search without a result.
    """
    tight = tightened(network, margin)
    bands = limit_bands(tight.generators)
    attempt, _, _ = nearest_loads(
        tight, loads, bands, None, weights=weights, limits=limits, watch=watch
    )
    return attempt


def tightened(network: Network, margin: float) -> Network:
    """Return the network with every limit moved inwards.

    Voltages, outputs and angles lose the share `margin` of their range at each end, and ratings of
    lines that share of themselves.
    """
    buses, gens, lines = network.buses, network.generators, network.lines
    v_min, v_max = _inner(buses.v_min, buses.v_max, margin)
    p_min, p_max = _inner(gens.p_min, gens.p_max, margin)
    q_min, q_max = _inner(gens.q_min, gens.q_max, margin)
    angle_min, angle_max = _inner(lines.angle_min, lines.angle_max, margin)
    return replace(
        network,
        buses=replace(buses, v_min=v_min, v_max=v_max),
        generators=replace(gens, p_min=p_min, p_max=p_max, q_min=q_min, q_max=q_max),
        lines=replace(
            lines, rate=lines.rate * (1 - margin), angle_min=angle_min, angle_max=angle_max
        ),
    )


def _inner(low: FloatArray, high: FloatArray, margin: float) -> tuple[FloatArray, FloatArray]:
    """Return bounds moved inwards; a range that is infinite stays as it is."""
    width = high - low
    room = np.where(np.isfinite(width), margin * width, 0.0)
    return low + room, high - room
