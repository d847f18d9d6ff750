"""The nonlinear program behind every central problem: network physics plus a linear part.

    minimise    Σ_j c_j(x_j)                              one polynomial per variable
    subject to  g_min ≤ N(θ, v) + A x + Σ h(x_j) ≤ g_max,     x_min ≤ x ≤ x_max

The variables start with θ and v of every bus; what follows (dispatch, loads, slacks) enters the
constraints through A and, where a row bounds a sum of costs, through polynomials h of one variable.
N has the power that leaves each bus into lines and shunts, and |S|² at both ends of every limited
line. Model 1 and the fidelity problems differ in A, bounds and polynomials.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO, flow_coefficients
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint
from gridveil.polynomials import derivative, evaluate


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
        self._c = flow_coefficients(lines)
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
        return _flat(rows), _flat(cols)

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
        return np.asarray(_flat([slopes, squares, shunts]))

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
        rows = _flat([np.maximum(a, b) for a, b in pairs])
        cols = _flat([np.minimum(a, b) for a, b in pairs])
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
        square = 2 * weight * self._c.square
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
        c = self._c
        wave = c.cosine * cos + c.sine * sin
        wave_slope = c.sine * cos - c.cosine * sin
        product = v_from * v_to
        d_from = v_to * wave
        d_from[:2] += 2 * c.square[:2] * v_from
        d_to = v_from * wave
        d_to[2:] += 2 * c.square[2:] * v_to
        flow = product * wave
        flow[:2] += c.square[:2] * v_from**2
        flow[2:] += c.square[2:] * v_to**2
        return _Flows(v_from, v_to, wave, wave_slope, flow, product * wave_slope, d_from, d_to)


@dataclass(frozen=True)
class _Flows:
    """The flows of every line and their slopes; arrays of shape (4, lines) but for the voltages."""

    v_from: FloatArray
    v_to: FloatArray
    wave: FloatArray
    """α cos δ + β sin δ."""
    wave_slope: FloatArray
    flow: FloatArray
    d_delta: FloatArray
    d_from: FloatArray
    d_to: FloatArray


@dataclass(frozen=True)
class Curves:
    """Polynomials h of single variables, each added to a row of the constraints."""

    row: IntArray
    column: IntArray
    coefficients: FloatArray
    """(order + 1, curves), ascending."""


@dataclass(frozen=True)
class NetworkProgram:
    """One problem of the shape above, ready for Ipopt."""

    physics: Physics
    linear: coo_array
    """A, of shape (constraints, variables); its first rows are those of N."""
    curves: Curves
    costs: FloatArray
    """(order + 1, variables): ascending coefficients of each variable's polynomial c_j."""
    x_min: FloatArray
    x_max: FloatArray
    g_min: FloatArray
    g_max: FloatArray

    def objective(self, x: FloatArray) -> float:
        """Return Σ c_j(x_j)."""
        return float(evaluate(self.costs, x).sum())

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return c_j'(x_j)."""
        return evaluate(derivative(self.costs), x)

    def constraints(self, x: FloatArray) -> FloatArray:
        """Return N(θ, v) + A x + Σ h."""
        g = self._matrix @ x
        g[: self.physics.rows] += self.physics.values(x)
        np.add.at(g, self.curves.row, evaluate(self.curves.coefficients, x[self.curves.column]))
        return np.asarray(g)

    def jacobian_structure(self) -> tuple[IntArray, IntArray]:
        """Return rows and columns of the Jacobian's entries."""
        rows, cols = self.physics.jacobian_structure()
        linear, curves = self.linear.coords, self.curves
        return _flat([rows, linear[0], curves.row]), _flat([cols, linear[1], curves.column])

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Return the Jacobian's entries."""
        curves = self.curves
        slopes = evaluate(derivative(curves.coefficients), x[curves.column])
        return np.concatenate([self.physics.jacobian(x), self.linear.data, slopes])

    def hessian_structure(self) -> tuple[IntArray, IntArray]:
        """Return rows and columns (lower triangle) of the Hessian's entries."""
        rows, cols = self.physics.hessian_structure()
        bent = self.curves.column
        return _flat([rows, self._curved, bent]), _flat([cols, self._curved, bent])

    def hessian(self, x: FloatArray, factor: float, multipliers: FloatArray) -> FloatArray:
        """Return the entries of the Hessian of factor·f + multipliers·g."""
        curves = self.curves
        second = evaluate(derivative(derivative(self.costs[:, self._curved])), x[self._curved])
        bend = evaluate(derivative(derivative(curves.coefficients)), x[curves.column])
        return np.concatenate(
            [
                self.physics.hessian(x, multipliers),
                factor * second,
                multipliers[curves.row] * bend,
            ]
        )

    @cached_property
    def _matrix(self) -> csr_array:
        return self.linear.tocsr()

    @cached_property
    def _curved(self) -> IntArray:
        """The variables whose cost is not linear."""
        return np.flatnonzero(np.any(self.costs[2:] != 0, axis=0))


