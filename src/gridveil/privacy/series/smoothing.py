"""Smoothing of private series with a public prior: post-processing, which costs no privacy.

P and Q of each load, in shares of its rating, are taken as x_i = μ + δ_i: a mean μ that all loads
share, and a deviation of its own, both of the prior's covariance C. Released was y_i = A x_i +
noise of known variance V. With Gaussian numbers the best estimates are linear (Wiener):

    μ̂ = m + C Aᵀ (S + (R + V)/n)⁻¹ (ȳ − A m),        S = A C Aᵀ, ȳ the mean over n loads
    x̂_i = μ̂ + C Aᵀ S⁻¹ R (R + V)⁻¹ (y_i − A μ̂)

R is the covariance of deviations in what was measured: between S, times a scale by frequency, and
what the private series themselves show (empirical Bayes). The mean μ̂ of all loads keeps their total
from being shrunk towards the prior with each of them. Where the total was bought besides, all loads
move in proportion to their ratings towards it, by as much as it is the more certain.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import dct

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.privacy.series.mechanism import SeriesMechanism
from gridveil.privacy.series.phase import PrivateSeries
from gridveil.privacy.series.prior import DAY, Prior, Spectrum, from_days, to_days
from gridveil.privacy.series.promise import SeriesPromiseKind
from gridveil.privacy.series.total import PrivateTotal

_TRUST = 8.0
"""How many observations the prior's own scale of deviations weighs as much as."""
_TRUST_IN_SHAPE = 4.0
"""The same for its covariances, times the root of how many numbers there are."""
_LEAST = 1e-4
"""The least variance in any direction, of the largest."""
_SCALES = (0.05, 20.0)
"""How far the scale of deviations may be from that of the prior."""


@dataclass(frozen=True)
class View:
    """How a release sees a prior: what it measures of it, frequency by frequency.

    Coefficients of P come first, then those of Q. `window` measures all frequencies at once and has
    a single one here.
    """

    mean: FloatArray
    """A m, of shape (frequencies, coefficients)."""
    within: FloatArray
    """S = A C Aᵀ, of shape (frequencies, coefficients, coefficients)."""
    lifting: FloatArray
    """C Aᵀ: of shape (days, 48, coefficients), for `window` too."""
    prior: Spectrum

    @classmethod
    def of(cls, kind: SeriesPromiseKind, directions: FloatArray, prior: Spectrum) -> "View":
        """Return how a release sees a prior.

        Args:
            kind: Its promise.
            directions: What is measured of a block, of shape (coefficients, hours).
            prior: The prior.
        """
        if kind is SeriesPromiseKind.WINDOW:
            rows = np.kron(np.eye(2), _rows_by_days(directions, len(prior.mean)))
            rows = np.moveaxis(rows.reshape(rows.shape[0], 2, -1, DAY), 2, 1)
            rows = rows.reshape(len(rows), -1, 2 * DAY)
            lifting = prior.covariance @ np.moveaxis(rows, 0, -1)
            mean: FloatArray = np.tensordot(rows, prior.mean, axes=2)[None]
            within: FloatArray = np.tensordot(rows, lifting, axes=([1, 2], [0, 1]))[None]
            return cls(mean, within, lifting, prior)
        of_one = np.eye(DAY) if kind is SeriesPromiseKind.ENERGY else directions
        both = np.asarray(np.kron(np.eye(2), of_one), np.float64)
        lifting = prior.covariance @ both.T
        return cls(prior.mean @ both.T, both @ lifting, lifting, prior)

    def lift(self, weights: FloatArray) -> FloatArray:
        """Return C Aᵀ times weights, of shape (..., frequencies, coefficients), by days."""
        if len(self.mean) == len(self.lifting):
            return np.asarray(np.moveaxis(self.lifting @ _columns(weights), -1, 0)).reshape(
                *weights.shape[:-2], *self.lifting.shape[:-1]
            )
        return np.asarray(np.tensordot(weights[..., 0, :], self.lifting, axes=([-1], [-1])))


def _columns(vectors: FloatArray) -> FloatArray:
    """Return vectors of shape (..., frequencies, coefficients) as columns by frequency."""
    return np.moveaxis(vectors.reshape(-1, *vectors.shape[-2:]), 0, -1)


