"""Where a run stands: everything the next iteration depends on, and nothing else."""

from typing import NamedTuple

from gridveil.arrays import FloatArray


class State(NamedTuple):
    """The shared vectors, the lines' last solutions and what the penalties' rule remembers.

    The arrays are changed in place from iteration to iteration.
    """

    x: FloatArray
    """The agents' copies."""
    z: FloatArray
    """The buses' copies."""
    dual: FloatArray
    """The multipliers λ."""
    rho: FloatArray
    lines: FloatArray
    """(5, lines): v_f, v_t, δ and the multipliers of the thermal limits, of the last solution."""
    window_z: FloatArray
    """z at the start of the current window."""
    ways: FloatArray
    """(5, groups): the sums of |x − z| and of |Δz| in the current window, in the metric of ρ; three
    more rows to work with."""
    turns: FloatArray
    """How often each group's penalty changed its direction."""
    last_factor: FloatArray
    """By what each group's penalty changed last, 1 if never."""
    raised: FloatArray
    """Each group's penalty relative to where it started."""
    residuals: FloatArray
    """The sum of the primal residuals in the current window, and in the last."""
    floor: FloatArray
    """(1): below what no penalty may be, relative to where it started."""
    iteration: FloatArray
    """The iterations so far, and how many of the last had both residuals within the tolerance."""
