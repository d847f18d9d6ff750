"""Line impedances: r, x and b of a circuit, a line or a transformer.

The three are protected together: b alone gives x away, and so does x the resistance.
"""

from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.network.network import Network
from gridveil.network.units import PLAIN
from gridveil.privacy.quantities.base import OF_A_KIND, ProtectedQuantity
from gridveil.privacy.quantities.elements import circuit_keys, write_column


class Impedances(ProtectedQuantity):
    """r, x and b of every circuit, in p.u."""

    name = "impedances"
    element = "a circuit"
    unit = "one circuit: the r, x and b of one line or transformer"
    coordinates = ("r", "x", "b")
    not_covered = (
        "which of r, x and b are 0, and their signs: a series capacitor is seen to be one",
        "taps and phase shifts of transformers, and which circuits are transformers",
        "ratings, which follow conductors: protect them as well where that matters",
        "identical parallel circuits, or all circuits of one line type: their ε add up",
        OF_A_KIND,
    )
    cleared = ()

    @classmethod
    def keys(cls, network: Network) -> tuple[str, ...]:
        """Return the circuits by their buses and their number between them."""
        return circuit_keys(network)

    @classmethod
    def values(cls, network: Network) -> FloatArray:
        """Return r, x and b."""
        lines = network.lines
        return np.stack([lines.r, lines.x, lines.b], axis=1)

    @classmethod
    def with_values(cls, network: Network, values: FloatArray) -> Network:
        """Return the network with other r, x and b."""
        r, x, b = values.T
        return replace(network, lines=replace(network.lines, r=r, x=x, b=b))

    @classmethod
    def write(cls, network: Network, tables: dict[str, FloatArray]) -> None:
        """Write r, x and b; circuits out of service get r = 0, x = 1 and b = 0."""
        lines, table = network.lines, ("branch", tables["branch"])
        for name, values, idle in (("r", lines.r, 0.0), ("x", lines.x, 1.0), ("b", lines.b, 0.0)):
            write_column(table, name, lines.row, values, network.base_mva, unit=PLAIN, idle=idle)
