"""Clamping to public bounds: post-processing, which costs no privacy."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.guarantee import Guarantee
from gridveil.privacy.mechanisms.base import Mechanism, MechanismSettings, Pair


def clamped(mechanism: Mechanism, bounds: PublicBounds | None) -> Mechanism:
    """Return a mechanism clamped to bounds, if there are any and it is not made from them."""
    return mechanism if bounds is None or mechanism.needs_bounds else Clamped(mechanism, bounds)


@dataclass(frozen=True)
class Clamped(Mechanism):
    """Another mechanism, whose outputs are moved to the nearest point within public bounds.

    Proof. The outputs are a function of the other mechanism's outputs and of public numbers alone.

    They are moved on the grid where that is one of P and Q, and as loads in p.u. where it is not.

    Example:
        >>> import numpy as np
        >>> from gridveil import Clamped, PolarLaplace, PublicBounds
        >>> bounds = PublicBounds(np.zeros((1, 2)), np.ones((1, 2)), "ratings")
        >>> Clamped(PolarLaplace.of(1, 0.1), bounds).release(np.array([[500, 500]])).min() >= 0
        np.True_
    """

    mechanism: Mechanism
    bounds: PublicBounds

    @property
    def name(self) -> str:
        """The other mechanism's name."""
        return self.mechanism.name

    @classmethod
    def from_settings(cls, settings: MechanismSettings) -> Self:  # noqa: ARG003
        """Refuse: clamping is asked for by giving bounds to another mechanism."""
        raise GridveilError("clamping is no mechanism of its own; give bounds to another mechanism")

    @property
    def step(self) -> Fraction:
        """The grid step in p.u."""
        return self.mechanism.step

    @property
    def is_linear(self) -> bool:
        """Whether whole numbers of the other mechanism's grid are P and Q in grid steps."""
        return self.mechanism.is_linear

    def to_grid(self, loads: FloatArray) -> IntArray:
        """Return loads on the grid of the other mechanism."""
        return self.mechanism.to_grid(loads)

    def from_grid(self, steps: IntArray) -> FloatArray:
        """Return the loads of steps of the other mechanism's grid, within the bounds."""
        loads = self.mechanism.from_grid(steps)
        return loads if self.is_linear else self._within(loads)

    def corrected(self, loads: FloatArray) -> FloatArray:
        """Return private loads as the other mechanism corrects them, within the bounds."""
        return self._within(self.mechanism.corrected(loads))

    def release(self, loads: IntArray) -> IntArray:
        """Return private values of loads on the grid; within the bounds where it has P and Q."""
        if not self.is_linear:
            self.bounds.require_public(len(loads))
            return self.mechanism.release(loads)
        lower, upper = self.bounds.on_grid(self.step, len(loads))
        return np.clip(self.mechanism.release(loads), lower, upper)

    def simulate(self, loads: FloatArray, random: np.random.Generator) -> FloatArray:
        """Return values for studies, within the bounds: not private."""
        return self._within(self.mechanism.simulate(loads, random))

    def loss(self, output: IntArray, one: IntArray, other: IntArray) -> FloatArray:
        """Return the other mechanism's loss there: exact inside the bounds, a statistic at them."""
        return self.mechanism.loss(output, one, other)

    @property
    def load_distances(self) -> tuple[Fraction, ...] | None:
        """The distances of the other mechanism."""
        return self.mechanism.load_distances

    def of_first(self, count: int) -> "Clamped":
        """Return the other mechanism and the bounds of the first loads alone."""
        return Clamped(self.mechanism.of_first(count), self.bounds.of_first(count))

    def noise_variance(self) -> float | None:
        """Return the other mechanism's variance; clamping makes it smaller at the bounds."""
        return self.mechanism.noise_variance()

    def audit_pairs(self) -> tuple[Pair, ...]:
        """Return the pairs of the other mechanism."""
        return self.mechanism.audit_pairs()

    def guarantee(self) -> Guarantee:
        """Return what the other mechanism promises: clamping changes nothing about it."""
        return self.mechanism.guarantee()

    def specification(self) -> dict[str, str]:
        """Return every parameter."""
        return {**self.mechanism.specification(), "clamped": "yes", **self.bounds.specification()}

    def _within(self, loads: FloatArray) -> FloatArray:
        return np.clip(loads, self.bounds.lower, self.bounds.upper)
