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


_NEVER = 99
"""Longer than any number's text."""

PLAIN = Unit(lambda value, _base: value, lambda value, _base: value)
POWER = Unit(_per_unit, lambda value, base: value * base)
LOAD = Unit(_load_per_unit, POWER.encode)
DEGREES = Unit(lambda deg, _base: np.radians(deg), lambda value, _base: float(np.degrees(value)))


def encoded(unit: Unit, value: float, base_mva: float) -> float:
    """Return the shortest number that is decoded to `value`, or the nearest there is."""
    return float(encoded_all(unit, np.array([value]), base_mva)[0])


def encoded_all(unit: Unit, values: FloatArray, base_mva: float) -> FloatArray:
    """Return the shortest number that is decoded to each value, or the nearest there is."""
    guess = np.array([unit.encode(value, base_mva) for value in values.tolist()], dtype=float)
    with np.errstate(over="ignore"):
        near = np.stack([guess, np.nextafter(guess, np.inf), np.nextafter(guess, -np.inf)])
    exact = unit.decode(near, base_mva) == values
    length = np.full(near.shape, _NEVER)
    length[exact] = [len(repr(cell)) for cell in near[exact].tolist()]
    length[0, ~exact.any(axis=0)] = 0
    shortest: FloatArray = near[length.argmin(axis=0), np.arange(len(values))]
    return shortest
