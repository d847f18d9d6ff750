"""Which coefficients are released, and what each costs: chosen from public numbers alone.

The rule. Frequencies are ordered by how much the public prior varies in them, the largest first. Of
the first k, for several k, and with shares of ε that fall with that variance not at all, a little
or more, the basis is taken whose smoothed series has the least expected squared error, by the
prior's own covariance. Loads play no part: for the same promise, hours, ratings and prior it is the
same basis.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from scipy.fft import dct

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.privacy.series.basis import Basis
from gridveil.privacy.series.mechanism import SeriesMechanism, can_be_drawn
from gridveil.privacy.series.prior import Prior, Spectrum
from gridveil.privacy.series.promise import SeriesPromise, SeriesPromiseKind
from gridveil.privacy.series.smoothing import View

MOST = 256
"""The most coefficients of a block."""
_POWERS = (0.0, 0.15, 0.3)
"""Powers of the variance that shares of ε are in proportion to."""
_ONE = Fraction(1)
_FINEST = 1000
"""The largest share is this whole number."""


def chosen_basis(
    promise: SeriesPromise,
    prior: Prior,
    alphas: Sequence[float] | FloatArray,
    ratings: Sequence[float] | FloatArray,
) -> Basis:
    """Return the basis of a release, by the rule above.

    Args:
        promise: What is hidden.
        prior: Public series of the hours of the release.
        alphas: α of each load in p.u.
        ratings: The public rating of each load in p.u.

    Example:
        >>> promise = SeriesPromise.of("day", 1, "5%rating")
        >>> chosen_basis(promise, Prior.generated(482256, 48), [0.05], [1.0]).length
        24
    """
    if promise.kind is SeriesPromiseKind.ENERGY:
        return Basis.hourly()
    part = float(np.median(np.asarray(alphas) / np.asarray(ratings)))
    spectrum = prior.spectrum
    candidates = list(_candidates(promise, prior))
    if not candidates:
        raise GridveilError(
            f"epsilon = {float(promise.epsilon):g} asks for wider noise than can be drawn; raise "
            "epsilon, or release fewer hours at once"
        )
    return min(candidates, key=lambda one: expected_error(promise, prior, spectrum, one, part))


def _candidates(promise: SeriesPromise, prior: Prior) -> Iterator[Basis]:
    width = SeriesMechanism.block_hours(promise.kind, prior.hours)
    variances = _variances(prior, width)
    order = np.argsort(-variances, kind="stable")
    for count in _counts(min(width, MOST)):
        first = np.sort(order[:count])
        for power in _POWERS if count > 1 else _POWERS[:1]:
            weights = (variances[first] / variances[first].max()) ** power
            shares = np.maximum(np.rint(_FINEST * weights), 1).astype(int)
            basis = Basis(width, tuple(first.tolist()), tuple(shares.tolist()))
            if can_be_drawn(promise, basis):
                yield basis


def _counts(most: int) -> list[int]:
    """Return how many coefficients are tried: all up to 12, then about a quarter more each time."""
    counts = {*range(1, 13), *np.rint(12 * 1.25 ** np.arange(1, 15)).astype(int).tolist(), most}
    return sorted(count for count in counts if count <= most)


def _variances(prior: Prior, width: int) -> FloatArray:
    """Return the variance of every frequency of a block, over samples and blocks."""
    apart = prior.p - prior.p.mean(axis=0)
    whole = apart[:, : prior.hours // width * width] if prior.hours >= width else None
    if whole is None:
        whole = np.pad(apart, ((0, 0), (0, width - prior.hours)), "edge")
    waves = dct(whole.reshape(-1, width), axis=1, norm="ortho")
    return np.asarray((waves**2).mean(axis=0))


def expected_error(
    promise: SeriesPromise, prior: Prior, spectrum: Spectrum, basis: Basis, part: float
) -> float:
    """Return the expected squared error of a smoothed series, in shares of the rating.

    Args:
        promise: What is hidden.
        prior: Public series.
        spectrum: What they say of P.
        basis: What is released.
        part: α in shares of the rating.
    """
    one = SeriesMechanism(promise, _ONE, (_ONE,), 0, prior.hours, basis)
    noise = np.tile(one.noise_variances()[0] * part**2, 2)
    view = View.of(one, spectrum)
    lifted = view.lifting.reshape(len(view.mean), -1, view.lifting.shape[-1])
    inverse = np.linalg.inv(view.within + np.eye(len(noise)) * noise)
    found = np.einsum("fhj,fjk,fhk->", lifted, inverse, lifted, optimize=True)
    return float(np.einsum("fhh->", spectrum.covariance) - found)
