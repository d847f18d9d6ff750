"""The physics of a network whose impedances are variables too.

The variables t of a line say by how much the logarithms of r, x and b have moved:

    r = r̃·e^(t_r),    x = x̃·e^(t_x),    b = b̃·e^(t_b),    y = 1/(r + jx).

Signs stay, and what is 0 stays 0. The coefficients of the four flows of a line (network/flows.py)
are linear in y and b. So a derivative of a flow by t is a flow again, with the derivatives

    ∂y/∂t_r = −ry²              ∂y/∂t_x = −jxy²                ∂b/∂t_b = ∂²b/∂t_b² = b
    ∂²y/∂t_r² = 2r²y³ − ry²     ∂²y/∂t_x² = −2x²y³ − jxy²      ∂²y/∂t_r∂t_x = 2j·rx·y³

in place of y and b; all other second derivatives of y and b by t are 0.
"""

from copy import copy
from dataclasses import replace

import numpy as np

from gridveil.arrays import ComplexArray, FloatArray, IntArray
from gridveil.network.components import Lines
from gridveil.network.flows import (
    P_FROM,
    P_TO,
    Q_FROM,
    Q_TO,
    FlowCoefficients,
    admittance_coefficients,
)
from gridveil.network.network import Network
from gridveil.opf.physics import Flows, Physics

PER_LINE = 3
"""Variables of a line: t of r, of x and of b."""
_PAIRS = ((0, 0), (0, 1), (1, 1), (2, 2))
"""Which second derivatives by t there are: of r and r, r and x, x and x, b and b."""


