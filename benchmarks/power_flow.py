"""A power flow by Newton's method on Gridveil's flow equations, to hold against others."""

import numpy as np
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve

from gridveil import Network
from gridveil.arrays import BoolArray, FloatArray
from gridveil.opf.physics import Physics


def power_flow(
    network: Network,
    injected: FloatArray,
    held: BoolArray,
    start: FloatArray,
    tolerance: float = 1e-11,
    iterations: int = 20,
) -> tuple[FloatArray, float]:
    """Solve the power flow.

    Args:
        network: The network; its loads play no part.
        injected: P and then Q that is fed into each bus in p.u.
        held: Which of θ and then v of each bus keep their value; the balance of P where θ is held
            and that of Q where v is held are free.
        start: θ and then v of each bus.
        tolerance: Largest mismatch at the end, in p.u.
        iterations: At most so many steps; one at least.

    Returns:
        θ and v, and the largest mismatch at the start.
    """
    physics, free, n = Physics(network), ~held, len(network.buses)
    rows, columns = physics.jacobian_structure()
    balance = rows < 2 * n
    x = start.copy()
    first = np.nan
    for step in range(iterations):
        mismatch = (physics.values(x)[: 2 * n] - injected)[free]
        worst = float(np.abs(mismatch).max(initial=0.0))
        first = worst if step == 0 else first
        if worst < tolerance and step > 0:
            break
        entries = physics.jacobian(x)[balance]
        jacobian = csc_array((entries, (rows[balance], columns[balance])), shape=(2 * n, 2 * n))
        x[free] -= np.atleast_1d(spsolve(jacobian[free][:, free], mismatch))
    return x, first
