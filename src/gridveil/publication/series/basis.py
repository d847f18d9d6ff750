"""What a release of a series is made from, once it is planned and drawn."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.fidelity.base import BandKind, FidelityMethod
from gridveil.fidelity.load_limits import LoadLimits
from gridveil.fidelity.weights import distance_weights
from gridveil.network.network import Network
from gridveil.privacy.ledger.records import Entry
from gridveil.privacy.series.mechanism import SeriesMechanism
from gridveil.privacy.series.promise import SeriesPromise


@dataclass(frozen=True, eq=False)
class SeriesBasis:
    """What was decided about a release of a series, and what the ledger says of its draw."""

    network: Network
    """Blank: without loads, in a file of its own."""
    release_id: str
    mechanism: SeriesMechanism
    """What draws the loads."""
    total_epsilon: Fraction
    """The part of ε that buys a private total of every hour; 0 buys none."""
    ratings_source: str
    entry: Entry
    method: FidelityMethod
    band: BandKind
    beta: float
    limits: LoadLimits | None
    ramps: FloatArray | None
    """Ramp limits of generators in p.u. an hour; None where there are none."""
    smoothing: str
    """What the private series are smoothed with, in words."""
    with_csv: bool = False
    """Whether the loads are written as CSV too."""

    @property
    def promise(self) -> SeriesPromise:
        """What the release promises, the total included."""
        of_loads = self.mechanism.promise
        return replace(of_loads, epsilon=of_loads.epsilon + self.total_epsilon)

    @property
    def weights(self) -> FloatArray:
        """How much the squared distance of each load counts: in the metric of its promise."""
        alphas = np.array([float(alpha) for alpha in self.mechanism.alphas])
        return distance_weights(alphas)

    @property
    def hours(self) -> int:
        """How many hours it has."""
        return self.mechanism.hours
