"""Whether a promise leaves a series that is worth releasing, judged on made-up loads alone.

Two baselines need no hourly data: the public shape times the rating, and the public shape with the
true energy of each load. Smoothing draws what is drowned in noise towards the first: a release that
is not at least a tenth nearer than one of them tells nothing that was not public, and is refused
unless that is accepted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.series.shapes import CUSTOMERS
from gridveil.privacy.series.design import chosen_basis
from gridveil.privacy.series.mechanism import SeriesMechanism
from gridveil.privacy.series.prior import Prior, made_up_customers
from gridveil.privacy.series.promise import SeriesPromise
from gridveil.privacy.series.smoothing import smoothed_coefficients

_MOST_LOADS = 60
_BEATEN = 0.9
_EARLY = 3
"""So many hours the days of made-up loads begin before those of the prior. No prior has the shapes
of real loads: with this the true energy and the public shape are as far off as on SimBench."""
_SEED = 1
"""Of the made-up loads; the prior has another."""


@dataclass(frozen=True)
class Errors:
    """How far a series is off: medians over loads, and the total of all of them."""

    p: float
    """Relative L2 error of a load's active power."""
    q: float
    total: float
    """Relative L2 error of the total active power."""
    peak: float
    """Relative error of a load's largest active power."""
    ramp: float
    """Relative L2 error of the changes of active power from hour to hour."""


@dataclass(frozen=True)
class SeriesForecast:
    """How useful a promise is expected to be."""

    promise: SeriesPromise
    released: Errors
    no_data: Errors
    true_energy: Errors

    @property
    def is_useless(self) -> bool:
        """Whether it is hardly nearer than the worse of both baselines, or further off."""
        return self.released.p > _BEATEN * max(self.no_data.p, self.true_energy.p)

    def require_useful(self, accept_useless: bool) -> None:
        """Refuse a promise that beats neither baseline, unless that is accepted.

        Args:
            accept_useless: Whether it is.

        Raises:
            GridveilError: It is useless, and that was not accepted.
        """
        if self.is_useless and not accept_useless:
            raise GridveilError(self.sentence())

    def sentence(self) -> str:
        """Return what is to be expected, for people."""
        figures = (
            f"half of the loads will be off by more than {100 * self.released.p:.0f} %, where the "
            f"public shape times the rating is off by {100 * self.no_data.p:.0f} %, and with the "
            f"true energy of each load by {100 * self.true_energy.p:.0f} %"
        )
        if not self.is_useless:
            return f"On made-up loads, {figures}."
        return (
            f"This promise would make the release useless: on made-up loads, {figures}. Raise "
            "epsilon, hide less, or choose another promise; --accept-useless (accept_useless in "
            "Python) releases it all the same"
        )


def errors_of(p: FloatArray, q: FloatArray, true_p: FloatArray, true_q: FloatArray) -> Errors:
    """Return how far a series is off from the true one; arrays of shape (hours, loads)."""
    peak = np.abs(p.max(axis=0) - true_p.max(axis=0)) / np.abs(true_p).max(axis=0)
    return Errors(
        _median_off(p, true_p),
        _median_off(q, true_q),
        float(_off(p.sum(axis=1, keepdims=True), true_p.sum(axis=1, keepdims=True))[0]),
        float(np.median(peak)),
        _median_off(np.diff(p, axis=0), np.diff(true_p, axis=0)) if len(p) > 1 else 0.0,
    )


def _off(found: FloatArray, true: FloatArray) -> FloatArray:
    size = np.sqrt((true**2).sum(axis=0))
    return np.asarray(np.sqrt(((found - true) ** 2).sum(axis=0))[size > 0] / size[size > 0])


def _median_off(found: FloatArray, true: FloatArray) -> float:
    off = _off(found, true)
    return float(np.median(off)) if len(off) else 0.0


def no_data(prior: Prior, ratings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the public shape times the rating of each load."""
    p, q = (shape.mean(axis=0)[:, None] * ratings for shape in (prior.p, prior.q))
    return p, q


def true_energy(
    p: FloatArray, q: FloatArray, prior: Prior, ratings: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the public shape with the true energy of each load."""
    found = []
    for true, shape in zip((p, q), no_data(prior, ratings), strict=True):
        found.append(shape * (true.sum(axis=0) / shape.sum(axis=0)))
    return found[0], found[1]


def forecast_series(
    promise: SeriesPromise,
    first_hour: int,
    hours: int,
    alphas: Sequence[Fraction],
    ratings: Sequence[float] | FloatArray,
    prior: Prior | None = None,
) -> SeriesForecast:
    """Return how useful a promise will be, by a simulated release of made-up loads.

    Args:
        promise: What is hidden.
        first_hour: Hours since 1970-01-01 00:00 UTC.
        hours: How many.
        alphas: α of each load in p.u.
        ratings: The public rating of each load in p.u.
        prior: What the release will be smoothed with; the made-up one if None.

    Example:
        >>> promise = SeriesPromise.of("window", 1, "100%rating")
        >>> forecast_series(promise, 482256, 48, [Fraction(1)] * 5, [1.0] * 5).is_useless
        True
    """
    known = Prior.generated(first_hour, hours) if prior is None else prior
    chosen = np.linspace(0, len(alphas) - 1, min(len(alphas), _MOST_LOADS)).astype(int)
    some = tuple(alphas[i] for i in chosen)
    sizes = np.asarray(ratings, dtype=float)[chosen]
    shares = made_up_customers(first_hour + _EARLY, hours, CUSTOMERS, len(some), _SEED)
    p, q = (share.T * sizes for share in shares)
    basis = chosen_basis(promise, known, [float(alpha) for alpha in some], sizes)
    mechanism = SeriesMechanism(promise, Fraction(1), some, first_hour, hours, basis)
    drawn = mechanism.simulate(mechanism.to_grid(p, q), np.random.default_rng(_SEED))
    found = smoothed_coefficients(mechanism, drawn, known, sizes)
    return SeriesForecast(
        promise,
        errors_of(*found, p, q),
        errors_of(*no_data(known, sizes), p, q),
        errors_of(*true_energy(p, q, known, sizes), p, q),
    )