class ProgramBuilder:
    """Puts a `NetworkProgram` together: the physics and limits are there, the rest is added to it.

    Adding returns index arrays, which name variables and rows from then on. `p_load` and `q_load`
    are what every bus must be supplied with.
    """

    def __init__(self, network: Network, p_load: FloatArray, q_load: FloatArray) -> None:
        buses, lines = network.buses, network.lines
        self.physics = physics = Physics(network)
        self._generator_bus = network.generators.bus
        self._bounds: list[tuple[FloatArray, FloatArray]] = []
        self._costs: list[FloatArray] = []
        self._rows: list[tuple[FloatArray, FloatArray]] = []
        self._entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._curves = Curves(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((1, 0)))
        self._variable_count = self._row_count = 0

        held = np.where(buses.reference, 0.0, np.inf)
        self.theta = self.add_variables(-held, held)
        self.v = self.add_variables(buses.v_min, buses.v_max)
        self.active = self.add_rows(-p_load, -p_load)
        self.reactive = self.add_rows(-q_load, -q_load)
        squared_rate = lines.rate[physics.limited] ** 2
        self.thermal = self.add_rows(
            np.full(2 * len(squared_rate), -np.inf), np.tile(squared_rate, 2)
        )
        self.angle = self.add_rows(lines.angle_min, lines.angle_max)
        self.add_entries(self.angle, self.theta[lines.from_bus], 1.0)
        self.add_entries(self.angle, self.theta[lines.to_bus], -1.0)

    def add_dispatch(
        self,
        p_min: FloatArray,
        p_max: FloatArray,
        q_min: FloatArray,
        q_max: FloatArray,
        costs: FloatArray | None = None,
    ) -> None:
        """Add the output of every generator, `p` and `q`, to the balance of its bus."""
        self.p = self.add_variables(p_min, p_max, costs)
        self.q = self.add_variables(q_min, q_max)
        self.add_entries(self.active[self._generator_bus], self.p, -1.0)
        self.add_entries(self.reactive[self._generator_bus], self.q, -1.0)

    def add_variables(
        self, lower: FloatArray, upper: FloatArray, costs: FloatArray | None = None
    ) -> IntArray:
        """Add variables with bounds and cost polynomials, if any: (variables, order + 1)."""
        count = len(lower)
        self._bounds.append((lower, upper))
        self._costs.append(np.zeros((count, 1)) if costs is None else costs)
        self._variable_count += count
        return np.arange(self._variable_count - count, self._variable_count)

    def add_rows(self, lower: FloatArray, upper: FloatArray) -> IntArray:
        """Add constraint rows with bounds."""
        count = len(lower)
        self._rows.append((lower, upper))
        self._row_count += count
        return np.arange(self._row_count - count, self._row_count)

    def add_entries(self, rows: IntArray, columns: IntArray, values: FloatArray | float) -> None:
        """Add entries of A; those of one cell add up."""
        self._entries.append((rows, columns, np.broadcast_to(values, len(rows)).astype(float)))

    def set_curves(self, rows: IntArray, columns: IntArray, coefficients: FloatArray) -> None:
        """Add a polynomial of one variable, (curves, order + 1), to each of the rows."""
        self._curves = Curves(rows, columns, coefficients.T.copy())

    def build(self) -> NetworkProgram:
        """Return the finished program."""
        rows, columns, values = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        shape = (self._row_count, self._variable_count)
        order = max(costs.shape[1] for costs in self._costs)
        padded = [np.pad(costs, ((0, 0), (0, order - costs.shape[1]))) for costs in self._costs]
        x_min, x_max = (np.concatenate(part) for part in zip(*self._bounds, strict=True))
        g_min, g_max = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        return NetworkProgram(
            physics=self.physics,
            linear=coo_array((values, (rows, columns)), shape=shape),
            curves=self._curves,
            costs=np.concatenate(padded).T.copy(),
            x_min=x_min,
            x_max=x_max,
            g_min=g_min,
            g_max=g_max,
        )

    def point(self, x: FloatArray) -> OperatingPoint:
        """Return the operating point that a vector of variables holds."""
        return OperatingPoint(x[self.v], x[self.theta], x[self.p], x[self.q])

    def start(self, program: NetworkProgram, point: OperatingPoint) -> FloatArray:
        """Return variables at an operating point, moved within their bounds; all others are 0."""
        x = np.zeros(len(program.x_min))
        x[self.v], x[self.theta], x[self.p], x[self.q] = point.v, point.theta, point.p, point.q
        return np.clip(x, program.x_min, program.x_max)


def _flat(parts: list[Any]) -> Any:
    return np.concatenate([part.ravel() for part in parts])
