"""The nonlinear constraints N(θ, v) of a network, with their first and second derivatives.

Points may have leading axes: many points of one network are evaluated at once. NumPy's functions
give arrays of CuPy back where they get them, so that the same formulas run on a GPU.
"""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.flows import (
    FROM_END,
    P_FROM,
    P_TO,
    Q_FROM,
    Q_TO,
    TO_END,
    FlowCoefficients,
    flow_coefficients,
)
from gridveil.network.network import Network
from gridveil.opf.placement import HOST, Placement, joined, stacked


class Physics:
    """N(θ, v) of a network with its first and second derivatives, as closed formulas over arrays.

    Rows: active balance of each bus, reactive balance of each bus, |S_from|² and then |S_to|² of
    each line with a finite rate. Columns: θ of each bus, v of each bus. Both are the last axis.
    """

    def __init__(self, network: Network) -> None:
        buses, lines = network.buses, network.lines
        self.buses = n = len(buses)
        self.limited = np.flatnonzero(np.isfinite(lines.rate))
        self.rows = 2 * n + 2 * len(self.limited)
        self.columns = 2 * n
        self._from, self._to = lines.from_bus, lines.to_bus
        self._shunt_g, self._shunt_b = buses.shunt_g, buses.shunt_b
        self._coefficients = flow_coefficients(lines)
        self._placement = HOST
        # The balance row that each of the four flows of a line leaves from.
        self._balance_row = np.stack([self._from, n + self._from, self._to, n + self._to])

    def placed(self, placement: Placement) -> "Physics":
        """Return it with its arrays where the placement has them, on a GPU for instance."""
        result = copy(self)
        for name in ("limited", "_from", "_to", "_shunt_g", "_shunt_b", "_balance_row"):
            setattr(result, name, placement.array(getattr(self, name)))
        c = self._coefficients
        result._coefficients = FlowCoefficients(
            *(placement.array(part) for part in (c.square, c.cosine, c.sine))
        )
        result._leaving = placement.sparse(self._leaving)
        result._placement = placement
        return result

    def values(self, x: FloatArray) -> FloatArray:
        """Return N at (θ, v)."""
        n = self.buses
        v, flow = x[..., n : 2 * n], self.flows(x).flow
        flat = flow.reshape(*x.shape[:-1], 4 * len(self._from))
        balance = self._placement.product(self._leaving, flat)
        shunts = joined([self._shunt_g * v**2, -self._shunt_b * v**2], axis=-1)
        at = flow[..., self.limited]
        squares = (
            at[..., p, :] ** 2 + at[..., q, :] ** 2 for p, q in ((P_FROM, Q_FROM), (P_TO, Q_TO))
        )
        values: FloatArray = joined([balance + shunts, *squares])
        return values

    def jacobian_structure(self) -> tuple[IntArray, IntArray]:
        """Return rows and columns of the entries of `jacobian`; entries of one cell add up."""
        n, k = self.buses, len(self.limited)
        columns = np.stack([self._from, self._to, n + self._from, n + self._to])
        limited_rows = 2 * n + np.arange(2 * k).reshape(2, k)
        bus = np.arange(n)
        rows = [
            np.broadcast_to(self._balance_row[:, None, :], (4, 4, len(self._from))),
            np.broadcast_to(limited_rows[:, None, :], (2, 4, k)),
            np.stack([bus, n + bus]),
        ]
        cols = [
            np.broadcast_to(columns, (4, 4, len(self._from))),
            np.broadcast_to(columns[:, self.limited], (2, 4, k)),
            np.stack([n + bus, n + bus]),
        ]
        return (
            np.concatenate([part.ravel() for part in rows]),
            np.concatenate([part.ravel() for part in cols]),
        )

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Return the nonzero entries of ∂N/∂(θ, v)."""
        batch, v = x.shape[:-1], x[..., self.buses : 2 * self.buses]
        f = self.flows(x)
        slopes = stacked([f.d_delta, -f.d_delta, f.d_from, f.d_to], axis=-2)
        flow, at = f.flow[..., self.limited], slopes[..., self.limited]
        squares = [
            2
            * (flow[..., p, None, :] * at[..., p, :, :] + flow[..., q, None, :] * at[..., q, :, :])
            for p, q in ((P_FROM, Q_FROM), (P_TO, Q_TO))
        ]
        shunts = (2 * self._shunt_g * v, -2 * self._shunt_b * v)
        parts = (slopes, *squares, *shunts)
        entries: FloatArray = joined([part.reshape(*batch, -1) for part in parts])
        return entries

    def hessian_structure(self) -> tuple[IntArray, IntArray]:
        """Return rows and columns (lower triangle) of the entries of `hessian`."""
        n = self.buses
        theta_f, theta_t, v_f, v_t = self._from, self._to, n + self._from, n + self._to
        pairs = [
            (theta_f, theta_f), (theta_t, theta_t), (theta_f, theta_t),
            (v_f, theta_f), (v_f, theta_t), (v_t, theta_f), (v_t, theta_t),
            (v_f, v_f), (v_t, v_t), (v_f, v_t),
            (n + np.arange(n), n + np.arange(n)),
        ]  # fmt: skip
        rows = np.concatenate([np.maximum(a, b) for a, b in pairs])
        cols = np.concatenate([np.minimum(a, b) for a, b in pairs])
        return rows, cols

    def hessian(self, x: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return the entries of Σ multiplier · ∂²N in the order of `hessian_structure`."""
        n = self.buses
        f = self.flows(x)
        weight = multipliers[..., self._balance_row]
        # d²(p² + q²) = 2 p d²p + 2 q d²q + 2 (dp dpᵀ + dq dqᵀ): the first two join the weights.
        limit = np.zeros_like(f.flow)
        ends = multipliers[..., 2 * n : self.rows].reshape(*x.shape[:-1], 2, len(self.limited))
        limit[..., self.limited] = np.repeat(ends, 2, axis=-2)
        weight = weight + 2 * limit * f.flow

        def outer(a: FloatArray, b: FloatArray) -> FloatArray:
            product: FloatArray = 2 * np.sum(limit * a * b, axis=-2)
            return product

        d_delta, d_from, d_to = f.d_delta, f.d_from, f.d_to
        delta2 = -f.v_from * f.v_to * np.sum(weight * f.wave, axis=-2) + outer(d_delta, d_delta)
        slope = np.sum(weight * f.wave_slope, axis=-2)
        delta_from = f.v_to * slope + outer(d_delta, d_from)
        delta_to = f.v_from * slope + outer(d_delta, d_to)
        square = 2 * weight * self._coefficients.square
        from2 = square[..., P_FROM, :] + square[..., Q_FROM, :] + outer(d_from, d_from)
        to2 = square[..., P_TO, :] + square[..., Q_TO, :] + outer(d_to, d_to)
        from_to = np.sum(weight * f.wave, axis=-2) + outer(d_from, d_to)
        active, reactive = multipliers[..., :n], multipliers[..., n : 2 * n]
        shunts = 2 * (self._shunt_g * active - self._shunt_b * reactive)
        entries: FloatArray = joined(
            [
                delta2, delta2, -delta2,
                delta_from, -delta_from, delta_to, -delta_to,
                from2, to2, from_to,
                shunts,
            ],
        )  # fmt: skip
        return entries

    @cached_property
    def _leaving(self) -> Any:
        """The matrix that adds up the flows that leave each bus, of shape (2 buses, 4 lines)."""
        flows = self._balance_row.size
        cells = (self._balance_row.ravel(), np.arange(flows))
        return csr_array((np.ones(flows), cells), shape=(2 * self.buses, flows))

    def flows(self, x: FloatArray) -> "Flows":
        """Return the flows of all lines at (θ, v), and their slopes."""
        n = self.buses
        v_from, v_to = x[..., n + self._from], x[..., n + self._to]
        delta = x[..., self._from] - x[..., self._to]
        c = self._coefficients
        cos, sin, from_, to = (
            part[..., None, :] for part in (np.cos(delta), np.sin(delta), v_from, v_to)
        )
        wave = c.cosine * cos + c.sine * sin
        wave_slope = c.sine * cos - c.cosine * sin
        product = from_ * to
        d_from = to * wave
        d_from[..., FROM_END, :] += 2 * c.square[FROM_END] * from_
        d_to = from_ * wave
        d_to[..., TO_END, :] += 2 * c.square[TO_END] * to
        flow = product * wave
        flow[..., FROM_END, :] += c.square[FROM_END] * from_**2
        flow[..., TO_END, :] += c.square[TO_END] * to**2
        return Flows(v_from, v_to, wave, wave_slope, flow, product * wave_slope, d_from, d_to)


@dataclass(frozen=True)
class Flows:
    """The flows of every line and their slopes; arrays of shape (…, 4, lines) but the voltages."""

    v_from: FloatArray
    v_to: FloatArray
    wave: FloatArray
    """α cos δ + β sin δ."""
    wave_slope: FloatArray
    """Its derivative by δ."""
    flow: FloatArray
    d_delta: FloatArray
    """Derivative of the flow by δ."""
    d_from: FloatArray
    """Derivative of the flow by the voltage at the from end."""
    d_to: FloatArray
