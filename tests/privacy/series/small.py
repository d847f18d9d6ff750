"""Mechanisms for a few hours, and the worst loss that any two neighbours have, by enumeration."""

import itertools

import numpy as np

from gridveil.privacy.series.basis import Basis
from gridveil.privacy.series.mechanism import SeriesMechanism, series_mechanism
from gridveil.privacy.series.promise import SeriesPromise


def mechanism(kind, hours, basis=None, epsilon=1, hide="5MVA", loads=1, first_hour=0):
    promise = SeriesPromise.of(kind, epsilon, hide)
    alphas = promise.alphas(loads, 100)
    if basis is not None and not isinstance(basis, Basis):
        width = SeriesMechanism.block_hours(promise.kind, hours)
        basis = Basis.even(width, tuple(basis))
    return series_mechanism(promise, 100, alphas, first_hour, hours, basis)


def loss_of(made, change):
    """Return the largest loss of any output about two series that differ by steps (2, hours)."""
    moved = made.coefficients(np.asarray(change, dtype=np.int64)[None])
    return float((np.abs(moved) / np.array(made.scales)).sum())


def changes_within(made, window, size):
    """Give all changes that move P or Q, up or down, by so many steps in every hour of a window.

    The loss is convex, and P and Q of an hour move by so many steps together: no other is worse.
    """
    for choice in itertools.product(((0, 1), (0, -1), (1, 1), (1, -1)), repeat=len(window)):
        change = np.zeros((2, made.hours), dtype=np.int64)
        for t, (row, sign) in zip(window, choice, strict=True):
            change[row, t] = sign * size
        yield change


def worst_within(made, window, size=None):
    steps = made.alpha_steps if size is None else size
    return max(loss_of(made, change) for change in changes_within(made, window, steps))
