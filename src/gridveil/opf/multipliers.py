"""All multipliers of an AC-OPF, by what they belong to."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.network.network import Network
from gridveil.opf.nonlinear_program import Solution
from gridveil.opf.program import NetworkProgram, ProgramBuilder


@dataclass(frozen=True, eq=False)
class Multipliers(ArrayRecord):
    """What the optimal cost in $/h gains where a limit moves by one p.u. (or p.u.², or radian).

    Those of two-sided limits are above 0 where the upper one binds, below 0 where the lower one
    does. All are 0 in a network without costs.
    """

    active: FloatArray
    """Of the active balance of each bus: what one more p.u. of load there costs."""
    reactive: FloatArray
    """Of its reactive balance."""
    flow_from: FloatArray
    """Of |S|² ≤ rate² at the from end of each line; 0 where there is no limit."""
    flow_to: FloatArray
    """The same at the to end."""
    angle: FloatArray
    """Of the limits of the angle difference of each line."""
    v: FloatArray
    """Of the voltage limits of each bus."""
    p: FloatArray
    """Of the limits of active output of each generator."""
    q: FloatArray
    """Of the limits of its reactive output."""


def multipliers_of(
    network: Network, builder: ProgramBuilder, program: NetworkProgram, solution: Solution
) -> Multipliers:
    """Return the multipliers of a solution of an AC-OPF.

    Those of bounds are what is left of ∇f + Jᵀλ, which they balance at a solution.
    """
    x, of_rows = solution.x, solution.g_multipliers
    rows, columns = program.jacobian_structure()
    shape = (len(of_rows), len(x))
    jacobian = csr_array((program.jacobian(x), (rows, columns)), shape=shape)
    of_bounds = -(program.gradient(x) + jacobian.T @ of_rows)
    limited = builder.physics.limited
    ends = np.zeros((2, len(network.lines)))
    ends[:, limited] = of_rows[builder.thermal].reshape(2, len(limited))
    priced = network.has_costs
    return Multipliers(
        active=of_rows[builder.active] * priced,
        reactive=of_rows[builder.reactive] * priced,
        flow_from=ends[0] * priced,
        flow_to=ends[1] * priced,
        angle=of_rows[builder.angle] * priced,
        v=of_bounds[builder.v] * priced,
        p=of_bounds[builder.p] * priced,
        q=of_bounds[builder.q] * priced,
    )