class LinePhysics(Physics):
    """N(θ, v, t) with its derivatives, at single points.

    Columns: θ of each bus, v of each bus, t_r of each line, t_x, t_b.
    """

    def __init__(self, network: Network) -> None:
        """Let the impedances of all lines move."""
        super().__init__(network)
        self._lines = network.lines
        self.columns = 2 * self.buses + PER_LINE * len(network.lines)

    def lines_at(self, x: FloatArray) -> Lines:
        """Return the lines with their impedances at a point."""
        t = x[2 * self.buses : self.columns].reshape(PER_LINE, -1)
        r, x_, b = np.stack([self._lines.r, self._lines.x, self._lines.b]) * np.exp(t)
        return replace(self._lines, r=r, x=x_, b=b)

    def values(self, x: FloatArray) -> FloatArray:
        """Return N at (θ, v, t)."""
        return self._fixed(self.lines_at(x)).values(x)

    def jacobian_structure(self) -> tuple[IntArray, IntArray]:
        """Return rows and columns of the entries of `jacobian`; entries of one cell add up."""
        rows, columns = super().jacobian_structure()
        limits = 2 * self.buses + np.arange(2 * len(self.limited)).reshape(2, -1)
        more_rows, more_columns = [], []
        for of in self._columns_of_t():
            more_rows += [self._balance_row, limits]
            more_columns += [np.broadcast_to(of, self._balance_row.shape)]
            more_columns += [np.broadcast_to(of[self.limited], limits.shape)]
        return (
            np.concatenate([rows, *(part.ravel() for part in more_rows)]),
            np.concatenate([columns, *(part.ravel() for part in more_columns)]),
        )

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Return the nonzero entries of ∂N/∂(θ, v, t)."""
        lines = self.lines_at(x)
        fixed = self._fixed(lines)
        flow = fixed.flows(x).flow
        parts = [fixed.jacobian(x)]
        for slope in self._slopes(x, lines):
            product = (2 * flow * slope.flow)[:, self.limited]
            squares = product[P_FROM] + product[Q_FROM], product[P_TO] + product[Q_TO]
            parts += [slope.flow.ravel(), *squares]
        return np.concatenate(parts)

    def hessian_structure(self) -> tuple[IntArray, IntArray]:
        """Return rows and columns (lower triangle) of the entries of `hessian`."""
        rows, columns = super().hessian_structure()
        n, t = self.buses, self._columns_of_t()
        voltages = (self._from, self._to, n + self._from, n + self._to)
        pairs = [(of, voltage) for of in t for voltage in voltages]
        pairs += [(t[max(pair)], t[min(pair)]) for pair in _PAIRS_OF_T]
        return (
            np.concatenate([rows, *(row for row, _ in pairs)]),
            np.concatenate([columns, *(column for _, column in pairs)]),
        )

    def hessian(self, x: FloatArray, multipliers: FloatArray) -> FloatArray:
        """Return the entries of Σ multiplier · ∂²N in the order of `hessian_structure`."""
        lines = self.lines_at(x)
        fixed = self._fixed(lines)
        f, slopes = fixed.flows(x), self._slopes(x, lines)
        limit = np.zeros_like(f.flow)
        ends = multipliers[2 * self.buses : self.rows].reshape(2, -1)
        limit[:, self.limited] = np.repeat(2 * ends, 2, axis=0)
        weight = multipliers[self._balance_row] + limit * f.flow
        parts = [fixed.hessian(x, multipliers)]
        for slope in slopes:
            by_delta, by_from, by_to = (
                (weight * bend + limit * along * slope.flow).sum(axis=0)
                for bend, along in (
                    (slope.d_delta, f.d_delta),
                    (slope.d_from, f.d_from),
                    (slope.d_to, f.d_to),
                )
            )
            parts += [by_delta, -by_delta, by_from, by_to]
        bends = dict(zip(_PAIRS, self._bends(x, lines), strict=True))
        for one, other in _PAIRS_OF_T:
            entry = (limit * slopes[one].flow * slopes[other].flow).sum(axis=0)
            if (one, other) in bends:
                entry = entry + (weight * bends[one, other].flow).sum(axis=0)
            parts.append(entry)
        return np.concatenate(parts)

    def _columns_of_t(self) -> IntArray:
        count = len(self._lines)
        first = 2 * self.buses
        return np.arange(first, first + PER_LINE * count).reshape(PER_LINE, count)

    def _fixed(self, lines: Lines) -> Physics:
        """Return the physics of voltages alone, with the impedances of lines."""
        return self._with(admittance_coefficients(lines, lines.y, lines.b))

    def _with(self, coefficients: FlowCoefficients) -> Physics:
        plain = Physics.__new__(Physics)
        vars(plain).update(vars(copy(self)), _coefficients=coefficients)
        return plain

    def _slopes(self, x: FloatArray, lines: Lines) -> list[Flows]:
        """Return the derivatives of all flows by t_r, t_x and t_b, and their own slopes."""
        y, none, still = lines.y, np.zeros(len(lines)), np.zeros(len(lines), dtype=complex)
        r, jx = lines.r, 1j * lines.x
        return self._flows_of(x, lines, [(-r * y**2, none), (-jx * y**2, none), (still, lines.b)])

    def _bends(self, x: FloatArray, lines: Lines) -> list[Flows]:
        """Return the second derivatives of all flows, in the order of `_PAIRS`."""
        y, none, still = lines.y, np.zeros(len(lines)), np.zeros(len(lines), dtype=complex)
        r, jx = lines.r, 1j * lines.x
        return self._flows_of(
            x,
            lines,
            [
                (2 * r**2 * y**3 - r * y**2, none),
                (2 * r * jx * y**3, none),
                (2 * jx**2 * y**3 - jx * y**2, none),
                (still, lines.b),
            ],
        )

    def _flows_of(
        self, x: FloatArray, lines: Lines, admittances: list[tuple[ComplexArray, FloatArray]]
    ) -> list[Flows]:
        """Return the flows that series admittances and charging would make."""
        return [self._with(admittance_coefficients(lines, y, b)).flows(x) for y, b in admittances]


_PAIRS_OF_T = tuple((one, other) for one in range(PER_LINE) for other in range(one, PER_LINE))
"""All pairs of t of a line: limits of |S|² bend by all of them."""
