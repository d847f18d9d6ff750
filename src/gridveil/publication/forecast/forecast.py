"""The forecast of a release: the figures that simulated releases have.

Noise alone is cheap, so that its figures come from many draws. What needs solves, whether the noisy
loads work, restoring and costs, comes from fewer.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.network import Network
from gridveil.opf.acopf import solve_acopf
from gridveil.privacy.mechanisms.base import Mechanism
from gridveil.publication.case_file import blank
from gridveil.publication.choices import declared_ratings
from gridveil.publication.forecast.draws import draws_for, simulated_private
from gridveil.publication.forecast.errors import LoadErrors
from gridveil.publication.forecast.made_up import made_up_opf
from gridveil.publication.forecast.trials import (
    Basis,
    Restoring,
    restoring_of,
    simulated_releases,
)
from gridveil.publication.steps import Steps

DRAWS = 20
"""Simulated releases where nothing else is said."""


class LoadsFrom(StrEnum):
    """Which loads a forecast is made for."""

    OWN = "own"
    PUBLIC = "public"


@dataclass(frozen=True)
class Forecast:
    """What a release will look like, by simulation."""

    noise: LoadErrors
    """How far the private loads are off, before they are restored."""
    restoring: Restoring | None
    """None where nothing was solved."""

    def figures(self) -> dict[str, Any]:
        """Return the forecast as plain numbers, for JSON."""
        return asdict(self)


def basis_of(
    network: Network, mechanism: Mechanism, loads_from: LoadsFrom, seed: int, solves: bool = True
) -> Basis:
    """Return what releases are simulated from.

    Args:
        network: The network. Of its loads only the places are used where loads are made up.
        mechanism: That of the release, which may know public ratings.
        loads_from: Which loads.
        seed: Of made-up loads.
        solves: Whether the optimal cost of the owner's loads is needed.
    """
    public = blank(network)
    if loads_from is LoadsFrom.PUBLIC:
        found = made_up_opf(public, _ratings(mechanism), seed)
        return Basis(public, found.network.loads.values, found.cost, found.point.p)
    opf = solve_acopf(network) if solves else None
    if opf is None or not opf.status.solved:
        return Basis(public, network.loads.values, None, None)
    return Basis(public, network.loads.values, opf.cost, opf.point.p)


def forecast_of(
    steps: Steps,
    basis: Basis,
    draws: int = DRAWS,
    seed: int = 1,
    progress: Callable[[], None] = lambda: None,
) -> Forecast:
    """Simulate releases, and return their figures.

    Args:
        steps: What was decided about the release.
        basis: What is simulated from.
        draws: How many releases are simulated as a whole; 0 solves nothing.
        seed: Of the noise.
        progress: Called before each of them.
    """
    if draws < 0 or seed < 0:
        raise GridveilError("draws, seed: 0 or more needed")
    network, loads = basis.network, basis.loads
    random = np.random.default_rng(seed)
    private = simulated_private(steps, loads, draws_for(len(loads)), random)
    noise = LoadErrors.of(loads, private, network.base_mva)
    if not draws:
        return Forecast(noise, None)
    trials = list(simulated_releases(steps, network, loads, draws, seed, progress))
    return Forecast(noise, restoring_of(trials, basis, steps.band))


def _ratings(mechanism: Mechanism) -> FloatArray | None:
    """Return the public rating of each load in MVA, if the mechanism goes by them."""
    ratings = declared_ratings(mechanism)
    return None if ratings is None else np.array([float(rating) for rating in ratings.mva])
