"""Weights of loads: the fidelity phase measures distances in the metric of the promise.

The phase minimises Σ_i w_i((p_i − p̃_i)² + (q_i − q̃_i)²):

- an absolute promise with one distance for all loads: w_i = 1;
- an absolute promise with a distance α_i for each load: w_i = s²/α_i², s = 0.1 p.u.;
- a promise relative to the load, with a floor x₀: w_i = s²/(|S̃_i|² + x₀²), s = 1 p.u.

A weight depends on the private load and on public numbers alone. So it costs no privacy, and the
agent of a load computes its own. A constant s scales all weights alike and changes no solution. It
sets how steep the objective is, relative to Ipopt's tolerance and to the agents' first penalties.
The two constants agree where the distance of a load is a tenth of it.
"""

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.metric import Metric

_UNIT_LOAD = 1.0
"""s of a relative promise, in p.u.: the load that has a weight of 1."""
_UNIT_DISTANCE = 0.1
"""s of distances per load, in p.u.: the distance whose load has a weight of 1."""


def metric_weights(guarantee: Guarantee, noisy: FloatArray) -> FloatArray:
    """Return the weight of every load in the metric of its promise.

    Args:
        guarantee: The promise.
        noisy: P and Q of the private loads in p.u., of shape (loads, 2).

    Returns:
        The weights, of shape (loads,).

    Example:
        >>> import numpy as np
        >>> from gridveil import PolarLaplace
        >>> metric_weights(PolarLaplace.of(1, 0.1).guarantee(), np.zeros((3, 2)))
        array([1., 1., 1.])
    """
    if guarantee.kind is Metric.RELATIVE:
        if guarantee.floor is None:
            raise GridveilError(f"{guarantee.mechanism}: a relative promise needs a floor")
        return np.asarray(_UNIT_LOAD**2 / ((noisy**2).sum(axis=1) + guarantee.floor**2))
    if guarantee.distances is None:
        return np.ones(len(noisy))
    distances = np.array(guarantee.distances)
    if distances.shape != (len(noisy),):
        raise GridveilError(f"{len(distances)} distances α for {len(noisy)} loads")
    return distance_weights(distances)


def distance_weights(distances: FloatArray) -> FloatArray:
    """Return the weight of every load of an absolute promise with a distance α for each, in p.u."""
    return np.asarray(_UNIT_DISTANCE**2 / distances**2)


def joint_weights(guarantee: Guarantee, noisy: FloatArray) -> FloatArray:
    """Return weights of loads beside which those of other quantities are 1/α², α their distance.

    Args:
        guarantee: The promise of the loads.
        noisy: P and Q of the private loads in p.u., of shape (loads, 2).

    Raises:
        GridveilError: The promise holds at any distance, which measures nothing.
    """
    if guarantee.distance is None:
        raise GridveilError(
            f"{guarantee.mechanism}: its promise has no distance, in which loads could be weighed "
            "against other quantities; use a mechanism that has one"
        )
    weights = metric_weights(guarantee, noisy)
    if guarantee.kind is Metric.RELATIVE:
        return weights / (_UNIT_LOAD * guarantee.distance) ** 2
    unit = guarantee.distance if guarantee.distances is None else _UNIT_DISTANCE
    return weights / unit**2


def weighted_distance(one: FloatArray, other: FloatArray, weights: FloatArray) -> float:
    """Return the distance of two sets of loads, of shape (loads, 2), in the weighted L2 norm."""
    return float(np.linalg.norm(np.sqrt(weights)[:, None] * (one - other)))
