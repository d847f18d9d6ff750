"""Ratings: the limit of |S| of a circuit."""

from dataclasses import replace

from gridveil.arrays import FloatArray
from gridveil.network.network import Network
from gridveil.network.units import POWER
from gridveil.privacy.quantities.base import OF_A_KIND, ProtectedQuantity
from gridveil.privacy.quantities.elements import circuit_keys, write_column


class Ratings(ProtectedQuantity):
    """The rating of every circuit that has one, in p.u."""

    name = "ratings"
    element = "a circuit"
    unit = "one circuit: the rating of one line or transformer"
    coordinates = ("rating",)
    not_covered = (
        "which circuits have a rating at all",
        "impedances, which follow conductors as ratings do: protect them as well where that "
        "matters",
        "identical circuits, or all circuits of one conductor: their ε add up",
        OF_A_KIND,
    )
    cleared = (("branch", "rateB", 0.0), ("branch", "rateC", 0.0))

    @classmethod
    def keys(cls, network: Network) -> tuple[str, ...]:
        """Return the circuits by their buses and their number between them."""
        return circuit_keys(network)

    @classmethod
    def values(cls, network: Network) -> FloatArray:
        """Return the ratings; infinite where there is none."""
        return network.lines.rate[:, None]

    @classmethod
    def with_values(cls, network: Network, values: FloatArray) -> Network:
        """Return the network with other ratings."""
        return replace(network, lines=replace(network.lines, rate=values[:, 0]))

    @classmethod
    def write(cls, network: Network, tables: dict[str, FloatArray]) -> None:
        """Write the ratings; circuits out of service get none."""
        lines, table = network.lines, ("branch", tables["branch"])
        write_column(table, "rateA", lines.row, lines.rate, network.base_mva, unit=POWER)
