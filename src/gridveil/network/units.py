"""The units of a case file's numbers, and how they become per unit and radians and back."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gridveil.arrays import FloatArray


@dataclass(frozen=True)
class Unit:
    """How a number of the file becomes the network's, and back, up to rounding."""

    decode: Callable[[FloatArray, float], FloatArray]
    encode: Callable[[float, float], float]


def _per_unit(mw: FloatArray, base_mva: float) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(mw / base_mva)


def _load_per_unit(mw: FloatArray, base_mva: float) -> FloatArray:
    """Return loads in p.u., finite if they are so in MW: no load is too large to be read."""
    pu, largest = _per_unit(mw, base_mva), np.finfo(float).max
    return np.where(np.isfinite(mw), np.clip(pu, -largest, largest), pu)


PLAIN = Unit(lambda value, _base: value, lambda value, _base: value)
POWER = Unit(_per_unit, lambda value, base: value * base)
LOAD = Unit(_load_per_unit, POWER.encode)
DEGREES = Unit(lambda deg, _base: np.radians(deg), lambda value, _base: float(np.degrees(value)))


def encoded(unit: Unit, value: float, base_mva: float) -> float:
    """Return the shortest number that is decoded to `value`, or the nearest there is."""
    guess = unit.encode(value, base_mva)
    near = (guess, float(np.nextafter(guess, np.inf)), float(np.nextafter(guess, -np.inf)))
    exact = [cell for cell in near if unit.decode(np.array(cell), base_mva) == value]
    return min(exact or [guess], key=lambda cell: len(repr(cell)))
