"""The nonlinear constraints N(θ, v) of a network, with their first and second derivatives."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.flows import (
    FROM_END,
    P_FROM,
    P_TO,
    Q_FROM,
    Q_TO,
    TO_END,
    flow_coefficients,
)
from gridveil.network.network import Network


class Physics:
    """N(θ, v) of a network with its first and second derivatives, as closed formulas over arrays.

    Rows: active balance of each bus, reactive balance of each bus, |S_from|² and then |S_to|² of
    each line with a finite rate. Columns: θ of each bus, v of each bus.
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
        # The balance row that each of the four flows of a line leaves from.
        self._balance_row = np.stack([self._from, n + self._from, self._to, n + self._to])

    def values(self, x: FloatArray) -> FloatArray:
        """Return N at (θ, v)."""
        n, v = self.buses, x[self.buses : 2 * self.buses]
        flow = self._flows(x).flow
        out = np.empty(self.rows)
        out[: 2 * n] = np.bincount(self._balance_row.ravel(), flow.ravel(), 2 * n)
        out[:n] += self._shunt_g * v**2
        out[n : 2 * n] -= self._shunt_b * v**2
        at = flow[:, self.limited]
        out[2 * n :] = np.concatenate(
            [at[P_FROM] ** 2 + at[Q_FROM] ** 2, at[P_TO] ** 2 + at[Q_TO] ** 2]
        )
        return out

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
        return _concatenated(rows), _concatenated(cols)

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Return the nonzero entries of ∂N/∂(θ, v)."""
        v = x[self.buses : 2 * self.buses]
        f = self._flows(x)
        slopes = np.stack([f.d_delta, -f.d_delta, f.d_from, f.d_to], axis=1)
        flow, at = f.flow[:, self.limited], slopes[:, :, self.limited]
        squares = 2 * np.stack(
            [
                flow[P_FROM] * at[P_FROM] + flow[Q_FROM] * at[Q_FROM],
                flow[P_TO] * at[P_TO] + flow[Q_TO] * at[Q_TO],
            ]
        )
        shunts = np.stack([2 * self._shunt_g * v, -2 * self._shunt_b * v])
        return np.asarray(_concatenated([slopes, squares, shunts]))

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
        rows = _concatenated([np.maximum(a, b) for a, b in pairs])
        cols = _concatenated([np.minimum(a, b) for a, b in pairs])
        return rows, cols

    def hessian(self, x: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return the entries of Σ multiplier · ∂²N in the order of `hessian_structure`."""
        n = self.buses
        f = self._flows(x)
        weight = multipliers[self._balance_row]
        # d²(p² + q²) = 2 p d²p + 2 q d²q + 2 (dp dpᵀ + dq dqᵀ): the first two join the weights.
        limit = np.zeros((4, len(self._from)))
        limit[:, self.limited] = np.repeat(multipliers[2 * n : self.rows].reshape(2, -1), 2, axis=0)
        weight = weight + 2 * limit * f.flow

        def outer(a: FloatArray, b: FloatArray) -> FloatArray:
            return np.asarray(2 * np.sum(limit * a * b, axis=0))

        delta2 = -f.v_from * f.v_to * np.sum(weight * f.wave, axis=0) + outer(f.d_delta, f.d_delta)
        slope = np.sum(weight * f.wave_slope, axis=0)
        delta_from = f.v_to * slope + outer(f.d_delta, f.d_from)
        delta_to = f.v_from * slope + outer(f.d_delta, f.d_to)
        square = 2 * weight * self._coefficients.square
        from2 = square[P_FROM] + square[Q_FROM] + outer(f.d_from, f.d_from)
        to2 = square[P_TO] + square[Q_TO] + outer(f.d_to, f.d_to)
        from_to = np.sum(weight * f.wave, axis=0) + outer(f.d_from, f.d_to)
        shunts = 2 * (self._shunt_g * multipliers[:n] - self._shunt_b * multipliers[n : 2 * n])
        return np.concatenate(
            [
                delta2, delta2, -delta2,
                delta_from, -delta_from, delta_to, -delta_to,
                from2, to2, from_to,
                shunts,
            ]
        )  # fmt: skip

    def _flows(self, x: FloatArray) -> "_Flows":
        n = self.buses
        v_from, v_to = x[n + self._from], x[n + self._to]
        delta = x[self._from] - x[self._to]
        cos, sin = np.cos(delta), np.sin(delta)
        c = self._coefficients
        wave = c.cosine * cos + c.sine * sin
        wave_slope = c.sine * cos - c.cosine * sin
        product = v_from * v_to
        d_from = v_to * wave
        d_from[FROM_END] += 2 * c.square[FROM_END] * v_from
        d_to = v_from * wave
        d_to[TO_END] += 2 * c.square[TO_END] * v_to
        flow = product * wave
        flow[FROM_END] += c.square[FROM_END] * v_from**2
        flow[TO_END] += c.square[TO_END] * v_to**2
        return _Flows(v_from, v_to, wave, wave_slope, flow, product * wave_slope, d_from, d_to)


@dataclass(frozen=True)
class _Flows:
    """The flows of every line and their slopes; arrays of shape (4, lines) but for the voltages."""

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


def _concatenated(parts: list[Any]) -> Any:
    """Return the entries of arrays of any shape, one array after the other."""
    return np.concatenate([part.ravel() for part in parts])
