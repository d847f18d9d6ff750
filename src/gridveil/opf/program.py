"""The nonlinear program of every central problem: network physics plus a linear part.

    minimise    Σ_j c_j(x_j)                              one polynomial per variable
    subject to  g_min ≤ N(θ, v) + A x + Σ h(x_j) ≤ g_max,     x_min ≤ x ≤ x_max

The variables start with θ and v of every bus; what follows (dispatch, loads, slacks) enters the
constraints through A and, where a row bounds a sum of costs, through polynomials h of one variable.
N has the power that leaves each bus into lines and shunts, and |S|² at both ends of every limited
line. Model 1 and the fidelity problems differ in A, bounds and polynomials.

Points may have a leading axis: a batch of points is evaluated at once. Bounds and costs may have
one too: then each instance of a batch has its own, and the rest of the program in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.network import Network
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.physics import Physics
from gridveil.opf.placement import HOST, Placement, joined
from gridveil.polynomials import derivative, evaluate


@dataclass(frozen=True)
class PolynomialTerms:
    """Polynomials h of single variables, each added to a row of the constraints."""

    row: IntArray
    column: IntArray
    coefficients: FloatArray
    """(order + 1, terms), ascending."""


@dataclass(frozen=True)
class NetworkProgram:
    """A program of this shape, or a batch of them, as the solvers take it."""

    physics: Physics
    linear: coo_array
    """A, of shape (constraints, variables); its first rows are those of N."""
    terms: PolynomialTerms
    costs: FloatArray
    """(order + 1, variables): ascending coefficients of each variable's polynomial c_j. In a batch
    (order + 1, instances, variables)."""
    x_min: FloatArray
    x_max: FloatArray
    g_min: FloatArray
    g_max: FloatArray
    placement: Placement = HOST
    """Where the arrays are, but for structures, which are always in memory."""

    def objective(self, x: FloatArray) -> Any:
        """Return Σ c_j(x_j)."""
        return evaluate(self.costs, x).sum(axis=-1)

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return c_j'(x_j)."""
        return evaluate(derivative(self.costs), x)

    def constraints(self, x: FloatArray) -> FloatArray:
        """Return N(θ, v) + A x + Σ h."""
        g: FloatArray = self.placement.product(self._matrix, x).copy()
        g[..., : self.physics.rows] += self.physics.values(x)
        if len(self.terms.row):
            terms = evaluate(self._coefficients, x[..., self._term_column])
            g += self.placement.product(self._term_rows, terms)
        return g

    def jacobian_structure(self) -> tuple[IntArray, IntArray]:
        """Return rows and columns of the Jacobian's entries."""
        rows, cols = self._structures[0]
        linear, terms = self.linear.coords, self.terms
        return (
            np.concatenate([rows, linear[0], terms.row]),
            np.concatenate([cols, linear[1], terms.column]),
        )

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Return the Jacobian's entries."""
        batch = x.shape[:-1]
        linear = np.broadcast_to(self._linear_values, (*batch, len(self._linear_values)))
        slopes = evaluate(derivative(self._coefficients), x[..., self._term_column])
        entries: FloatArray = joined([self.physics.jacobian(x), linear, slopes])
        return entries

    def hessian_structure(self) -> tuple[IntArray, IntArray]:
        """Return rows and columns (lower triangle) of the Hessian's entries."""
        rows, cols = self._structures[1]
        columns = [self._bent, self.terms.column]
        return np.concatenate([rows, *columns]), np.concatenate([cols, *columns])

    def hessian(
        self, x: FloatArray, factor: float | FloatArray, multipliers: FloatArray
    ) -> FloatArray:
        """Return the entries of the Hessian of factor·f + multipliers·g.

        In a batch, the factor is of shape (instances, 1).
        """
        bent = self._bent_there
        second = evaluate(derivative(derivative(self.costs[..., bent])), x[..., bent])
        bend = evaluate(derivative(derivative(self._coefficients)), x[..., self._term_column])
        entries: FloatArray = joined(
            [
                self.physics.hessian(x, multipliers),
                factor * second,
                multipliers[..., self._term_row] * bend,
            ]
        )
        return entries

    def placed(self, placement: Placement) -> "NetworkProgram":
        """Return the program with its arrays where the placement has them."""
        if placement.xp is self.placement.xp:
            return self
        names = ("costs", "x_min", "x_max", "g_min", "g_max")
        arrays = {name: placement.array(getattr(self, name)) for name in names}
        physics = self.physics.placed(placement)
        result = replace(self, physics=physics, placement=placement, **arrays)
        vars(result).update(_structures=self._structures, _bent=self._bent)
        result.prepare()
        return result

    def prepare(self) -> None:
        """Put what every evaluation needs where the arrays are, not at the first evaluation."""
        for name in _SHARED:
            getattr(self, name)

    def instances(self, which: IntArray) -> "NetworkProgram":
        """Return the batch of some of its instances."""
        names = ("x_min", "x_max", "g_min", "g_max")
        bounds = {name: getattr(self, name)[which] for name in names}
        result = replace(self, costs=self.costs[:, which], **bounds)
        vars(result).update({name: getattr(self, name) for name in _SHARED})
        return result

    def one(self, instance: int) -> "NetworkProgram":
        """Return one instance of a batch as a program of its own."""
        names = ("x_min", "x_max", "g_min", "g_max")
        bounds = {name: getattr(self, name)[instance] for name in names}
        result = replace(self, costs=self.costs[:, instance], **bounds)
        vars(result).update(_structures=self._structures)
        return result

    @cached_property
    def _structures(self) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]]:
        return self.physics.jacobian_structure(), self.physics.hessian_structure()

    @cached_property
    def _bent(self) -> IntArray:
        """The variables whose cost is not linear."""
        orders = self.costs[2:].reshape(-1, self.costs.shape[-1])
        bent: IntArray = self.placement.host(np.flatnonzero(np.any(orders != 0, axis=0)))
        return bent

    @cached_property
    def _matrix(self) -> Any:
        return self.placement.sparse(self.linear.tocsr())

    @cached_property
    def _linear_values(self) -> FloatArray:
        values: FloatArray = self.placement.array(self.linear.data)
        return values

    @cached_property
    def _bent_there(self) -> IntArray:
        indices: IntArray = self.placement.array(self._bent)
        return indices

    @cached_property
    def _coefficients(self) -> FloatArray:
        coefficients: FloatArray = self.placement.array(self.terms.coefficients)
        return coefficients

    @cached_property
    def _term_row(self) -> IntArray:
        rows: IntArray = self.placement.array(self.terms.row)
        return rows

    @cached_property
    def _term_column(self) -> IntArray:
        columns: IntArray = self.placement.array(self.terms.column)
        return columns

    @cached_property
    def _term_rows(self) -> Any:
        """The matrix that adds the terms to their rows."""
        cells = (self.terms.row, np.arange(len(self.terms.row)))
        shape = (self.linear.shape[0], len(self.terms.row))
        return self.placement.sparse(csr_array((np.ones(len(self.terms.row)), cells), shape=shape))


