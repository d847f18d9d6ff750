"""Lines and loads restored so that the *optimal* cost of the network is within β of O*.

Any dispatch within the band bounds the optimal cost C from above, so only "too cheap" can happen.
C is a function of all quantities, whose gradient is known by the envelope theorem
(opf/cost_gradients.py). So the central program is solved with a cut,

    C_k + ∇C_k·(u − u_k) ≥ (1 − β)O*,

taken at the last quantities u_k, until their optimal cost is high enough. Where nothing is
congested the gradient is tiny and a cut asks for absurd moves: all but loads stays within `REACH`
of u_k in each round, in t, s and m. Where no cut can help, the result says how far it got.
"""

from dataclasses import dataclass

from gridveil.errors import GridveilError
from gridveil.fidelity.quantities import (
    Attempt,
    RestoredQuantities,
    nearest_quantities,
    private_network,
)
from gridveil.fidelity.quantities_program import QuantityCut
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.cost_gradients import cost_gradients
from gridveil.privacy.phase import NoisyLoads
from gridveil.privacy.quantities.phase import NoisyQuantities

_ROUNDS = 30
_MARGIN = 1e-3
"""The share of β kept in reserve, so that rounding cannot take a cost out of its band."""
_OVERSHOOT = 0.2
"""How much more than what is lacking a cut asks for, once the plain one was not enough."""
_PATIENCE = 5
"""Rounds with plain cuts."""


@dataclass(frozen=True, repr=False)
class RestoredOptimum:
    """A network restored from private quantities, and its optimal dispatch."""

    restored: RestoredQuantities
    opf: OPFResult
    """The AC-OPF of the restored network."""
    cuts: int
    is_within: bool
    """Whether the optimal cost is within β of O*; otherwise this is how far it got."""


def restore_optimum(
    network: Network,
    noisy: NoisyQuantities,
    cost: float,
    *,
    beta: float = 0.01,
    loads: NoisyLoads | None = None,
) -> RestoredOptimum:
    """Find a network near private quantities whose optimal cost is within β of a public one.

    Args:
        network: Its public parts, its costs among them, and its loads where none are given.
        noisy: The private impedances, ratings and limits.
        cost: O*, in $/h.
        beta: How far the optimal cost may be off, as a part of O*.
        loads: Private loads, where loads are protected too. They move with the lines.

    Returns:
        The restored network with its AC-OPF. Look at `is_within` and `restored.status` first.

    Raises:
        GridveilError: There is a quantity that cannot be restored, no band for such costs, or β
            makes no sense.

    Example:
        >>> from gridveil import load_case, protect, restore_optimum, simulate_quantities
        >>> network = load_case("case5_pjm")
        >>> noisy = simulate_quantities(network, [protect("impedances", 1, "10%")], seed=1)
        >>> restore_optimum(network, noisy, cost=17551.89).is_within
        True
    """
    if not 0 < beta < 1:
        raise GridveilError(f"beta: {beta} must be between 0 and 1; 0.01 is 1 %")
    inner = beta * (1 - _MARGIN) * abs(cost)
    total = (cost - inner, cost + inner)
    private = private_network(network, noisy, loads, total)
    attempt = nearest_quantities(private, noisy, loads, total)
    opf = _optimum(attempt)
    best, best_opf, cuts = attempt, opf, 0
    while cuts < _ROUNDS and attempt.restored.status.solved and opf.status.solved:
        if not best.restored.status.solved or opf.cost >= best_opf.cost:
            best, best_opf = attempt, opf
        if opf.cost >= total[0]:
            break
        cuts += 1
        overshoot = 0.0 if cuts <= _PATIENCE else _OVERSHOOT
        cut = _cut(attempt, opf, total[0] + overshoot * (total[0] - opf.cost))
        attempt = nearest_quantities(private, noisy, loads, total, before=attempt, cut=cut)
        opf = _optimum(attempt)
    solved = best.restored.status.solved and best_opf.status.solved
    within = solved and abs(best_opf.cost - cost) <= beta * abs(cost)
    return RestoredOptimum(best.restored, best_opf, cuts, within)


def _optimum(attempt: Attempt) -> OPFResult:
    """Solve an AC-OPF from the point known to work: from a flat start it may not get there."""
    return solve_acopf(attempt.restored.network, start=attempt.restored.point)


def _cut(attempt: Attempt, opf: OPFResult, least: float) -> QuantityCut:
    """Return the half-space in which prices promise the least cost."""
    around = attempt.x[attempt.built.moved]
    gradient = attempt.built.gradient(attempt.x, cost_gradients(opf))
    return QuantityCut(gradient, least - opf.cost + float(gradient @ around), around)
