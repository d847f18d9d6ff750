"""How the distance of two values of a load is measured that a promise is about."""

from enum import Enum
from fractions import Fraction


class Metric(Enum):
    """How the distance of two values is measured."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    LOG = "log"

    def shown(self, distance: Fraction | None) -> str:
        """Return a distance with its unit."""
        if distance is None:
            return "any distance"
        if self is Metric.ABSOLUTE:
            return f"{float(distance):g} MVA"
        return f"{float(100 * distance):g} %" if self is Metric.RELATIVE else f"{float(distance):g}"
