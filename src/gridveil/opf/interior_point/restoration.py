"""The point of least violation, where a solve did not get there by itself.

Every row may be exceeded at a price. If that takes nothing, the point is feasible, and the solve
goes on from there; otherwise the program is infeasible, as far as can be seen from that point.
"""

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array

from gridveil.opf.interior_point.backend import Array
from gridveil.opf.program import NetworkProgram

_NEARNESS = 1e-6
"""Price of squared distance from where the solve was, so that the point is unique."""


def elastic_program(program: NetworkProgram, x: Array) -> tuple[NetworkProgram, Array]:
    """Return the batch that minimises the sum of all violations, and its start.

    Args:
        program: A batch of programs.
        x: Where its instances are.
    """
    xp, (rows, n) = program.placement.xp, program.linear.shape
    batch = len(x)
    row, column = program.linear.coords
    every = np.arange(rows)
    linear = coo_array(
        (
            np.concatenate([program.linear.data, np.ones(rows), -np.ones(rows)]),
            (
                np.concatenate([row, every, every]),
                np.concatenate([column, n + np.arange(2 * rows)]),
            ),
        ),
        shape=(rows, n + 2 * rows),
    )
    pull = _NEARNESS / xp.maximum(1.0, xp.abs(x)) ** 2
    costs = xp.zeros((3, batch, n + 2 * rows))
    costs[:, :, :n] = xp.stack([pull * x**2, -2 * pull * x, pull])
    costs[1, :, n:] = 1.0
    none, any_ = xp.zeros((batch, 2 * rows)), xp.full((batch, 2 * rows), xp.inf)
    g = program.constraints(x)
    short, over = xp.maximum(program.g_min - g, 0.0), xp.maximum(g - program.g_max, 0.0)
    elastic = replace(
        program,
        linear=linear,
        costs=costs,
        x_min=xp.concatenate([program.x_min, none], axis=1),
        x_max=xp.concatenate([program.x_max, any_], axis=1),
    )
    vars(elastic).update(_structures=program._structures)  # those of the same physics
    elastic.prepare()
    return elastic, xp.concatenate([x, short, over], axis=1)


def largest_violation(program: NetworkProgram, x: Array) -> Array:
    """Return the largest violation of each instance's rows."""
    xp, g = program.placement.xp, program.constraints(x)
    return xp.maximum(program.g_min - g, g - program.g_max).max(axis=1)
