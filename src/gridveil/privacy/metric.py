"""How the distance of two values of a load is measured that a promise is about."""

from enum import Enum
from fractions import Fraction


class Metric(Enum):
    """How the distance of two values is measured."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    LOG = "log"
    ENERGY = "energy"
    """|ΔP| + |ΔQ| added up over all hours in which two series differ, in MVAh."""

    def shown(self, distance: Fraction | None) -> str:
        """Return a distance with its unit."""
        if distance is None:
            return "any distance"
        if self is Metric.RELATIVE:
            return f"{float(100 * distance):g} %"
        unit = {Metric.ABSOLUTE: " MVA", Metric.ENERGY: " MVAh"}.get(self, "")
        return f"{float(distance):g}{unit}"
