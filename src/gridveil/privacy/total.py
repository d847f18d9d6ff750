"""The total load of a network, bought with part of the budget.

Proof. Loads are first rounded to the grid. Two values of one load at most α apart (L1) are then at
most α/γ + 2 steps apart, and so are the two totals: all other loads stay as they are, and clamping
the total to a public number brings no two totals further apart. So the proof of the product Laplace
mechanism holds for the total as it does for a load.

The private loads add up to a private total as well, which is worse the more loads there are. The
two are weighted by their inverse variances, and all loads moved alike to add up to the result.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.network import Network
from gridveil.privacy.calibration import Number
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import RegisterChoice
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.phase import spending
from gridveil.privacy.sampling.grid import from_grid, to_grid, total_on_grid


@dataclass(frozen=True)
class NoisyTotal:
    """A private total load, in p.u., and what it cost each load."""

    p: float
    q: float
    mechanism: ProductLaplace


def total_id(release_id: str) -> str:
    """Return the id under which the ledger keeps the total of a release."""
    return f"{release_id} (total)"


def privatise_total(
    network: Network,
    epsilon: Number,
    alpha: Number,
    ledger: Ledger,
    release_id: str,
    register: RegisterChoice | None = None,
) -> NoisyTotal:
    """Draw the private total load of a release, charge every load for it, and store it."""
    mechanism = ProductLaplace.of(epsilon, alpha)

    def draw() -> IntArray:
        # The ledger keeps a row for every load it charges; the total stands in one, nothing else.
        rows = np.zeros((len(network.listed_loads), 2), dtype=np.int64)
        total = total_on_grid(to_grid(network.loads.values, mechanism.step))
        rows[:1] = mechanism.release(total)
        return rows

    specification = {"total of": release_id, **mechanism.specification()}
    asked = spending(owner_of(network, register), epsilon, alpha, specification)
    rows = ledger.spend(total_id(release_id), asked, draw)
    p, q = from_grid(rows.sum(axis=0, keepdims=True), mechanism.step)[0]
    return NoisyTotal(float(p), float(q), mechanism)


def moved_to_total(
    loads: FloatArray, total: FloatArray, noise_variance: float | None, mechanism: ProductLaplace
) -> FloatArray:
    """Return private loads, moved alike to add up to the best estimate of their total.

    It is linear in `loads` and `total`, and so it is for their noise.

    Args:
        loads: P and Q of the private loads, of shape (..., loads, 2).
        total: P and Q of the private total, of shape (..., 2).
        noise_variance: That of P, and of Q, of each load; None takes the private total alone.
        mechanism: What drew the total.
    """
    count = loads.shape[-2]
    of_total = mechanism.noise_variance()
    of_sum = np.inf if noise_variance is None else count * noise_variance
    weight = 1.0 if np.isinf(of_sum) else of_sum / (of_sum + of_total)
    gap = weight * (total - loads.sum(axis=-2)) / count
    return np.asarray(loads + gap[..., None, :])
