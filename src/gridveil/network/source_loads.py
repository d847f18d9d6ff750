"""The loads of a network as its source has them: each on its own, with the key its owner knows.

A key stays the same when a switch opens, rows are ordered anew or a converter numbers buses anew:
in a case file it is the number of the bus, in a pandapower net the index of the load. Budgets are
kept by these keys. Names and keys are the owner's: no release has them.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class SourceLoad:
    """What a source says of one load."""

    bus: int
    """The number of its bus in the tables."""
    key: str
    """By which the owner knows it: "load 7", "sgen 2", "bus 5". No two loads have the same."""
    p_mw: float = field(repr=False)
    """What it draws; negative where it feeds in."""
    q_mvar: float = field(repr=False)
    in_service: bool = True
    name: str = field(default="", repr=False)
    rating_mva: float = 0.0
    """Its public rating; 0 where there is none."""


@dataclass(frozen=True)
class LoadIdentity:
    """Who a load is to its owner."""

    key: str
    name: str = field(default="", repr=False)
    rating_mva: float = 0.0

    @classmethod
    def of(cls, load: SourceLoad) -> "LoadIdentity":
        """Return the identity of a load of a source."""
        return cls(load.key, load.name, load.rating_mva)


def bus_key(bus: int, number: int = 1) -> str:
    """Return the key of a load that is known by its bus alone, and by its number there."""
    return f"bus {bus}" if number == 1 else f"bus {bus}, load {number}"


def numbers_at_buses(buses: Iterable[int]) -> list[int]:
    """Return 1, 2, … for the loads of each bus, in their order.

    Example:
        >>> numbers_at_buses([5, 7, 5])
        [1, 1, 2]
    """
    found: Counter[int] = Counter()
    numbers = []
    for bus in buses:
        found[bus] += 1
        numbers.append(found[bus])
    return numbers


def loads_at_buses(
    buses: Sequence[int], p_mw: Sequence[float], q_mvar: Sequence[float], in_service: int
) -> tuple[SourceLoad, ...]:
    """Return loads that are known by their buses alone, several at a bus by their numbers.

    Args:
        buses: The number of each load's bus.
        p_mw: What each draws.
        q_mvar: The same.
        in_service: How many of them are in service: those that come first.
    """
    columns = zip(buses, numbers_at_buses(buses), p_mw, q_mvar, strict=True)
    return tuple(
        SourceLoad(bus, bus_key(bus, number), p, q, in_service=i < in_service)
        for i, (bus, number, p, q) in enumerate(columns)
    )


def rounded_sum(values: Sequence[float]) -> float:
    """Return a sum that is rounded once; one beyond all numbers becomes the largest.

    Example:
        >>> rounded_sum([1e308, 1e308, -1e308]), rounded_sum([0.1] * 10)
        (1e+308, 1.0)
    """
    if len(values) == 1:
        return float(values[0])
    if not all(map(math.isfinite, values)):
        return math.nan
    largest = Fraction(sys.float_info.max)
    return float(max(-largest, min(sum(map(Fraction, values), Fraction(0)), largest)))
