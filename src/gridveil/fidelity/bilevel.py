"""P_BL, which the paper relaxed: the *optimal* cost of the restored network lies within β of O*.

Any dispatch within the band bounds the optimal cost C from above, so only "too cheap" can happen.
C is a function of the loads whose gradient is the locational prices. P_RBL is therefore solved with
a cut, C_k + prices_k·(S − S_k) ≥ (1 − β) O*, taken at the last loads S_k, until the optimal cost of
the loads found is high enough. Where the whole cut cannot be kept, the solve comes as near to it as
it can, and the next cut starts from there. Once the cost is high enough, the cut is renewed at those
loads, where it cuts off less, as long as the displacement falls noticeably.

Only the last cut is kept: C is nearly convex, so each cut alone is enough, and all of them together
would cut off loads for no reason.
"""

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.fidelity.central import Attempt, Cut, bands_of, nearest_loads
from gridveil.fidelity.result import Found
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.status import Status

_ROUNDS = 20
_MARGIN = 1e-3
"""The share of β kept in reserve, so that rounding cannot take a cost out of its band."""
_WORTHWHILE = 0.01
"""The relative fall in displacement for which a cut is renewed."""


def solve_bilevel(
    network: Network, noisy: FloatArray, costs: FloatArray, beta: float, band: str
) -> Found:
    """Solve P_BL for noisy loads of shape (loads, 2)."""
    total = float(costs.sum())
    inner = beta * (1 - _MARGIN)
    least, most = total - inner * abs(total), total + beta * abs(total)
    bands, total_band = bands_of(network, costs, inner, band)
    attempt, solves, iterations = nearest_loads(network, noisy, bands, total_band)
    relaxed = _moved(attempt, noisy)
    best: tuple[Attempt, OPFResult] | None = None
    for _ in range(_ROUNDS):
        if not attempt.status.solved:
            break
        opf = solve_acopf(network.with_loads(attempt.p, attempt.q))
        solves, iterations = solves + 1, iterations + opf.iterations
        if not opf.status.solved:
            break
        if least <= opf.cost <= most:
            before = np.inf if best is None else _moved(best[0], noisy)
            now = _moved(attempt, noisy)
            best = (attempt, opf) if now < before else best
            if now > (1 - _WORTHWHILE) * before or now <= (1 + _WORTHWHILE) * relaxed:
                break
        cut = _cut(network, opf, least)
        attempt, more, steps = nearest_loads(network, noisy, bands, total_band, cut, attempt)
        solves, iterations = solves + more, iterations + steps
    if best is None:
        status = Status.ITERATION_LIMIT if attempt.status.solved else attempt.status
        return Found(status, attempt.p, attempt.q, attempt.point, bands, solves, iterations)
    found, opf = best
    return Found(
        status=found.status,
        p=found.p,
        q=found.q,
        point=found.point,
        bands=bands,
        solves=solves,
        iterations=iterations,
        opf=opf,
        extra_displacement=_moved(found, noisy) - relaxed,
    )


def _cut(network: Network, opf: OPFResult, least: float) -> Cut:
    loads, mva = opf.network.loads, network.base_mva
    active, reactive = (price[loads.bus] * mva for price in (opf.active_price, opf.reactive_price))
    at = float(active @ loads.p + reactive @ loads.q)
    return Cut(active, reactive, least - opf.cost + at)


def _moved(attempt: Attempt, noisy: FloatArray) -> float:
    return float(np.linalg.norm(np.stack([attempt.p, attempt.q], axis=1) - noisy))
