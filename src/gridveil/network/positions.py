"""Where to draw buses: as far apart as they are along the lines."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from gridveil.arrays import FloatArray
from gridveil.network.components import Buses, Lines

_PIVOTS = 60
"""Buses whose distances to all others give the first placement."""
_ITERATIONS = 60
_REFINED_UP_TO = 1500
"""Buses up to which the distances of all pairs count."""


def positions(buses: Buses, lines: Lines) -> FloatArray:
    """Return x and y of every bus in [0, 1], of shape (buses, 2); the same for the same network."""
    n = len(buses)
    graph = coo_array((np.ones(len(lines)), (lines.from_bus, lines.to_bus)), shape=(n, n)).tocsr()
    pivots = np.unique(np.linspace(0, n - 1, min(n, _PIVOTS)).astype(int))
    hops = shortest_path(graph, directed=False, unweighted=True, indices=pivots)
    unreached = np.max(hops[np.isfinite(hops)], initial=1.0) + 2
    place = _from_pivots(np.where(np.isfinite(hops), hops, unreached))
    if 2 < n <= _REFINED_UP_TO:
        wanted = shortest_path(graph, directed=False, unweighted=True)
        place = _refined(place, np.where(np.isfinite(wanted), wanted, unreached))
    low, high = place.min(axis=0), place.max(axis=0)
    scaled: FloatArray = (place - low) / np.maximum(high - low, 1e-9).max()
    return scaled


def _from_pivots(hops: FloatArray) -> FloatArray:
    """Return a first placement: the two main directions of the distances to some buses."""
    square = hops**2
    centred = square - square.mean(axis=0) - square.mean(axis=1, keepdims=True) + square.mean()
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    place = np.zeros((hops.shape[1], 2))
    main = directions[:2]  # with the sign that makes the first large coordinate positive
    first = np.argmax(np.abs(main) >= np.abs(main).max(axis=1, keepdims=True) / 2, axis=1)
    main = main * np.where(main[np.arange(len(main)), first] < 0, -1, 1)[:, None]
    place[:, : len(main)] = main.T * np.sqrt(hops.shape[1])
    # Buses at the same place could never be told apart again.
    return place + np.random.default_rng(0).normal(scale=1e-3, size=place.shape)


def _refined(place: FloatArray, wanted: FloatArray) -> FloatArray:
    """Move buses until their distances are as wanted as can be (stress majorisation)."""
    weight = 1 / np.maximum(wanted, 1.0) ** 2
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(_ITERATIONS):
        gap = place[:, None, :] - place[None, :, :]
        length = np.maximum(np.linalg.norm(gap, axis=2), 1e-9)
        pull = -weight * wanted / length
        np.fill_diagonal(pull, 0.0)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        place = inverse @ (pull @ place)
    return place
