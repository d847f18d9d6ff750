"""Smoothing of private series with a public prior: post-processing, which costs no privacy.

Each load, in shares of its rating, is taken as x_i = μ + δ_i: a mean μ that all loads share, and a
deviation of its own, both of the prior's covariance C. Released was y_i = A x_i + noise of known
variance V. With Gaussian numbers the best estimates are linear (Wiener):

    μ̂ = m + C Aᵀ (S + (s·S + V)/n)⁻¹ (ȳ − A m),        S = A C Aᵀ, ȳ the mean over n loads
    x̂_i = μ̂ + s·C Aᵀ (s·S + V)⁻¹ (y_i − A μ̂)

The scale s of deviations is estimated from the private series themselves, by frequency (empirical
Bayes). What shrinks every load shrinks their total, whose noise is small against it: the total is
estimated by itself, and the loads are moved in proportion to their ratings to add up to it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import dct

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.privacy.series.mechanism import SeriesMechanism
from gridveil.privacy.series.phase import PrivateSeries
from gridveil.privacy.series.prior import DAY, Prior, Spectrum, from_days, to_days
from gridveil.privacy.series.promise import SeriesPromiseKind

_TRUST = 8.0
"""How many observations the prior's own scale of deviations weighs as much as."""
_SCALES = (0.05, 20.0)
"""How far the scale of deviations may be from that of the prior."""


@dataclass(frozen=True)
class View:
    """How a release sees a prior: what it measures of it, frequency by frequency.

    `window` measures all frequencies at once and has a single one here.
    """

    mean: FloatArray
    """A m, of shape (frequencies, coefficients)."""
    within: FloatArray
    """S = A C Aᵀ, of shape (frequencies, coefficients, coefficients)."""
    lifting: FloatArray
    """C Aᵀ: of shape (days, 24, coefficients), for `window` too."""
    prior: Spectrum

    @classmethod
    def of(cls, mechanism: SeriesMechanism, prior: Spectrum) -> "View":
        """Return how a mechanism sees a prior."""
        directions = mechanism.basis.directions
        if mechanism.promise.kind is SeriesPromiseKind.WINDOW:
            rows = to_days_of_rows(directions, len(prior.mean))
            lifting = np.einsum("fhg,kfg->fhk", prior.covariance, rows, optimize=True)
            mean = np.einsum("kfh,fh->k", rows, prior.mean)[None]
            return cls(mean, np.einsum("jfh,fhk->jk", rows, lifting)[None], lifting, prior)
        if mechanism.promise.kind is SeriesPromiseKind.ENERGY:
            directions = np.eye(DAY)
        lifting = prior.covariance @ directions.T
        return cls(prior.mean @ directions.T, directions @ lifting, lifting, prior)

    def lift(self, weights: FloatArray) -> FloatArray:
        """Return C Aᵀ times weights, of shape (..., frequencies, coefficients), by days."""
        if len(self.mean) == len(self.lifting):
            return np.einsum("fhk,...fk->...fh", self.lifting, weights, optimize=True)
        return np.einsum("fhk,...k->...fh", self.lifting, weights[..., 0, :], optimize=True)

    def solve(self, within: FloatArray, noise: FloatArray, apart: FloatArray) -> FloatArray:
        """Return (within + noise)⁻¹ times columns of shape (..., frequencies, coefficients)."""
        matrix = within + np.eye(within.shape[-1]) * noise
        columns = np.moveaxis(apart.reshape(-1, *apart.shape[-2:]), 0, -1)
        return np.moveaxis(np.linalg.solve(matrix, columns), -1, 0).reshape(apart.shape)


def to_days_of_rows(rows: FloatArray, days: int) -> FloatArray:
    """Return rows over all hours transformed along days; hours the last day lacks count as 0."""
    whole = np.zeros((len(rows), days * DAY))
    whole[:, : rows.shape[1]] = rows
    return np.asarray(dct(whole.reshape(len(rows), days, DAY), axis=1, norm="ortho"))


