"""Gradients of the optimal cost by every number of a network, from the multipliers of one AC-OPF.

By the envelope theorem the derivative of the optimal cost C by a number u is that of the Lagrangian
at the optimum, where only u itself moves. With λ the multipliers of the balances at the ends of a
line and μ those of its limits, and w = λ_P + jλ_Q + 2μS at each end,

    dC/du = Re(w̄_f·∂S_f/∂u + w̄_t·∂S_t/∂u)       for u = r, x, b of a line,
    ∂S_f/∂r = −Y²A_f,  ∂S_f/∂x = jY²A_f,  ∂S_f/∂b = −(j/2)·v_f²/τ²,    Y = 1/(r − jx),
    A_f = v_f²/τ² − v_f·v_t·e,  A_t = v_t² − v_f·v_t·ē,    e = exp(j(θ_f − θ_t − φ))/τ,

and alike at the to end, without τ. Ratings and limits bound from one side: dC/d rate is
−2·rate·(μ_f + μ_t), and dC/dp_max minus the multiplier of p ≤ p_max. dC/dc_k = p^k.

They hold where the same limits bind nearby. Where that changes, C has a kink.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray
from gridveil.opf.acopf import OPFResult


@dataclass(frozen=True, eq=False)
class CostGradients(ArrayRecord):
    """The derivatives of the optimal cost in $/h, by numbers in p.u."""

    load_p: FloatArray
    """By the active power of each load."""
    load_q: FloatArray
    r: FloatArray
    """By the resistance of each line."""
    x: FloatArray
    b: FloatArray
    rate: FloatArray
    """By the rating of each line; 0 where it has none."""
    p_min: FloatArray
    """By the least active output of each generator."""
    p_max: FloatArray
    q_min: FloatArray
    q_max: FloatArray
    coefficients: FloatArray
    """By the numbers of each cost polynomial, in the shape and the order of the network's."""


def cost_gradients(result: OPFResult) -> CostGradients:
    """Return the gradients of the optimal cost of a solved AC-OPF.

    A unit with a piecewise-linear cost has a gradient by its limits, none by its curve.

    Args:
        result: Of a network with costs.

    Example:
        >>> from gridveil import cost_gradients, solve_acopf
        >>> gradients = cost_gradients(solve_acopf("case5_pjm"))
        >>> (gradients.rate < -1).tolist()  # the last line alone is full
        [False, False, False, False, False, True]
    """
    network, point, of = result.network, result.point, result.multipliers
    lines, loads = network.lines, network.loads
    start, end = lines.from_bus, lines.to_bus
    v_from, v_to = point.v[start], point.v[end]
    square_from, square_to = (v_from / lines.tap) ** 2, v_to**2
    delta = point.theta[start] - point.theta[end] - lines.shift
    cross = v_from * v_to * np.exp(1j * delta) / lines.tap
    y_square = 1 / (lines.r - 1j * lines.x) ** 2
    w_from = of.active[start] + 1j * of.reactive[start] + 2 * of.flow_from * result.flow_from
    w_to = of.active[end] + 1j * of.reactive[end] + 2 * of.flow_to * result.flow_to
    series = y_square * (
        w_from.conj() * (square_from - cross) + w_to.conj() * (square_to - cross.conj())
    )
    charging = w_from.conj() * square_from + w_to.conj() * square_to
    full = of.flow_from + of.flow_to
    limited = np.isfinite(lines.rate)
    orders = np.arange(network.generators.costs.coefficients.shape[1])
    piecewise = np.zeros(len(network.generators), dtype=bool)
    piecewise[network.generators.costs.segment_generator] = True
    return CostGradients(
        load_p=of.active[loads.bus],
        load_q=of.reactive[loads.bus],
        r=-series.real,
        x=-series.imag,
        b=charging.imag / 2,
        rate=np.where(limited, -2 * np.where(limited, lines.rate, 0.0) * full, 0.0),
        p_min=np.maximum(-of.p, 0.0),
        p_max=-np.maximum(of.p, 0.0),
        q_min=np.maximum(-of.q, 0.0),
        q_max=-np.maximum(of.q, 0.0),
        coefficients=np.where(piecewise[:, None], 0.0, point.p[:, None] ** orders),
    )
