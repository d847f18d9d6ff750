"""The flow on every line as a function of voltages, in real numbers, as solvers differentiate it.

Each of the four flows of a line (p and q, at the from and the to end) has one shape,

    a v_end² + v_f v_t (α cos δ + β sin δ),    δ = θ_f − θ_t,

so four rows of coefficients (a, α, β) hold the physics of the whole network.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, ComplexArray, FloatArray
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
    return _coefficients(lines.y_ff, lines.y_ft, lines.y_tf, lines.y_tt)


def admittance_coefficients(lines: Lines, y: ComplexArray, b: FloatArray) -> FlowCoefficients:
    """Return the same for other series admittances and charging: they are linear in both."""
    ahead = -y * np.exp(1j * lines.shift) / lines.tap
    back = -y * np.exp(-1j * lines.shift) / lines.tap
    at_end: ComplexArray = y + 0.5j * b
    return _coefficients(np.asarray(at_end / lines.tap**2), ahead, back, at_end)


def _coefficients(
    ff: ComplexArray, ft: ComplexArray, tf: ComplexArray, tt: ComplexArray
) -> FlowCoefficients:
    return FlowCoefficients(
        square=np.stack([ff.real, -ff.imag, tt.real, -tt.imag]),
        cosine=np.stack([ft.real, -ft.imag, tf.real, -tf.imag]),
        sine=np.stack([ft.imag, ft.real, -tf.imag, -tf.real]),
    )
