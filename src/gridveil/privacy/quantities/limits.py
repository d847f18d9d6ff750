"""Generator limits: the least and the largest active and reactive output of a unit."""

from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.network.network import Network
from gridveil.network.units import POWER
from gridveil.privacy.quantities.base import OF_A_KIND, ProtectedQuantity
from gridveil.privacy.quantities.elements import generator_keys, write_column

_RAMPS = ("ramp_agc", "ramp_10", "ramp_30", "ramp_q", "apf")
"""How fast a unit moves, and its share in balancing: both follow its size."""


class Limits(ProtectedQuantity):
    """p_min, p_max, q_min and q_max of every generator, in p.u."""

    name = "limits"
    element = "a generator"
    unit = "one generator: the limits of its active and reactive output"
    coordinates = ("p_min", "p_max", "q_min", "q_max")
    not_covered = (
        "which limits are 0, which are infinite, and their signs",
        "costs and dispatch: a unit at its limit has an output, and a cost, that tell the limit",
        "units of one plant, or of one make: their ε add up",
        OF_A_KIND,
    )
    cleared = (("gen", "mBase", 100.0), *(("gen", name, 0.0) for name in _RAMPS))

    @classmethod
    def keys(cls, network: Network) -> tuple[str, ...]:
        """Return the generators by their bus and their number there."""
        return generator_keys(network)

    @classmethod
    def values(cls, network: Network) -> FloatArray:
        """Return the limits; infinite where there is none."""
        gens = network.generators
        return np.stack([gens.p_min, gens.p_max, gens.q_min, gens.q_max], axis=1)

    @classmethod
    def with_values(cls, network: Network, values: FloatArray) -> Network:
        """Return the network with other limits; where noise has turned two around, in order."""
        active, reactive = np.sort(values[:, :2], axis=1), np.sort(values[:, 2:], axis=1)
        (p_min, p_max), (q_min, q_max) = active.T, reactive.T
        changed = replace(network.generators, p_min=p_min, p_max=p_max, q_min=q_min, q_max=q_max)
        return replace(network, generators=changed)

    @classmethod
    def write(cls, network: Network, tables: dict[str, FloatArray]) -> None:
        """Write the limits; units out of service get 0 for all."""
        gens, table = network.generators, ("gen", tables["gen"])
        for name, values in (
            ("Pmin", gens.p_min),
            ("Pmax", gens.p_max),
            ("Qmin", gens.q_min),
            ("Qmax", gens.q_max),
        ):
            write_column(table, name, gens.row, values, network.base_mva, unit=POWER)
