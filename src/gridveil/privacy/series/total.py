"""The total load of every hour, bought with a small share of ε where that pays.

Proof. Every load is rounded to whole steps of γ = α/M, with α the largest distance of any load,
and the steps are added up in whole numbers. If P and Q of one load move by d, the total moves by at
most d/γ + 2 steps, as the load itself does; all other loads stay. So the proof of the series
mechanism holds for the total, as for a load with that α. Each load is charged for it at its own
distance, which is no larger. ∎

The rule when it pays. The noise of the sum of private loads has a variance of Σ α_i², in units that
matter not, that of the private total one of α_max². With a share s of ε for the total, the best of
both has 1/((1 − s)²/Σ α_i² + s²/α_max²). A fifth of ε is spent where that halves the noise of the
total, and nothing where it does not: noise on the loads becomes a quarter larger. That takes about
84 loads of the same distance. These are public numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.network.network import Network
from gridveil.network.series.load_series import LoadSeries
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import LoadOwner, RegisterChoice, Spending
from gridveil.privacy.phase import Origin
from gridveil.privacy.series.mechanism import SeriesMechanism
from gridveil.privacy.series.phase import check_together, spending_of_series
from gridveil.privacy.total import total_id

SHARE = Fraction(1, 5)
"""The part of ε that buys the total where that pays."""
_PAYS = 0.25
"""The variance of the total's noise must fall to so much of what it was."""


@dataclass(frozen=True, eq=False)
class PrivateTotal(ArrayRecord):
    """The private total of a series."""

    coefficients: IntArray
    """Of shape (1, 2, blocks, coefficients of a block)."""
    origin: Origin
    mechanism: SeriesMechanism

    def measured(self) -> FloatArray:
        """Return what was measured of the total, in p.u., of shape (2, blocks, coefficients)."""
        return np.asarray(self.mechanism.measured(self.coefficients)[0])


def share_for_total(alphas: Sequence[Fraction]) -> Fraction:
    """Return the part of ε that should buy the total of loads with these distances: SHARE or 0.

    Example:
        >>> share_for_total([Fraction(1)] * 100), share_for_total([Fraction(1)] * 50)
        (Fraction(1, 5), Fraction(0, 1))
    """
    numbers = np.array([float(alpha) for alpha in alphas])
    loads = (numbers**2).sum() / numbers.max() ** 2
    share = float(SHARE)
    return SHARE if (1 - share) ** 2 + share**2 * loads >= 1 / _PAYS else Fraction(0)


def split(mechanism: SeriesMechanism, share: Fraction) -> tuple[SeriesMechanism, SeriesMechanism]:
    """Return the mechanism of the loads and that of their total, which together keep the promise.

    Args:
        mechanism: What would draw the loads alone.
        share: The part of ε for the total, above 0 and below 1.
    """
    promise, largest = mechanism.promise, max(mechanism.alphas)
    epsilon = promise.epsilon * share
    return (
        replace(mechanism, promise=replace(promise, epsilon=promise.epsilon - epsilon)),
        replace(mechanism, promise=replace(promise, epsilon=epsilon), alphas=(largest,)),
    )


def privatise_total_series(
    network: Network,
    series: LoadSeries,
    mechanism: SeriesMechanism,
    of_loads: SeriesMechanism,
    ledger: Ledger,
    release_id: str,
    *,
    conditions: Mapping[str, str] | None = None,
    register: RegisterChoice | None = None,
) -> PrivateTotal:
    """Draw the private total of a release, charge every load for it, and store it.

    Args:
        network: Whose loads they are.
        series: Their values.
        mechanism: What draws the total, from `split`.
        of_loads: What draws the loads, from `split`: the total is charged at their distances.
        ledger: Holds the budgets.
        release_id: That of the loads; the total has one of its own.
        conditions: What else the id stands for.
        register: Which register of the ledger the loads belong to.
    """
    check_together(network, series, of_loads)
    owner = owner_of(network, register)
    asked = spending_of_total(
        owner, mechanism, of_loads, {"total of": release_id, **(conditions or {})}
    )

    def draw() -> IntArray:
        # The ledger keeps a row for every load it charges; the total stands in one, nothing else.
        drawn = mechanism.release(total_on_grid(series, mechanism)).reshape(1, -1)
        rows = np.zeros((of_loads.loads, drawn.shape[1]), dtype=np.int64)
        rows[0] = drawn
        return rows

    rows = ledger.spend(total_id(release_id), asked, draw)
    drawn = rows.sum(axis=0).reshape(mechanism.shape)
    return PrivateTotal(drawn, Origin.EXACT, mechanism)


def spending_of_total(
    owner: LoadOwner,
    mechanism: SeriesMechanism,
    of_loads: SeriesMechanism,
    conditions: Mapping[str, str] | None = None,
) -> Spending:
    """Return what the total asks of the budget of every load."""
    at_loads = replace(mechanism, alphas=of_loads.alphas)
    asked = spending_of_series(owner, at_loads, {**mechanism.specification(), **(conditions or {})})
    return asked


def simulate_total_series(
    series: LoadSeries, mechanism: SeriesMechanism, seed: int
) -> PrivateTotal:
    """Draw a noisy total for a study: fast and repeatable, not private, no budget touched."""
    random = np.random.default_rng(seed)
    drawn = mechanism.simulate(total_on_grid(series, mechanism), random)
    return PrivateTotal(drawn, Origin.SIMULATION, mechanism)


def total_on_grid(series: LoadSeries, mechanism: SeriesMechanism) -> IntArray:
    """Return the sum of all loads in steps of the total's mechanism, of shape (1, 2, hours)."""
    (step,) = mechanism.alphas
    alike = replace(mechanism, alphas=(step,) * len(series.keys))
    steps = alike.to_grid(series.p, series.q).astype(object)  # 64 bits hold 2047 of the largest
    total = np.clip(steps.sum(axis=0, keepdims=True), -mechanism.largest, mechanism.largest)
    return np.asarray(total.astype(np.int64))
