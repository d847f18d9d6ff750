"""What the method needs of a machine: arrays, loops over sparse patterns, a factorisation."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, Protocol

from scipy.sparse import csr_array

from gridveil.arrays import BoolArray, IntArray
from gridveil.opf.interior_point.structure import Structure
from gridveil.opf.placement import Placement

Array = Any
"""An array of NumPy or CuPy; the first axis counts the instances of a batch."""


class Reuse(Enum):
    """What may become of the results of a recorded function at its next call."""

    NONE = "they stay"
    OVERWRITTEN = "the next results stand in their place"
    CARRIED = "they are the next first argument, and the next results stand in their place"


class Factorisation(Protocol):
    """L D Lᵀ of the condensed matrices of a batch, with the plan that their pattern needs once."""

    def factorise(self, values: Array, which: BoolArray, allowed: int) -> IntArray:
        """Factorise those of the instances that a mask names.

        Returns:
            The negative pivots of each instance of the whole batch; more than `allowed` if there
            are more, or if a pivot is 0.
        """
        ...

    def solve(self, b: Array) -> Array:
        """Return K⁻¹ b of every instance; meaningless where too many pivots are negative.

        The next solution may stand in the place of this one.
        """
        ...


class Operations(Protocol):
    """Loops over the patterns of one structure."""

    j_row: Array
    """Row and column of each entry of J and H, as indices of arrays there."""
    j_column: Array
    h_row: Array
    h_column: Array

    def jacobian(self, entries: Array) -> Array:
        """Add up the entries of a program's Jacobian to the values of J."""
        ...

    def times(self, jacobian: Array, x: Array) -> Array:
        """Return J x."""
        ...

    def transposed_times(self, jacobian: Array, y: Array) -> Array:
        """Return Jᵀ y."""
        ...

    def hessian_times(self, hessian: Array, x: Array) -> Array:
        """Return H x."""
        ...

    def largest_of_rows(self, jacobian: Array) -> Array:
        """Return the largest magnitude in each row of J."""
        ...

    def condensed(self, hessian: Array, diagonal: Array, jacobian: Array, weights: Array) -> Array:
        """Return the values of K = H + diagonal + Σ w_i J_iᵀ J_i, dense rows left out."""
        ...

    def factorisation(self, batch: int) -> Factorisation:
        """Return a factorisation of so many matrices with the pattern of K."""
        ...


class Backend(Protocol):
    """A machine."""

    placement: Placement
    shrinks_below: float
    """The batch shrinks to the instances that still run when they are fewer than this share."""

    largest_of_batch: int
    """The most variables that the programs of a batch of several may have."""

    def ordering(self, pattern: csr_array) -> IntArray:
        """Return the order in which the variables of a symmetric pattern are eliminated."""
        ...

    def operations(self, structure: Structure) -> Operations:
        """Return the loops over the patterns of a structure."""
        ...

    def recorded(
        self, function: Callable[..., Any], *fixed: Any, reuse: Reuse = Reuse.NONE
    ) -> Callable[..., Any]:
        """Return a function that runs at once, however many operations on arrays it has.

        Args:
            function: Takes and returns arrays, and records of arrays; it may not branch on values.
            fixed: Its first arguments.
            reuse: What may become of its results at the next call.
        """
        ...

    def steps_between_checks(self, variables: int) -> int:
        """Return how many steps of conjugate gradients to take before asking who still runs."""
        ...

    def session(self) -> AbstractContextManager[None]:
        """Return what a solve runs within."""
        ...
