"""What a mechanism promises, as data and as a sentence."""

import math
from dataclasses import dataclass

from gridveil.privacy.metric import Metric

UNIT = "one load: the active and the reactive power of one bus, at one time"
L1 = "|ΔP| + |ΔQ|, the L1 distance between two values of the load"
ANY = "any two values within the load's public bounds"

WITHIN_DISTANCE = "two values at most {mva} MVA apart ({pu} p.u., counted as |ΔP| + |ΔQ|)"
WITHIN_BOUNDS = "any two values within its public bounds"
WITHIN_PER_CENT = (
    "two values at a relative distance of at most {percent} % (about the change of the load in "
    "per cent well above {floor} MVA, and about {near} MVA well below)"
)
"""Which pairs of values a promise is about, in words; {mva} and {pu} stand for the distance."""

NOT_COVERED = (
    "what is public by declaration: topology, limits, the list of load buses, the costs O*",
    "several releases of the same load: their ε add up",
    "one owner of several loads: the ε of those loads add up for that owner",
    "the loads of others: what they release about themselves is theirs to protect",
)


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-local differential privacy of one load, and the limits of that promise.

    Example:
        >>> from gridveil import PolarLaplace
        >>> guarantee = PolarLaplace.of(1, 0.1).guarantee()
        >>> guarantee.epsilon, guarantee.distance
        (1.0, 0.1)
        >>> print(guarantee.sentence(base_mva=100)[:72])
        Whatever else someone knows, seeing the private value of a load changes
    """

    mechanism: str
    epsilon: float
    distance: float | None
    """ε holds for two values at most this far apart; None if for any two.

    L1, in p.u., where `kind` is absolute: a mechanism that measures otherwise says here up to which
    L1 distance its ε holds. Without a unit where it is relative: 0.1 is a tenth of the load."""
    metric: str
    """How the mechanism itself measures distances, in words."""
    step: float
    """The public grid: in p.u., or in the units of a relative distance."""
    scale: float | None
    """The noise scale of a mechanism that has one, in the same unit."""
    unit: str = UNIT
    delta: float = 0.0
    not_covered: tuple[str, ...] = NOT_COVERED
    caution: str = ""
    """What a user must know before relying on it, if anything."""
    pairs: str = WITHIN_DISTANCE
    """Which pairs of values it is about, in words, with {mva} and {pu} for the distance."""
    kind: Metric = Metric.ABSOLUTE
    """What the distance is measured in: p.u., or parts of the load."""
    floor: float | None = None
    """Of a relative distance: the load in p.u. below which it becomes an absolute one."""
    distances: tuple[float, ...] | None = None
    """The distance of each load, in p.u., where they differ; `distance` is then the least."""
    warning: str = ""
    """What a user should know beforehand; unlike a caution it does not stop a release."""
    subject: str = "a load"
    """What has the private values, for the sentence."""

    @property
    def largest_distance(self) -> float | None:
        """The distance up to which every load is hidden, or the largest where they differ."""
        return max(self.distances) if self.distances else self.distance

    def sentence(self, base_mva: float) -> str:
        """Return the promise in plain words, with distances in MVA or per cent."""
        return promise(
            self.epsilon,
            self.delta,
            self.distance,
            base_mva,
            self.pairs,
            self.caution,
            self.floor,
            self.subject,
        )


def promise(
    epsilon: float,
    delta: float,
    distance: float | None,
    base_mva: float,
    pairs: str,
    caution: str,
    floor: float | None = None,
    subject: str = "a load",
) -> str:
    """Return a promise in plain words; the arguments are those of `Guarantee`."""
    if distance is not None:
        numbers = {"mva": distance * base_mva, "pu": distance, "percent": 100 * distance}
        if floor is not None:
            numbers.update(floor=floor * base_mva, near=distance * floor * base_mva)
        for name, number in numbers.items():
            pairs = pairs.replace(f"{{{name}}}", f"{number:g}")
    but = f", but for a probability of at most {delta:g}" if delta else ""
    return (
        f"Whatever else someone knows, seeing the private value of {subject} changes the odds they "
        f"give to {pairs} by a factor of at most {_factor(epsilon)}{but} "
        f"(ε = {epsilon:g}, δ = {delta:g}). {caution}"
    ).strip()


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else f"e^{epsilon:g}"
