"""The fidelity phase: `restore` moves noisy loads just far enough that the network works."""

import time
from collections.abc import Callable
from typing import Literal

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.fidelity.bilevel import solve_bilevel
from gridveil.fidelity.central import solve_central
from gridveil.fidelity.result import Found, Restored, judged
from gridveil.network.network import Network
from gridveil.privacy.phase import NoisyLoads

Method = Literal["central", "bilevel"]
BandKind = Literal["generator", "total"]

_METHODS: dict[str, Callable[[Network, FloatArray, FloatArray, float, str], Found]] = {
    "central": solve_central,
    "bilevel": solve_bilevel,
}


def restore(
    network: Network,
    noisy: NoisyLoads,
    costs: FloatArray,
    beta: float,
    method: Method = "central",
    band: BandKind = "generator",
) -> Restored:
    """Return the loads closest to the noisy ones with which the network works.

    `costs` are the public costs O*_g in $/h, `beta` how far the costs may be off them, relatively:
    of every generator (`band="generator"`, the paper's Model 3), or in total. "central" solves the
    paper's P_RBL: some dispatch within the bands serves the loads. "bilevel" solves P_BL: also the
    optimal dispatch of the restored network costs what it should, in total.

    Of `network`, the values of the loads are not used, only where they are.
    """
    costs = np.asarray(costs, dtype=float)
    if method not in _METHODS:
        raise GridveilError(f"method: {method!r} is none of {', '.join(_METHODS)}")
    if band not in ("generator", "total"):
        raise GridveilError(f"band: {band!r} is neither 'generator' nor 'total'")
    if not 0 <= beta < np.inf:
        raise GridveilError(f"beta: {beta} must be 0 or more; 0.01 keeps costs within 1 %")
    if costs.shape != network.generators.p_min.shape or not np.isfinite(costs).all():
        raise GridveilError(
            f"costs: one finite number for each of the {len(network.generators)} generators needed"
        )
    if noisy.p.shape != network.loads.p.shape:
        raise GridveilError(f"{len(noisy.p)} noisy loads for a network of {len(network.loads)}")
    loads = np.stack([noisy.p, noisy.q], axis=1)
    started = time.perf_counter()
    found = _METHODS[method](network, loads, costs, beta, band)
    return judged(network, loads, costs, method, found, time.perf_counter() - started)
