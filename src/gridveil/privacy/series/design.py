"""Which coefficients are released, and what each costs: chosen from public numbers alone.

The rule. Frequencies are ordered by how much the public prior varies in them, the largest first. Of
the first k, for several k, and with shares of ε that fall with that variance not at all, a little
or more, the basis is taken whose smoothed series has the least expected squared error, by the
prior's own covariance. Loads play no part: for the same promise, hours, ratings and prior it is the
same basis.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import dct

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.privacy.series.basis import Basis
from gridveil.privacy.series.mechanism import (
    SeriesMechanism,
    can_be_drawn,
    noise_scales,
)
from gridveil.privacy.series.prior import Prior, Spectrum
from gridveil.privacy.series.promise import SeriesPromise, SeriesPromiseKind
from gridveil.privacy.series.smoothing import View

MOST = 256
"""The most coefficients of a block."""
_WORSE = 5
"""After so many counts that are no better, larger ones are not tried."""
_POWERS = (0.0, 0.15, 0.3)
"""Powers of the variance that shares of ε are in proportion to."""
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
    width = SeriesMechanism.block_hours(promise.kind, prior.hours)
    variances = _variances(prior, width)
    order = np.argsort(-variances, kind="stable")[:MOST]
    expected = _Expected.of(promise.kind, prior.spectrum, width, order)
    best: tuple[float, Basis] | None = None
    worse = 0
    for count in _counts(min(width, MOST)):
        errors = [
            (expected.error(promise, basis, part), basis)
            for basis in _candidates(promise, width, order[:count], variances)
        ]
        if not errors:
            break
        found = min(errors, key=lambda one: one[0])
        worse = 0 if best is None or found[0] < best[0] else worse + 1
        best = found if worse == 0 else best
        if worse == _WORSE:
            break
    if best is None:
        raise GridveilError(
            f"epsilon = {float(promise.epsilon):g} asks for wider noise than can be drawn; raise "
            "epsilon, or release fewer hours at once"
        )
    return best[1]


def _candidates(
    promise: SeriesPromise, width: int, frequencies: IntArray, variances: FloatArray
) -> Iterator[Basis]:
    """Give the bases of some frequencies, with each kind of shares, that can be drawn."""
    first = np.sort(frequencies)
    for power in _POWERS if len(first) > 1 else _POWERS[:1]:
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


@dataclass(frozen=True)
class _Expected:
    """What the prior says of a series after smoothing, for any basis of some frequencies."""

    order: IntArray
    """The frequencies."""
    within: FloatArray
    """A C Aᵀ of all of them, P first and then Q."""
    lifted: FloatArray
    """A C C Aᵀ."""
    total: float
    """tr C: what is expected without any release."""

    @classmethod
    def of(
        cls, kind: SeriesPromiseKind, prior: Spectrum, width: int, order: IntArray
    ) -> "_Expected":
        directions = Basis.even(width, tuple(order.tolist())).directions
        view = View.of(kind, directions, prior)
        columns = view.lifting.reshape(len(view.mean), -1, view.lifting.shape[-1])
        lifted = np.swapaxes(columns, 1, 2) @ columns
        return cls(order, view.within, lifted, float(np.einsum("fhh->", prior.covariance)))

    def error(self, promise: SeriesPromise, basis: Basis, part: float) -> float:
        """Return the expected squared error, in shares of the rating, with α such a part of it."""
        place = {int(frequency): i for i, frequency in enumerate(self.order)}
        own = np.array([place[frequency] for frequency in basis.frequencies])
        own = np.concatenate([own, own + len(self.order)])
        noise = np.tile(2 * (part * noise_scales(promise, basis)) ** 2, 2)
        within = self.within[:, own[:, None], own] + np.diag(noise)
        known = np.linalg.solve(within, self.lifted[:, own[:, None], own])
        return self.total - float(np.einsum("fkk->", known))