def _solved(matrix: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return matrix⁻¹ by frequency times vectors of shape (..., frequencies, coefficients)."""
    found = np.asarray(np.linalg.solve(matrix, _columns(vectors)), np.float64)
    return np.moveaxis(found, -1, 0).reshape(vectors.shape)


def _rows_by_days(rows: FloatArray, days: int) -> FloatArray:
    """Return rows over all hours transformed along days, (rows, days·24); others count as 0."""
    whole = np.zeros((len(rows), days * DAY))
    whole[:, : rows.shape[1]] = rows
    return np.asarray(dct(whole.reshape(len(rows), days, DAY), axis=1, norm="ortho")).reshape(
        len(rows), -1
    )


def smoothed(
    private: PrivateSeries,
    prior: Prior,
    ratings: Sequence[float] | FloatArray,
    *,
    total: PrivateTotal | None = None,
    consumers: bool = True,
    power_factor: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return P and Q of a private series, smoothed, in p.u. and of shape (hours, loads).

    Args:
        private: The private series.
        prior: Public series of the same hours, in shares of ratings.
        ratings: The public rating of each load, in p.u.
        total: The private total of the same series, if there is one.
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
    p, q = smoothed_coefficients(private.mechanism, private.coefficients, prior, ratings, total)
    return kept_within(p, q, consumers=consumers, power_factor=power_factor)


def smoothed_coefficients(
    mechanism: SeriesMechanism,
    coefficients: IntArray,
    prior: Prior,
    ratings: Sequence[float] | FloatArray,
    total: PrivateTotal | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return smoothed P and Q without limits of consumers; otherwise as `smoothed`."""
    sizes = np.asarray(ratings, dtype=float)
    if prior.hours != mechanism.hours:
        raise GridveilError(
            f"the prior has {prior.hours} hours and the series {mechanism.hours}; it must be "
            "about the same hours"
        )
    if sizes.shape != (mechanism.loads,) or not (sizes > 0).all():
        raise GridveilError("ratings: one above 0 for each load is needed")
    spectrum = prior.spectrum
    view = View.of(mechanism.promise.kind, mechanism.basis.directions, spectrum)
    seen = _by_frequency(mechanism, mechanism.measured(coefficients), sizes, spectrum)
    of_total = None
    if total is not None:
        whole = np.array([sizes.sum()])
        of_total = (
            _by_frequency(total.mechanism, total.measured()[None], whole, spectrum)[0],
            _noise(total.mechanism, whole)[0],
        )
    days = _smoothed(view, seen, _noise(mechanism, sizes), sizes, of_total)
    p, q = (from_days(half, mechanism.hours).T * sizes for half in np.split(days, 2, axis=-1))
    return p, q


def _noise(mechanism: SeriesMechanism, sizes: FloatArray) -> FloatArray:
    """Return the variances of what was measured of each load, in shares of its rating, squared."""
    noise = mechanism.noise_variances() / sizes[:, None] ** 2
    if mechanism.promise.kind is SeriesPromiseKind.ENERGY:
        noise = np.repeat(noise, DAY, axis=-1)
    return np.tile(noise, 2)


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
    view: View,
    seen: FloatArray,
    noise: FloatArray,
    sizes: FloatArray,
    of_total: tuple[FloatArray, FloatArray] | None,
) -> FloatArray:
    """Return smoothed loads in shares of ratings, by days: of shape (loads, days, 48).

    Args:
        view: What is measured of the prior.
        seen: What was measured of the loads.
        noise: Its variances.
        sizes: The ratings.
        of_total: What was measured of the total besides, in shares of all ratings, and variances.
    """
    loads, mean_noise = len(seen), np.diag(noise.mean(axis=0))
    own = _deviations(view, seen, noise.mean(axis=0))
    gap = seen.mean(axis=0) - view.mean
    of_mean = _solved(view.within + (own + mean_noise) / loads, gap)
    apart = seen - view.mean - (view.within @ of_mean[..., None])[..., 0]
    weights = np.empty_like(seen)
    for one in np.unique(noise, axis=0):
        same = (noise == one).all(axis=1)
        best = own @ _columns(_solved(own + np.diag(one), apart[same]))
        weights[same] = np.moveaxis(np.linalg.solve(view.within, best), -1, 0)
    days = view.prior.mean + view.lift(of_mean + weights)
    if of_total is None:
        return np.asarray(days)
    of_loads = of_mean + weights
    return np.asarray(days + _gap_of_total(view, own, noise, of_loads, sizes, of_total))


