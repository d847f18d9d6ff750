"""Whether a distance α can be meant: neither far below any load of a network nor beyond all of it.

Judged by public numbers alone: generator limits, ratings of branches, how many loads there are.
"""

from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.network.proportional import UNLIMITED_MW
from gridveil.privacy.ledger.records import Spending
from gridveil.privacy.metric import Metric

SMALLEST_SHARE = 1.5e-4
"""Of the size of a load: what differs by less says nothing about its owner."""
_KVA = 1000.0
_USUAL = ((1.0, 0.01), (36.0, 0.3))
"""Up to how many kV a load is usually how large, in MVA."""


def plausible_range(network: Network) -> tuple[float, float]:
    """Return the least and the largest distance, in MVA, that can be meant for a network.

    No load is larger than the capacity of all generators, or than what branches and generators at
    its bus can give. What has no limit says nothing.
    """
    at = network.loads.bus
    capacity, carried, generated = _reach(network)
    largest = min(capacity, float(np.max((carried + generated)[at], initial=0.0)))
    typical = typical_load(network)
    return (
        _rounded(SMALLEST_SHARE * (0.0 if typical is None else typical)),
        _rounded(largest if largest > 0 else float("inf")),
    )


def typical_load(network: Network) -> float | None:
    """Return the size of a load in MVA as far as public numbers tell; None where none does.

    It is the lesser of the generators' capacity divided by the number of loads, and the median of
    what the branches at a load can carry, shared by the loads of its bus. Where there is no limit
    at all, as in many feeders, it is what is usual at the voltage of most loads.
    """
    at = network.loads.bus
    capacity, carried, _ = _reach(network)
    shared = carried / np.maximum(np.bincount(at, minlength=len(carried)), 1)
    sizes = (capacity / max(len(at), 1), float(np.median(shared[at])) if len(at) else 0.0)
    limited = min((size for size in sizes if 0 < size < np.inf), default=None)
    return _usual_load(network) if limited is None else limited


def _usual_load(network: Network) -> float | None:
    """Return the usual size of a load at low and medium voltage, in MVA; None at others."""
    voltage = network.case.tables["bus"].column("baseKV")[network.loads.row]
    usual = float(np.median(voltage)) if len(voltage) else 0.0
    return next((size for most, size in _USUAL if 0 < usual <= most), None)


def _reach(network: Network) -> tuple[float, FloatArray, FloatArray]:
    """Return all capacity, and what branches and generators give at each bus, in MVA."""
    base, gens, lines = network.base_mva, network.generators, network.lines
    p, q = (
        np.maximum(np.abs(low), np.abs(high)) * base
        for low, high in ((gens.p_min, gens.p_max), (gens.q_min, gens.q_max))
    )
    p, q = (np.where(limit < UNLIMITED_MW, limit, np.inf) for limit in (p, q))
    carried, generated = np.zeros(len(network.buses)), np.zeros(len(network.buses))
    for ends in (lines.from_bus, lines.to_bus):
        np.add.at(carried, ends, lines.rate * base)
    np.add.at(generated, gens.bus, np.hypot(p, q))
    supplied = np.zeros(len(network.buses))
    np.add.at(supplied, gens.bus, p)  # no more than branches carry away, where there are any
    capacity = np.where(carried > 0, np.minimum(supplied, carried), supplied).sum()
    return float(capacity) if len(p) else np.inf, carried, generated


def _rounded(distance: float) -> float:
    """Return a distance as messages show it, so that what they say is accepted."""
    return float(f"{distance:.3g}")


def check_distance(network: Network, asked: Spending, counted_at: Fraction | None) -> None:
    """Refuse a distance in MVA that cannot be meant; others have their own check.

    Args:
        network: The network.
        asked: What a release would take, with its distance α.
        counted_at: The distance at which its ledger counts, which its owner has accepted.
    """
    plausible = plausible_range(network)
    check_within(plausible, network.base_mva, network.name, asked, counted_at)


def check_within(
    plausible: tuple[float, float],
    base: float,
    name: str,
    spending: Spending,
    counted_at: Fraction | None,
) -> None:
    """Refuse a distance outside the range that is plausible for a network of that name and base."""
    charge = spending.charge
    if charge.distance is None or charge.metric is not Metric.ABSOLUTE:
        return
    low, high = plausible
    if counted_at is not None:
        low, high = min(low, float(counted_at)), max(high, float(counted_at))
    distances = [charge.distance] if spending.distances is None else spending.distances
    for asked in (float(min(distances)), float(max(distances))):
        if not low <= asked <= high:
            raise _senseless(asked, (low, high), base, name, spending.distances is not None)


def _senseless(
    asked: float, plausible: tuple[float, float], base: float, name: str, is_rated: bool
) -> GridveilError:
    """Return the error for a distance that cannot be meant."""
    low, high = plausible
    what = (
        f"two loads that differ by more than {asked:g} MVA could be told apart, which protects "
        "next to nothing here"
        if asked < low
        else f"no load of a network in which {high:g} MVA reach a bus can differ by that much"
    )
    confused = (asked / base, asked * base, asked / base / _KVA)  # MVA, divided twice, kVA
    meant = [distance for distance in confused if low <= distance <= high]
    hint = ""
    if is_rated:
        hint = " Are the ratings in MVA?"
    elif meant:
        hint = (
            f" Was α = {meant[0] / base:g} p.u. meant, which is {meant[0]:g} MVA? α is in p.u. on "
            f"the base of {base:g} MVA."
        )
    of = "a share of the rating of a load" if is_rated else f"alpha = {asked / base:g} p.u."
    return GridveilError(
        f"{of} is {asked:g} MVA: {what}. Nothing was drawn.{hint} "
        f"Distances from {low:g} to {high:g} MVA make sense for {name}; one beyond "
        "them has to be set first, with a reason: gridveil ledger cap --distance"
    )