def smoothed(
    private: PrivateSeries,
    prior: Prior,
    ratings: Sequence[float] | FloatArray,
    *,
    consumers: bool = True,
    power_factor: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return P and Q of a private series, smoothed, in p.u. and of shape (hours, loads).

    Args:
        private: The private series.
        prior: Public series of the same hours, in shares of ratings.
        ratings: The public rating of each load, in p.u.
        consumers: Whether no load ever feeds power back.
        power_factor: The lowest that a load has, if that is known; with `consumers`.

    Raises:
        GridveilError: The prior is about other hours, or there are other ratings than loads.

    Example:
        >>> from gridveil import load_case
        >>> from gridveil.network.series.shapes import example_series
        >>> from gridveil.privacy.series.mechanism import series_mechanism
        >>> from gridveil.privacy.series.phase import simulate_series
        >>> from gridveil.privacy.series.promise import SeriesPromise
        >>> network = load_case("case14_ieee")
        >>> series, ratings = example_series(network, hours=48, seed=1)
        >>> sizes = np.array([float(rating) for rating in ratings]) / network.base_mva
        >>> promise = SeriesPromise.of("day", 1, "5MVA")
        >>> made = series_mechanism(
        ...     promise, network.base_mva, promise.alphas(11, network.base_mva),
        ...     series.first_hour, 48)
        >>> private = simulate_series(network, series, made, seed=1)
        >>> p, q = smoothed(private, Prior.generated(series.first_hour, 48), sizes)
        >>> bool(np.abs(p - series.p).sum() < np.abs(private.p - series.p).sum())
        True
    """
    mechanism, sizes = private.mechanism, np.asarray(ratings, dtype=float)
    if prior.hours != private.hours:
        raise GridveilError(
            f"the prior has {prior.hours} hours and the series {private.hours}; it must be about "
            "the same hours"
        )
    if sizes.shape != (mechanism.loads,) or not (sizes > 0).all():
        raise GridveilError("ratings: one above 0 for each load is needed")
    measured = mechanism.measured(private.coefficients)
    noise = mechanism.noise_variances() / sizes[:, None] ** 2
    p, q = (
        _smoothed(mechanism, measured[:, i] / sizes[:, None, None], noise, sizes, spectrum)
        for i, spectrum in enumerate(prior.spectra)
    )
    return kept_within(p, q, consumers=consumers, power_factor=power_factor)


def kept_within(
    p: FloatArray, q: FloatArray, *, consumers: bool, power_factor: float | None
) -> tuple[FloatArray, FloatArray]:
    """Return loads at P ≥ 0 if all are consumers, and with Q within a power factor if one is given.

    Args:
        p: Active power.
        q: Reactive power.
        consumers: Whether no load ever feeds power back.
        power_factor: The lowest that a load has.
    """
    if power_factor is not None and not 0 < power_factor < 1:
        raise GridveilError(f"power factor: {power_factor:g} must be above 0 and below 1")
    if consumers:
        p = np.maximum(p, 0.0)
        if power_factor is not None:
            most = p * math.tan(math.acos(power_factor))
            q = np.clip(q, -most, most)
    return p, q


def _smoothed(
    mechanism: SeriesMechanism,
    measured: FloatArray,
    noise: FloatArray,
    sizes: FloatArray,
    prior: Spectrum,
) -> FloatArray:
    """Return smoothed P, or Q, in p.u.; `measured` has the shape (loads, blocks, coefficients)."""
    view = View.of(mechanism, prior)
    seen = _by_frequency(mechanism, measured, prior)
    spread = noise if mechanism.promise.kind is not SeriesPromiseKind.ENERGY else noise[:, [0]]
    loads, mean_noise = len(seen), spread.mean(axis=0)
    scale = _scale(view, seen, mean_noise)[:, None, None]
    common = view.within + (scale * view.within) / loads
    of_mean = view.solve(common, mean_noise / loads, (seen.mean(axis=0) - view.mean)[None])[0]
    apart = seen - view.mean - np.einsum("fjk,fk->fj", view.within, of_mean)
    weights = np.empty_like(seen)
    for one in np.unique(spread, axis=0):
        same = (spread == one).all(axis=1)
        weights[same] = scale[..., 0] * view.solve(scale * view.within, one, apart[same])
    days = prior.mean + view.lift(of_mean + weights)
    total = _total(view, seen, spread, sizes)
    gap = total - np.einsum("l,lfh->fh", sizes / sizes.sum(), days)
    return np.asarray(from_days(days + gap, mechanism.hours).T * sizes)


def _total(view: View, seen: FloatArray, noise: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the smoothed mean of all loads, weighted by their ratings, by days."""
    parts = sizes / sizes.sum()
    noise_of_mean = (parts[:, None] ** 2 * noise).sum(axis=0)
    variance = 1 + (parts**2).sum()
    apart = np.einsum("l,lfk->fk", parts, seen) - view.mean
    weights = variance * view.solve(variance * view.within, noise_of_mean, apart[None])[0]
    return view.prior.mean + view.lift(weights)


def _by_frequency(mechanism: SeriesMechanism, measured: FloatArray, prior: Spectrum) -> FloatArray:
    """Return what was measured of each load by frequency, (loads, frequencies, coefficients)."""
    if mechanism.promise.kind is SeriesPromiseKind.WINDOW:
        return measured
    if mechanism.promise.kind is SeriesPromiseKind.ENERGY:
        return to_days(measured[..., 0])
    missing = -mechanism.hours % DAY
    if missing:  # counted as zeros by the mechanism; by the prior they are not
        expected = from_days(prior.mean, len(prior.mean) * DAY)[-missing:]
        measured = measured.copy()
        measured[:, -1] += mechanism.basis.directions[:, -missing:] @ expected
    return np.asarray(dct(measured, axis=1, norm="ortho"))


def _scale(view: View, seen: FloatArray, noise: FloatArray) -> FloatArray:
    """Return by frequency how many times the prior's covariance deviations have.

    Frequencies are taken together in groups that grow by half, the first by itself.
    """
    loads, frequencies, count = seen.shape
    scale = np.ones(frequencies)
    if loads < 2:
        return scale
    found = ((seen - seen.mean(axis=0)) ** 2).sum(axis=(0, 2)) / (loads - 1) - count * (
        noise.mean()
    )
    expected = np.trace(view.within, axis1=1, axis2=2)
    low = 0
    while low < frequencies:
        high = low + 1 + low // 2
        group = slice(low, high)
        size = expected[group].mean()
        certain = (size / (size + noise.mean() * count)) ** 2
        weight = (loads - 1) * (min(high, frequencies) - low) * certain
        ratio = found[group].sum() / expected[group].sum()
        scale[group] = (_TRUST + weight * ratio) / (_TRUST + weight)
        low = high
    return np.clip(scale, *_SCALES)
