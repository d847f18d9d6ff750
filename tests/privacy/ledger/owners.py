"""Owners of loads and what they spend, written for the tests of the ledger."""

import secrets
from fractions import Fraction

import numpy as np

from gridveil.privacy.ledger.records import Charge, LoadOwner, Spending
from gridveil.privacy.metric import Metric

BUSES = [3, 5, 8, 13, 21]


def owner(buses=BUSES, label="a network", network="net", branches=None, **changes):
    """Return an owner with a load at each bus, and two branches around each of them."""
    around = branches or [frozenset({f"{network} {bus}", f"{network} {bus}'"}) for bus in buses]
    values = {
        "network": network,
        "label": label,
        "base_mva": 100.0,
        "buses": buses,
        "keys": [(f"bus {bus}",) for bus in buses],
        "surroundings": around,
    }
    return LoadOwner(**{**values, **changes})


def spending(
    epsilon="1", distance="0.1", spec="spec", hours=None, metric=Metric.ABSOLUTE, of=None, **changes
):
    charge = Charge(Fraction(epsilon), None if distance is None else Fraction(distance), metric)
    return Spending(of or owner(**changes), charge, spec, hours)


def draw(buses=BUSES):
    rows = [[secrets.randbelow(10**9), i] for i, _ in enumerate(buses)]
    return np.array(rows, dtype=np.int64)
