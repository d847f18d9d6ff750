"""A nonlinear program and its solution, as all solvers take and return them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.device import Device


class NonlinearProgram(Protocol):
    """min f(x) subject to g_min ≤ g(x) ≤ g_max and x_min ≤ x ≤ x_max, with sparse derivatives."""

    @property
    def x_min(self) -> FloatArray:
        """Lower bounds of the variables."""
        ...

    @property
    def x_max(self) -> FloatArray:
        """Upper bounds of the variables."""
        ...

    @property
    def g_min(self) -> FloatArray:
        """Lower bounds of the constraints."""
        ...

    @property
    def g_max(self) -> FloatArray:
        """Upper bounds of the constraints."""
        ...

    def objective(self, x: FloatArray) -> float:
        """Return f."""
        ...

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of f."""
        ...

    def constraints(self, x: FloatArray) -> FloatArray:
        """Return g."""
        ...

    def jacobian_structure(self) -> tuple[IntArray, IntArray]:
        """Return the rows and columns of the entries of the Jacobian of g."""
        ...

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Return those entries; entries of one cell add up."""
        ...

    def hessian_structure(self) -> tuple[IntArray, IntArray]:
        """Return the rows and columns of the entries of the Hessian's lower triangle."""
        ...

    def hessian(self, x: FloatArray, factor: float, multipliers: FloatArray) -> FloatArray:
        """Return those entries, of factor·f + multipliers·g; entries of one cell add up."""
        ...


@dataclass(frozen=True)
class Iteration:
    """One iteration of a solver."""

    number: int
    objective: float
    infeasibility: float
    dual_infeasibility: float
    barrier: float


@dataclass(frozen=True)
class SolverVersion:
    """What solved a program."""

    name: str
    version: str
    device: Device = Device.CPU
    """Where it was solved: on the CPU or a GPU."""

    def __str__(self) -> str:
        where = " on a GPU" if self.device is Device.GPU else ""
        return f"{self.name} {self.version}{where}"


@dataclass(frozen=True, eq=False)
class Solution(ArrayRecord):
    """The point at which a solver ended."""

    code: int
    """Ipopt's `ApplicationReturnStatus`: 0 solved, 1 acceptable, 2 infeasible, negative failed."""
    x: FloatArray
    objective: float
    g_multipliers: FloatArray
    iterations: int
    solver: SolverVersion
    stepped_in: bool = False
    """Whether another solver had not got there before."""

    @property
    def converged(self) -> bool:
        """Whether the solver says it is a local optimum, if only to its acceptable tolerance."""
        return self.code in (0, 1)


Watch = Callable[[Iteration], bool]
"""Called after every iteration; returning False stops the solver."""
