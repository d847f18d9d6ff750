"""The flow on every line as a function of voltages, in real numbers, as solvers differentiate it.

Each of the four flows of a line (p and q, at the from and the to end) has one shape,

    a v_end² + v_f v_t (α cos δ + β sin δ),    δ = θ_f − θ_t,

so four rows of coefficients (a, α, β) hold the physics of the whole network.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.network.components import Lines

P_FROM, Q_FROM, P_TO, Q_TO = range(4)
"""The rows of every (4, lines) array of flows."""
FROM_END, TO_END = slice(P_FROM, P_TO), slice(P_TO, None)
"""The rows of the flows at either end of a line."""


@dataclass(frozen=True, eq=False)
class FlowCoefficients(ArrayRecord):
    """The coefficients a, α and β of the four flows, each of shape (4, lines)."""

    square: FloatArray
    cosine: FloatArray
    sine: FloatArray


def flow_coefficients(lines: Lines) -> FlowCoefficients:
    """Return the flow coefficients of every line."""
    ff, ft, tf, tt = lines.y_ff, lines.y_ft, lines.y_tf, lines.y_tt
    return FlowCoefficients(
        square=np.stack([ff.real, -ff.imag, tt.real, -tt.imag]),
        cosine=np.stack([ft.real, -ft.imag, tf.real, -tf.imag]),
        sine=np.stack([ft.imag, ft.real, -tf.imag, -tf.real]),
    )
