"""A program as the method sees it: slacks, bounds of all primal variables, scaling.

    minimise f(x)   subject to   g(x) − s = 0,   lower ≤ (x, s) ≤ upper

Every row has a slack s. Those of equalities are fixed at their value, as variables with equal
bounds are: `moves` says which primal variables are free to move. All arrays have an axis of
instances first; the primal variables are x, then s.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from gridveil.opf.interior_point.backend import Array, Operations
from gridveil.opf.interior_point.structure import Structure
from gridveil.opf.placement import Placement

_INFINITY = 2e19
_LARGEST_GRADIENT = 100.0
_SMALLEST_FACTOR = 1e-8
FIRST_PUSH = 1e-2
"""How far starting points are kept from bounds, relative to the bound and to the range."""


class BatchProgram(Protocol):
    """A batch of nonlinear programs of one structure; see `ipopt.NonlinearProgram`.

    Functions take points of shape (instances, variables) and give values with the same first axis.
    """

    @property
    def x_min(self) -> Any:
        """Lower bounds of the variables."""
        ...

    @property
    def x_max(self) -> Any:
        """Upper bounds of the variables."""
        ...

    @property
    def g_min(self) -> Any:
        """Lower bounds of the constraints."""
        ...

    @property
    def g_max(self) -> Any:
        """Upper bounds of the constraints."""
        ...

    def objective(self, x: Any) -> Any:
        """Return f of every instance."""
        ...

    def gradient(self, x: Any) -> Any:
        """Return the gradients of f."""
        ...

    def constraints(self, x: Any) -> Any:
        """Return g."""
        ...

    def jacobian(self, x: Any) -> Any:
        """Return the entries of the Jacobians of g."""
        ...

    def hessian(self, x: Any, factor: Any, multipliers: Any) -> Any:
        """Return the entries of the Hessians of factor·f + multipliers·g."""
        ...

    def instances(self, which: Any) -> "BatchProgram":
        """Return the batch of some of its instances."""
        ...


@dataclass
class ScaledProgram:
    """A batch of programs with slacks and scaling, and the loops over its patterns."""

    program: BatchProgram
    structure: Structure
    operations: Operations
    xp: Any
    f_scale: Array
    """(instances, 1): factor of each objective."""
    g_scale: Array
    """(instances, rows): factor of each row."""
    lower: Array
    upper: Array
    has_lower: Array
    has_upper: Array
    moves: Array
    """Which primal variables are free to move: neither fixed nor slacks of equalities."""

    @property
    def variables(self) -> int:
        """How many of the primal variables are x."""
        return self.structure.variables

    def values(self, primal: Array) -> tuple[Array, Array]:
        """Return f and g(x) − s, both scaled."""
        n = self.variables
        x, s = primal[:, :n], primal[:, n:]
        f = self.program.objective(x) * self.f_scale[:, 0]
        return f, self.program.constraints(x) * self.g_scale - s

    def first_derivatives(self, primal: Array) -> tuple[Array, Array]:
        """Return the gradient of f and the values of J, both scaled and 0 for fixed variables."""
        x = primal[:, : self.variables]
        gradient = self.program.gradient(x) * self.f_scale
        jacobian = self.operations.jacobian(self.program.jacobian(x))
        return gradient, jacobian * self._j_factor

    def hessian(self, primal: Array, multipliers: Array) -> Array:
        """Return the entries of the Hessian of the scaled Lagrangian; 0 for fixed variables."""
        x = primal[:, : self.variables]
        entries = self.program.hessian(x, self.f_scale, multipliers * self.g_scale)
        return entries * self._h_factor

    def violation(self, residual: Array) -> Array:
        """Return the largest residual of each instance without scaling."""
        return self.xp.abs(residual / self.g_scale).max(axis=1)

    def instances(self, which: Array) -> "ScaledProgram":
        """Return the batch of some of its instances."""
        arrays = (
            self.f_scale, self.g_scale, self.lower, self.upper, self.has_lower, self.has_upper,
            self.moves,
        )  # fmt: skip
        return ScaledProgram(
            self.program.instances(which), self.structure, self.operations, self.xp,
            *(array[which] for array in arrays),
        )  # fmt: skip

    def __post_init__(self) -> None:
        """Prepare the factors of the entries of J and H."""
        o, moves = self.operations, self.moves
        self._j_factor = self.g_scale[:, o.j_row] * moves[:, o.j_column]
        self._h_factor = moves[:, o.h_row] & moves[:, o.h_column]


def scaled_program(
    program: BatchProgram,
    structure: Structure,
    operations: Operations,
    placement: Placement,
    start: Array,
    push: float,
) -> tuple[ScaledProgram, Array]:
    """Return a batch with slacks and scaling, and its first primal variables within bounds."""
    xp = placement.xp
    x_min, x_max, g_min, g_max = (
        xp.clip(bound, -_INFINITY, _INFINITY)
        for bound in (program.x_min, program.x_max, program.g_min, program.g_max)
    )
    x = _inside(xp, xp.clip(start, x_min, x_max), x_min, x_max, push)
    gradient = xp.abs(program.gradient(x)).max(axis=1, keepdims=True)
    largest = operations.largest_of_rows(operations.jacobian(program.jacobian(x)))
    f_scale, g_scale = (_factor(xp, size) for size in (gradient, largest))
    slack_min, slack_max = g_min * g_scale, g_max * g_scale
    slack = _inside(xp, program.constraints(x) * g_scale, slack_min, slack_max, push)
    lower = xp.concatenate([x_min, slack_min], axis=1)
    upper = xp.concatenate([x_max, slack_max], axis=1)
    moves = lower < upper
    bounded = (
        xp.concatenate([xp.abs(x_min), xp.abs(g_min)], axis=1) < _INFINITY,
        xp.concatenate([xp.abs(x_max), xp.abs(g_max)], axis=1) < _INFINITY,
    )
    scaled = ScaledProgram(
        program, structure, operations, xp, f_scale, g_scale, lower, upper,
        bounded[0] & moves, bounded[1] & moves, moves,
    )  # fmt: skip
    return scaled, xp.concatenate([x, slack], axis=1)


def _factor(xp: Any, largest: Array) -> Array:
    """Return the factor that takes gradients of this size down to the largest allowed."""
    return xp.maximum(_LARGEST_GRADIENT / xp.maximum(largest, _LARGEST_GRADIENT), _SMALLEST_FACTOR)


def _inside(xp: Any, value: Array, low: Array, high: Array, push: float) -> Array:
    """Return values moved away from their bounds."""
    width = push * (high - low)
    least = low + xp.minimum(push * xp.maximum(1.0, xp.abs(low)), width)
    most = high - xp.minimum(push * xp.maximum(1.0, xp.abs(high)), width)
    return xp.minimum(xp.maximum(value, least), most)
