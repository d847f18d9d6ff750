"""Recursive spectral bisection: cuts a graph into parts of similar size with few edges between.

The graph is cut in two again and again, each time along its Fiedler vector, the eigenvector of the
second smallest eigenvalue of its Laplacian.
"""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, laplacian
from scipy.sparse.linalg import eigsh

from gridveil.arrays import FloatArray, IntArray

_WEAK_EDGE = 1e-3
"""Weight of the edges that join parts which are not connected."""
_MAX_DENSE_SIZE = 1000
"""Up to this number of nodes a dense eigenvalue solver is fast enough."""


def bisect(ends: IntArray, other_ends: IntArray, nodes: int, count: int) -> IntArray:
    """Return the part, from 0, of every node of a graph that is given by the ends of its edges."""
    edges = coo_array((np.ones(len(ends)), (ends, other_ends)), shape=(nodes, nodes)).tocsr()
    parts = np.zeros(nodes, dtype=np.int64)
    _cut((edges + edges.T).tocsr(), np.arange(nodes), count, 0, parts)
    return parts


def _cut(graph: csr_array, nodes: IntArray, count: int, first: int, parts: IntArray) -> None:
    """Cut some nodes into `count` parts and number these from `first`."""
    if count == 1:
        parts[nodes] = first
        return
    half = count // 2
    order = nodes[np.argsort(_fiedler_vector(graph[nodes][:, nodes]), kind="stable")]
    middle = len(nodes) * half // count
    _cut(graph, np.sort(order[:middle]), half, first, parts)
    _cut(graph, np.sort(order[middle:]), count - half, first + half, parts)


def _fiedler_vector(graph: csr_array) -> FloatArray:
    """Return the Fiedler vector of a graph, with the first of its largest entries above 0.

    Components that are not connected are joined by weak edges, so that they are separated first.
    """
    size = graph.shape[0]
    first = np.unique(connected_components(graph)[1], return_index=True)[1]
    weak = coo_array(
        (np.full(len(first) - 1, _WEAK_EDGE), (first[:-1], first[1:])), shape=(size, size)
    )
    weights: Any = laplacian(csr_array(graph + weak + weak.T))
    if size <= _MAX_DENSE_SIZE:
        vector = np.linalg.eigh(weights.toarray())[1][:, 1]
    else:
        start = np.sin(np.arange(size))  # any vector, but always the same
        vector = eigsh(weights.tocsc(), k=2, sigma=-1e-3, v0=start)[1][:, 1]
    rounded = np.round(vector / np.abs(vector).max(), 6)
    return np.asarray(rounded * np.sign(rounded[np.argmax(np.abs(rounded))]))
