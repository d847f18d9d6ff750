"""How much of ε should buy a private total load, from which the costs O* are then computed.

The private loads add up to a total for free, whose error grows with the root of their number; the
error of a bought one does not. So a share of ε pays where there are many loads. What it costs is
noise: that of every load grows by 1/(1 − share). All of this is public: nothing depends on loads.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace

_SHARES = (Fraction(0), Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
_WORTH = 0.5
"""The error of the total that a share must get to, relative to none, to be worth its noise."""


@dataclass(frozen=True)
class CostShare:
    """What a share of ε for the total load would give."""

    share: Fraction
    load_noise: float
    """Standard deviation of P of a load, in p.u."""
    total_error: float
    """Standard deviation of P of the total that the costs are computed from, in p.u."""


def cost_shares(
    make: Callable[[Fraction], Mechanism], epsilon: Fraction, alpha: float | None, loads: int
) -> tuple[CostShare, ...]:
    """Return what each share would give; nothing where the mechanism does not say its variance.

    Args:
        make: Makes the mechanism of the loads for an ε.
        epsilon: That of the whole release.
        alpha: The distance in p.u. at which a total is bought; None where none can be.
        loads: How many there are.
    """
    if alpha is None:
        return ()
    found = []
    for share in _SHARES:
        variance = make(epsilon * (1 - share)).noise_variance()
        if variance is None:
            return ()
        precision = 1 / (loads * variance)
        if share:
            precision += 1 / ProductLaplace.of(epsilon * share, alpha).noise_variance()
        found.append(CostShare(share, math.sqrt(variance), 1 / math.sqrt(precision)))
    return tuple(found)


def best_share(shares: Sequence[CostShare]) -> CostShare | None:
    """Return the smallest share that halves the error of the total, else none of ε."""
    if not shares:
        return None
    enough = [one for one in shares if one.total_error <= _WORTH * shares[0].total_error]
    return enough[0] if enough else shares[0]
