"""Smoothing: against the exact Gaussian estimate by dense matrices, and on made-up customers."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.fft import idct

from gridveil.errors import GridveilError
from gridveil.network.series.load_series import LoadSeries
from gridveil.network.series.shapes import CUSTOMERS, FIRST_HOUR
from gridveil.privacy.phase import Origin
from gridveil.privacy.series.basis import Basis
from gridveil.privacy.series.mechanism import series_mechanism
from gridveil.privacy.series.prior import Prior, made_up_customers
from gridveil.privacy.series.promise import SeriesPromise
from gridveil.privacy.series.smoothing import View, kept_within, smoothed_coefficients
from gridveil.privacy.series.total import PrivateTotal, split, total_on_grid

LOADS = 30
PRIORS = {hours: Prior.generated(FIRST_HOUR, hours) for hours in (24, 72)}
CASES = [("energy", None, 24), ("energy", None, 72), ("day", (0, 1, 2), 24), ("day", (0, 1, 2), 72),
         ("window", (0, 2, 6), 72)]  # fmt: skip


def loads(hours, seed=5, count=LOADS):
    p, q = made_up_customers(FIRST_HOUR, hours, CUSTOMERS, count, seed)
    sizes = np.random.default_rng(seed).choice([0.1, 0.4, 1.0], count)
    return p.T * sizes, q.T * sizes, sizes


def mechanism(kind, frequencies, hours, sizes, epsilon=2, hide="5%rating"):
    promise = SeriesPromise.of(kind, epsilon, hide)
    part = promise.hide.amount
    alphas = tuple(part * Fraction(float(size)) for size in sizes)
    width = {"energy": 1, "day": 24, "window": hours}[kind]
    return series_mechanism(promise, 100, alphas, FIRST_HOUR, hours,
                            Basis.even(width, frequencies or (0,)))  # fmt: skip


def drawn(made, p, q, seed=1):
    return made.simulate(made.to_grid(p, q), np.random.default_rng(seed))


@pytest.mark.parametrize(("kind", "frequencies", "hours"), CASES)
def test_one_load_is_smoothed_as_gaussian_numbers_are(kind, frequencies, hours):
    """The textbook formula, with whole covariances of all hours instead of frequencies."""
    p, q, sizes = loads(hours, count=1)
    made, prior = mechanism(kind, frequencies, hours, sizes), PRIORS[hours]
    coefficients = drawn(made, p, q)
    spectrum, days = prior.spectrum, hours // 24
    back = idct(np.eye(days), axis=0, norm="ortho")  # from frequencies to days
    whole = np.einsum("df,ef,fhg->dhge", back, back, spectrum.covariance)
    covariance = np.moveaxis(whole, 3, 2).reshape(days * 48, days * 48)
    mean = (back @ spectrum.mean).ravel()
    rows = made.basis.directions
    measure = np.kron(np.eye(made.blocks), rows)  # of one of P and Q
    place = {0: [d * 48 + h for d in range(days) for h in range(24)]}
    place[1] = [i + 24 for i in place[0]]
    both = np.zeros((2 * len(measure), days * 48))
    both[: len(measure), place[0]], both[len(measure) :, place[1]] = measure, measure
    seen = made.measured(coefficients)[0].reshape(-1) / sizes[0]
    noise = np.tile(made.noise_variances()[0] / sizes[0] ** 2, 2 * made.blocks)
    # of one load, the mean and the deviation have the same covariance
    within = both @ covariance @ both.T
    gain = 2 * covariance @ both.T @ np.linalg.inv(2 * within + np.diag(noise))
    exact = mean + gain @ (seen - both @ mean)
    found = smoothed_coefficients(made, coefficients, prior, sizes)
    for half, one in zip((0, 1), found, strict=True):
        assert np.allclose(one[:, 0] / sizes[0], exact[place[half]], atol=1e-9)


@pytest.mark.parametrize(("kind", "frequencies", "hours"), CASES)
def test_smoothing_brings_loads_and_totals_nearer(kind, frequencies, hours):
    p, q, sizes = loads(hours)
    made = mechanism(kind, frequencies, hours, sizes, epsilon=1)
    coefficients = drawn(made, p, q)
    raw = made.reconstruct(coefficients)[0]
    found = smoothed_coefficients(made, coefficients, PRIORS[hours], sizes)[0]
    assert np.abs(found - p).sum() < 0.95 * np.abs(raw - p).sum()
    off = np.linalg.norm(found.sum(axis=1) - p.sum(axis=1)) / np.linalg.norm(p.sum(axis=1))
    assert off < 0.12


@pytest.mark.parametrize(
    ("kind", "frequencies"), [("energy", None), ("day", (0, 1, 2)), ("window", (0, 2))]
)
def test_a_last_day_that_is_cut_off_is_smoothed_too(kind, frequencies):
    p, q, sizes = loads(30)
    made = mechanism(kind, frequencies, 30, sizes, epsilon=2)
    coefficients = drawn(made, p, q)
    prior = Prior.generated(FIRST_HOUR, 30)
    found = smoothed_coefficients(made, coefficients, prior, sizes)[0]
    raw = made.reconstruct(coefficients)[0]
    assert found.shape == (30, LOADS)
    for part in (slice(0, 24), slice(24, 30)):
        assert np.abs(found - p)[part].sum() < np.abs(raw - p)[part].sum()


def test_loads_of_different_noise_are_smoothed_each_by_its_own():
    p, q, sizes = loads(24)
    promise = SeriesPromise.of("energy", 1, "4MVA")
    made = series_mechanism(promise, 100, promise.alphas(LOADS, 100), FIRST_HOUR, 24)
    found = smoothed_coefficients(made, drawn(made, p, q), PRIORS[24], sizes)[0]
    off = np.linalg.norm(found - p, axis=0) / np.linalg.norm(p, axis=0)
    assert np.median(off[sizes == 1.0]) < 0.15 < np.median(off[sizes == 0.1])
    assert np.median(off[sizes == 0.1]) < 1


def test_without_noise_the_hours_come_back():
    p, q, sizes = loads(24)
    made = mechanism("energy", None, 24, sizes, epsilon=10**5)
    found = smoothed_coefficients(made, drawn(made, p, q), PRIORS[24], sizes)
    for one, true in zip(found, (p, q), strict=True):
        assert np.abs(one - true).max() < 1e-3 * sizes.max()


def test_with_hopeless_noise_the_public_shape_is_left():
    p, q, sizes = loads(24)
    made = mechanism("energy", None, 24, sizes, epsilon="0.01", hide="100%rating")
    found = smoothed_coefficients(made, drawn(made, p, q), PRIORS[24], sizes)[0]
    shape = PRIORS[24].p.mean(axis=0)[:, None] * sizes
    assert np.abs(found - shape).max() < 0.5 * sizes.max()


def test_a_private_total_brings_the_total_nearer():
    hours = 24
    p, q, sizes = loads(hours, count=120)
    sizes = np.full(120, 0.4)
    made = mechanism("energy", None, hours, sizes, epsilon=1, hide="100%rating")
    of_loads, of_total = split(made, Fraction(1, 5))
    series = LoadSeries(FIRST_HOUR, p, q, tuple(map(str, range(120))))
    true = p.sum(axis=1)
    off = {"without": [], "with": []}
    for seed in range(5):
        random = np.random.default_rng(seed)
        coefficients = drawn(of_loads, p, q, seed)
        total = PrivateTotal(
            of_total.simulate(total_on_grid(series, of_total), random), Origin.SIMULATION, of_total
        )
        for name, given in (("without", None), ("with", total)):
            found = smoothed_coefficients(of_loads, coefficients, PRIORS[24], sizes, given)[0]
            off[name].append(np.linalg.norm(found.sum(axis=1) - true))
    assert np.mean(off["with"]) < 0.8 * np.mean(off["without"])


def test_consumers_stay_at_or_above_zero_and_within_power_factors():
    p, q = kept_within(
        np.array([-1.0, 2.0]), np.array([1.0, 3.0]), consumers=True, power_factor=0.8
    )
    assert np.allclose(p, [0, 2])
    assert np.allclose(q, [0, 1.5])
    p, q = kept_within(np.array([-1.0]), np.array([1.0]), consumers=False, power_factor=None)
    assert (p, q) == (-1, 1)


def test_ratings_and_hours_must_fit():
    p, q, sizes = loads(24)
    made = mechanism("day", (0,), 24, sizes)
    coefficients = drawn(made, p, q)
    with pytest.raises(GridveilError, match="72 hours"):
        smoothed_coefficients(made, coefficients, PRIORS[72], sizes)
    with pytest.raises(GridveilError, match="ratings"):
        smoothed_coefficients(made, coefficients, PRIORS[24], sizes[1:])


def test_a_view_measures_what_the_basis_does():
    made = mechanism("window", (0, 5), 72, np.ones(1))
    view = View.of(made.promise.kind, made.basis.directions, PRIORS[72].spectrum)
    mean = PRIORS[72].p.mean(axis=0)
    assert np.allclose(view.mean[0, :2], made.basis.directions @ mean)
