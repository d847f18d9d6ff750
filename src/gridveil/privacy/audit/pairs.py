"""Pairs of loads on the grid: those that a mechanism names, and those where leaks are fine.

Two loads one grid step apart differ in every digit that noise might leave as it is. Two loads at
most α apart may, once rounded, be α and one grid step apart: with x just below half a step,
(x, x) becomes (0, 0) and (α + x − η, x + η) becomes (α, one step), if η takes x over the half.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gridveil.arrays import IntArray
from gridveil.privacy.mechanisms.base import Mechanism, Pair, checked_loads, checked_steps

_ROUNDING = 1e-9
"""How far a distance given as a double may be off a whole number of grid steps."""


@dataclass(frozen=True)
class GridPair:
    """Two loads in grid steps, and in p.u. as they are shown."""

    one: IntArray
    other: IntArray
    shown: Pair


def given_pairs(mechanism: Mechanism, pairs: Sequence[Pair]) -> tuple[GridPair, ...]:
    """Return pairs in p.u. on the mechanism's grid."""
    found = []
    for pair in pairs:
        one, other = checked_steps(mechanism, np.array(pair, dtype=float))
        found.append(GridPair(one, other, pair))
    return tuple(found)


def all_pairs(mechanism: Mechanism) -> tuple[GridPair, ...]:
    """Return the mechanism's own pairs, pairs one step apart, and α and one step apart."""
    own = given_pairs(mechanism, mechanism.audit_pairs())
    distance = mechanism.guarantee().distance
    # Without a distance there are bounds: one step from a load towards another is within them.
    first = own[0] if distance is not None else max(own, key=_differences)
    towards = np.where(first.other < first.one, -1, 1)
    steps = [np.array([1, 0]), np.array([0, 1])]
    if distance is not None:
        reach = _whole(Fraction(distance) / mechanism.step)
        steps += [np.array([reach, 1]), np.array([1, reach])]
    extra = [_shown(mechanism, first.one, first.one + towards * step) for step in steps]
    return (*own, *extra)


def _differences(pair: GridPair) -> int:
    return int((pair.one != pair.other).sum())


def _whole(steps: Fraction) -> int:
    """Return the least whole number of steps, but for the rounding of a double."""
    near = round(steps)
    return near if abs(steps - near) <= _ROUNDING * near else math.ceil(steps)


def _shown(mechanism: Mechanism, one: IntArray, other: IntArray) -> GridPair:
    loads = checked_loads(mechanism, np.stack([one, other])).tolist()
    return GridPair(one, other, ((loads[0][0], loads[0][1]), (loads[1][0], loads[1][1])))
