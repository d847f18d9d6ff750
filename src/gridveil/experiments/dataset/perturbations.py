"""Scenarios: released loads of a random hour, all scaled alike and each by factors of its own.

A scenario has an hour that is drawn evenly from those released, a common factor drawn evenly from
1 ± common, and for P and for Q of each load a factor drawn evenly from 1 ± own:

    P = common factor · factor of P · released P        Q = common factor · factor of Q · released Q

Everything here is public: hours, factors and the seed. Scenario i is the same however many there
are.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.errors import GridveilError
from gridveil.experiments.dataset.source import ReleasedLoads


@dataclass(frozen=True)
class Perturbations:
    """How scenarios are drawn."""

    seed: int
    common: float
    """How far the common factor may be from 1."""
    own: float
    """How far the factors of each load may be."""

    def __post_init__(self) -> None:
        for name in ("common", "own"):
            if not 0 <= getattr(self, name) < 1:
                raise GridveilError(f"--{name}: from 0 to below 1")


@dataclass(frozen=True, eq=False, repr=False)
class Scenario(ArrayRecord):
    """Loads to be solved for."""

    number: int
    time: str
    common_factor: float
    p: FloatArray
    """In p.u."""
    q: FloatArray


def scenario(number: int, loads: ReleasedLoads, drawn: Perturbations) -> Scenario:
    """Return a scenario by its number, from 0."""
    random = np.random.default_rng([drawn.seed, number])
    hour = int(random.integers(len(loads.times)))
    common = float(random.uniform(1 - drawn.common, 1 + drawn.common))
    own = random.uniform(1 - drawn.own, 1 + drawn.own, (2, loads.p.shape[1]))
    p, q = common * own * np.stack([loads.p[hour], loads.q[hour]])
    return Scenario(number, loads.times[hour], common, p, q)
