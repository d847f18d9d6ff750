"""Generator costs: the numbers of a cost polynomial up to the square."""

from dataclasses import replace

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.network.conversion import POLYNOMIAL
from gridveil.network.network import Network
from gridveil.privacy.quantities.base import OF_A_KIND, ProtectedQuantity
from gridveil.privacy.quantities.elements import generator_keys

_ORDER = 2
_FIRST = 4
"""The column of gencost with the first number of a polynomial, that of the square."""


class Costs(ProtectedQuantity):
    """c₂, c₁ and c₀ of every generator, in $/h for an output in p.u."""

    name = "costs"
    element = "a generator"
    unit = "one generator: the numbers of its cost function c₂p² + c₁p + c₀"
    coordinates = ("c2", "c1", "c0")
    not_covered = (
        "which numbers of a cost function are 0, and their signs",
        "the costs O* and the optimal dispatch, which follow from all costs together",
        "units of one plant, or of one fuel: their ε add up",
        OF_A_KIND,
    )
    cleared = (("gencost", "startup", 0.0), ("gencost", "shutdown", 0.0))

    @classmethod
    def keys(cls, network: Network) -> tuple[str, ...]:
        """Return the generators by their bus and their number there."""
        return generator_keys(network)

    @classmethod
    def values(cls, network: Network) -> FloatArray:
        """Return the numbers of the polynomials, that of the square first."""
        costs = network.generators.costs
        if len(costs.segment_generator):
            name = network.generator_name(costs.segment_generator[0])
            raise GridveilError(
                f"{network.name}: {name} has a piecewise-linear cost, which cannot be protected; "
                "give it a polynomial, or leave costs public"
            )
        order = costs.coefficients.shape[1] - 1
        if order > _ORDER:
            raise GridveilError(
                f"{network.name} has cost polynomials of order {order}; those up to the square "
                "can be protected"
            )
        padded = np.pad(costs.coefficients, ((0, 0), (0, _ORDER - order)))
        return padded[:, ::-1]

    @classmethod
    def with_values(cls, network: Network, values: FloatArray) -> Network:
        """Return the network with other cost polynomials."""
        costs = replace(network.generators.costs, coefficients=values[:, ::-1])
        return replace(network, generators=replace(network.generators, costs=costs))

    @classmethod
    def write(cls, network: Network, tables: dict[str, FloatArray]) -> None:
        """Write a cost table of polynomials up to the square; units out of service cost nothing."""
        rows = np.tile([POLYNOMIAL, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0], (len(tables["gencost"]), 1))
        powers = network.base_mva ** np.arange(_ORDER, -1, -1)
        rows[network.generators.row, _FIRST:] = cls.values(network) / powers
        tables["gencost"] = rows
