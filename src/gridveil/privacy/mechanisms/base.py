"""What every mechanism can do."""

from fractions import Fraction
from typing import Protocol

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.privacy.guarantee import Guarantee


class Mechanism(Protocol):
    """Turns loads into private ones. Arrays of loads have the shape (loads, 2): P and Q."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    @property
    def step(self) -> Fraction:
        """The grid step in p.u."""
        ...

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid: exact, from operating-system entropy."""
        ...

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return values for simulation studies, in p.u.: fast, seeded and NOT private."""
        ...

    def guarantee(self) -> Guarantee:
        """Return what it promises."""
        ...

    def specification(self) -> dict[str, str]:
        """Return every parameter, so that two mechanisms with the same one are the same."""
        ...


class AuditableMechanism(Mechanism, Protocol):
    """A mechanism whose privacy loss is known output by output."""

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return ln P(output | one) − ln P(output | other), as its proof has it."""
        ...