def _gap_of_total(
    view: View,
    own: FloatArray,
    noise: FloatArray,
    of_loads: FloatArray,
    sizes: FloatArray,
    of_total: tuple[FloatArray, FloatArray],
) -> FloatArray:
    """Return by how much all loads move, in shares of ratings, where the total is known besides.

    Args:
        view: What is measured of the prior.
        own: R.
        noise: The variances of what was measured of the loads.
        of_loads: How smoothed loads depend on C Aᵀ.
        sizes: The ratings.
        of_total: What was measured of the total, and its variances.
    """
    parts, loads = sizes / sizes.sum(), len(sizes)
    besides, its_noise = of_total
    of_one = own + np.diag(noise.mean(axis=0))
    common = view.within - view.within @ np.linalg.solve(view.within + of_one / loads, view.within)
    before = common + (parts**2).sum() * own
    seen = before + np.diag((parts[:, None] ** 2 * noise).sum(axis=0))
    after = before - before @ np.linalg.solve(seen, before)  # what is open once loads are known
    now = view.mean + (view.within @ np.einsum("l,lfk->fk", parts, of_loads)[..., None])[..., 0]
    moved = after @ np.linalg.solve(after + np.diag(its_noise), (besides - now)[..., None])
    return view.lift(np.linalg.solve(view.within, moved)[..., 0])


def _by_frequency(
    mechanism: SeriesMechanism, measured: FloatArray, sizes: FloatArray, prior: Spectrum
) -> FloatArray:
    """Return what was measured in shares of ratings, of shape (loads, frequencies, coefficients).

    Args:
        mechanism: What measured it.
        measured: Of shape (loads, 2, blocks, coefficients of a block).
        sizes: The ratings.
        prior: For hours that the last day lacks.
    """
    seen = measured / sizes[:, None, None, None]
    if mechanism.promise.kind is SeriesPromiseKind.ENERGY:
        seen = to_days(seen[..., 0])
    elif mechanism.promise.kind is SeriesPromiseKind.DAY:
        missing = -mechanism.hours % DAY
        if missing:  # counted as zeros by the mechanism; by the prior they are not
            halves = np.split(prior.mean, 2, axis=-1)
            expected = [from_days(half, half.size)[-missing:] for half in halves]
            seen[:, :, -1] += np.array(expected) @ mechanism.basis.directions[:, -missing:].T
        seen = dct(seen, axis=2, norm="ortho")
    return np.asarray(np.moveaxis(seen, 1, 2).reshape(len(seen), seen.shape[2], -1))


def _deviations(view: View, seen: FloatArray, noise: FloatArray) -> FloatArray:
    """Return R, the covariance of loads' deviations in what was measured, by frequency.

    It lies between that of the prior, with the scale that a group of frequencies shows, and what
    each frequency shows by itself: the more loads and the less noise, the nearer to the latter.
    """
    loads, frequencies, count = seen.shape
    if loads < 2:
        return view.within
    apart = seen - seen.mean(axis=0)
    shown = np.einsum("lfj,lfk->fjk", apart, apart, optimize=True) / (loads - 1) - np.diag(noise)
    expected = np.einsum("fkk->f", view.within)
    certain = (loads - 1) * (expected / (expected + noise.sum())) ** 2
    scale = np.ones(frequencies)
    low = 0
    while low < frequencies:  # groups that grow by half, the first by itself
        group = slice(low, low + 1 + low // 2)
        weight = certain[group].sum()
        ratio = np.einsum("fkk->", shown[group]) / expected[group].sum()
        scale[group] = (_TRUST + weight * ratio) / (_TRUST + weight)
        low += 1 + low // 2
    scaled = np.clip(scale, *_SCALES)[:, None, None] * view.within
    share = (certain / (certain + _TRUST_IN_SHAPE * np.sqrt(count)))[:, None, None]
    sizes, directions = np.linalg.eigh((1 - share) * scaled + share * shown)
    kept = np.maximum(sizes, _LEAST * sizes[:, -1:])
    return np.asarray((directions * kept[:, None]) @ np.swapaxes(directions, 1, 2))
