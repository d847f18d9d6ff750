"""Releases of small series for the tests of this folder."""

from fractions import Fraction

import numpy as np

from gridveil import Ledger, load_case
from gridveil.network.series.load_series import LoadSeries
from gridveil.network.series.shapes import example_series
from gridveil.publication.series.plan import plan_series_release

HOURS = 27
"""Two blocks, the second of three hours."""


def case14():
    """Return a network, a series of 27 hours, and public ratings in MVA."""
    network = load_case("case14_ieee")
    series, ratings = example_series(network, hours=HOURS, seed=5)
    return network, series, ratings


def series_of(network, hours, factor=1.0):
    """Return made-up loads, so many times as large."""
    series, _ = example_series(network, hours=hours, seed=5)
    return LoadSeries(series.first_hour, factor * series.p, factor * series.q, series.keys)


def plan_of(network, series, ledger, **choices):
    """Return a plan that hides 2 MVA in each hour of any day, useful or not."""
    known = {"hide": "2MVA", "epsilon": 2, "ledger": ledger, "accept_useless": True}
    return plan_series_release(network, series, **known | choices)


def released(network, series, path, **choices):
    """Return a release with a ledger of its own, in this process alone."""
    ledger = Ledger(path / "ledger.sqlite")
    return plan_of(network, series, ledger, **choices).run(ledger, workers=1)


def rated(ratings):
    """Return ratings as exact numbers."""
    return [Fraction(rating) for rating in ratings]


def hourly(made):
    """Return the loads of a release in p.u., of shape (hours, loads, 2)."""
    return made.tables.loads / made.published.network.base_mva


def is_same(one, other):
    """Return whether two releases have the same files, byte by byte."""
    return one.files.keys() == other.files.keys() and all(
        one.files[name] == other.files[name] for name in one.files
    )


def far(values, others):
    """Return the largest difference of two arrays."""
    return float(np.abs(np.asarray(values) - np.asarray(others)).max())