_SHARED = (
    "_structures", "_bent", "_matrix", "_linear_values", "_bent_there", "_coefficients",
    "_term_row", "_term_column", "_term_rows",
)  # fmt: skip
"""What all instances of a batch have in common."""


def batch_of(programs: Sequence[NetworkProgram]) -> NetworkProgram:
    """Return programs that differ in bounds and costs alone as one batch."""
    names = ("x_min", "x_max", "g_min", "g_max")
    bounds: dict[str, Any] = {
        name: np.stack([getattr(program, name) for program in programs]) for name in names
    }
    costs = np.stack([program.costs for program in programs], axis=1)
    return replace(programs[0], costs=costs, **bounds)


class ProgramBuilder:
    """Builds a `NetworkProgram` from the physics and limits of a network and what is added.

    Adding returns the indices of the new variables or rows.
    """

    def __init__(
        self,
        network: Network,
        p_load: FloatArray,
        q_load: FloatArray,
        physics: Physics | None = None,
    ) -> None:
        """Start with voltages, power balance, line ratings and angle limits.

        Args:
            network: Its loads are not used.
            p_load: Active power that each bus must be supplied with, in p.u.
            q_load: Reactive power likewise.
            physics: The network's, where it is not the plain one. Its variables beyond voltages
                must be the first that are added.
        """
        buses, lines = network.buses, network.lines
        self.physics = physics = Physics(network) if physics is None else physics
        self._generator_bus = network.generators.bus
        self._bounds: list[tuple[FloatArray, FloatArray]] = []
        self._costs: list[FloatArray] = []
        self._rows: list[tuple[FloatArray, FloatArray]] = []
        self._entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self._terms = PolynomialTerms(
            np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((1, 0))
        )
        self._variable_count = self._row_count = 0

        angle_bound = np.where(buses.reference, 0.0, np.inf)
        self.theta = self.add_variables(-angle_bound, angle_bound)
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
        """Add variables with bounds and, if given, cost polynomials: (variables, order + 1)."""
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
        """Add entries to A; entries of one cell add up."""
        self._entries.append((rows, columns, np.broadcast_to(values, len(rows)).astype(float)))

    def set_polynomial_terms(
        self, rows: IntArray, columns: IntArray, coefficients: FloatArray
    ) -> None:
        """Add a polynomial of one variable, (terms, order + 1), to each of the rows."""
        self._terms = PolynomialTerms(rows, columns, coefficients.T.copy())

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
            terms=self._terms,
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
