"""The state of a run: everything the next iteration depends on, and nothing else."""

from typing import NamedTuple

from gridveil.arrays import FloatArray

LINE_VARIABLES = 5
V_FROM, V_TO, DELTA, MU_FROM, MU_TO = range(LINE_VARIABLES)
"""Rows of `State.line_solution`: voltages, angle difference, multipliers of the thermal limits."""


class State(NamedTuple):
    """The iterates of ADMM, the lines' last solutions, and the memory of the penalty rules.

    The arrays are changed in place. Those of the penalty rules have one number per group of
    penalties (see layout.py), or one in all.
    """

    x: FloatArray
    """The agents' copies."""
    z: FloatArray
    """The buses' copies."""
    dual: FloatArray
    """The multipliers λ."""
    rho: FloatArray
    """The penalties."""
    line_solution: FloatArray
    """(LINE_VARIABLES, lines): the last solution of every line agent, its next warm start."""
    window_z: FloatArray
    """z at the start of the current window."""
    window_gap: FloatArray
    """(groups): the sum of |x − z| over the current window, in the metric of ρ."""
    window_step: FloatArray
    """(groups): the same sum of |Δz|."""
    direction_changes: FloatArray
    """(groups): how often the penalty turned from rising to falling or back."""
    last_factor: FloatArray
    """(groups): the factor of the last change of the penalty, 1 if there was none."""
    relative_penalty: FloatArray
    """(groups): the penalty relative to its first value."""
    window_primal: FloatArray
    """(1): the sum of the primal residuals over the current window."""
    last_window_primal: FloatArray
    """(1): that sum of the window before."""
    penalty_floor: FloatArray
    """(1): the lowest relative penalty that is allowed."""
    iteration: FloatArray
    """(1): the number of iterations so far."""
    within_tolerance_count: FloatArray
    """(1): for how many consecutive iterations both residuals have been within the tolerance."""
