"""What a mechanism promises, as data and as a sentence."""

import math
from dataclasses import dataclass

UNIT = "one load: the active and the reactive power of one bus, at one time"
L1 = "|ΔP| + |ΔQ|, the L1 distance between two values of the load"
ANY = "any two values within the load's public bounds"

NOT_COVERED = (
    "what is public by declaration: topology, limits, the list of load buses, the costs O*",
    "several releases of the same load: their ε add up",
    "one owner of several loads: the ε of those loads add up for that owner",
    "the loads of others: what they release about themselves is theirs to protect",
)


@dataclass(frozen=True)
class Guarantee:
    """ε-local differential privacy of one load, and the limits of that promise."""

    mechanism: str
    epsilon: float
    distance: float | None
    """Up to which distance of two loads, in p.u.; None if for any two within public bounds."""
    metric: str
    step: float
    """The public grid, in p.u."""
    scale: float | None
    """The noise scale, in p.u., of a Laplace mechanism."""
    unit: str = UNIT
    delta: float = 0.0
    not_covered: tuple[str, ...] = NOT_COVERED
    caution: str = ""
    """What a user must know before relying on it, if anything."""

    def sentence(self, base_mva: float) -> str:
        """Return the promise in plain words, with distances in MVA."""
        if self.distance is None:
            what = "any two values within its public bounds"
        else:
            what = (
                f"two values at most {self.distance * base_mva:g} MVA apart "
                f"({self.distance:g} p.u., counted as |ΔP| + |ΔQ|)"
            )
        promise = (
            f"Whatever else someone knows, seeing the private value of a load changes the odds "
            f"they give to {what} by a factor of at most {_factor(self.epsilon)} "
            f"(ε = {self.epsilon:g}, δ = 0)."
        )
        return f"{promise} {self.caution}".strip()


def _factor(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else f"e^{epsilon:g}"
