"""The method's loops and its factorisation on a CPU."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.linalg import splu

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.opf.interior_point.backend import Reuse
from gridveil.opf.interior_point.cpu import kernels
from gridveil.opf.interior_point.structure import Structure
from gridveil.opf.placement import HOST, Placement


class CPU:
    """One core."""

    placement: Placement = HOST
    shrinks_below = 0.9
    largest_of_batch = sys.maxsize

    def ordering(self, pattern: csr_array) -> IntArray:
        """Return an approximate minimum degree ordering."""
        return minimum_degree_ordering(pattern)

    def operations(self, structure: Structure) -> "CPUOperations":
        """Return the loops over the patterns of a structure."""
        return CPUOperations(structure)

    def recorded(
        self, function: Callable[..., Any], *fixed: Any, reuse: Reuse = Reuse.NONE
    ) -> Callable[..., Any]:
        """Return the function: its operations run one by one."""
        del reuse
        return partial(function, *fixed)

    def steps_between_checks(self, variables: int) -> int:
        """Return 1: asking costs nothing."""
        del variables
        return 1

    @contextmanager
    def session(self) -> Iterator[None]:
        """Note, after a solve, that all loops have been compiled."""
        yield
        kernels.CODE.complete()


class CPUOperations:
    """Compiled loops over the patterns of one structure."""

    def __init__(self, structure: Structure) -> None:
        self._s = structure
        self.j_row, self.j_column = structure.j_row, structure.j_column
        self.h_row, self.h_column = structure.h_row, structure.h_column
        self._k_diagonal = structure.k_diagonal
        self._plan = _Plan(structure)

    def jacobian(self, entries: FloatArray) -> FloatArray:
        """Add up the entries of a program's Jacobian to the values of J."""
        groups = self._s.j_sources
        out = np.empty((len(entries), len(groups.start) - 1))
        kernels.add_groups(groups.start, groups.source, entries, out)
        return out

    def times(self, jacobian: FloatArray, x: FloatArray) -> FloatArray:
        """Return J x."""
        out = np.empty((len(x), self._s.rows))
        kernels.times(self._s.j_start, self._s.j_column, jacobian, x, out)
        return out

    def transposed_times(self, jacobian: FloatArray, y: FloatArray) -> FloatArray:
        """Return Jᵀ y."""
        out = np.empty((len(y), self._s.variables))
        kernels.transposed_times(self._s.j_start, self._s.j_column, jacobian, y, out)
        return out

    def hessian_times(self, hessian: FloatArray, x: FloatArray) -> FloatArray:
        """Return H x."""
        out = np.empty(x.shape)
        kernels.symmetric_times(
            self._s.h_row, self._s.h_column, hessian, np.ascontiguousarray(x), out
        )
        return out

    def largest_of_rows(self, jacobian: FloatArray) -> FloatArray:
        """Return the largest magnitude in each row of J."""
        out = np.empty((len(jacobian), self._s.rows))
        kernels.largest_of_rows(self._s.j_start, jacobian, out)
        return out

    def condensed(
        self, hessian: FloatArray, diagonal: FloatArray, jacobian: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Return the values of K = H + diagonal + Σ w_i J_iᵀ J_i, dense rows left out."""
        s = self._s
        out = np.empty((len(jacobian), len(s.k_row)))
        kernels.condense(
            s.products.start, s.product_a, s.product_b, s.h_sources.start, s.h_sources.source,
            jacobian, jacobian * weights[:, s.j_row], hessian, out,
        )  # fmt: skip
        out[:, self._k_diagonal] += diagonal
        return out

    def factorisation(self, batch: int) -> "LDL":
        """Return a factorisation of so many matrices with the pattern of K."""
        return LDL(self._plan, batch)


class _Plan:
    """The pattern of L."""

    def __init__(self, structure: Structure) -> None:
        n = structure.variables
        self.order, self.k_start, self.k_row = structure.order, structure.k_start, structure.k_row
        self.row_start, self.row_column = kernels.patterns_of_rows(self.k_start, self.k_row, n)
        self.l_start, self.l_row = kernels.patterns_of_columns(self.row_start, self.row_column, n)


class LDL:
    """L D Lᵀ of a batch of matrices, without pivoting."""

    def __init__(self, plan: _Plan, batch: int) -> None:
        self._plan = plan
        self._l_value = np.zeros((batch, len(plan.l_row)))
        self._pivots = np.ones((batch, len(plan.order)))
        self._negative = np.zeros(batch, np.int64)

    def factorise(self, values: FloatArray, which: BoolArray, allowed: int) -> IntArray:
        """Factorise instances; return how many pivots of each are negative."""
        p = self._plan
        kernels.factorise(
            np.flatnonzero(which), p.k_start, p.k_row, values, p.row_start, p.row_column,
            p.l_start, p.l_row, self._l_value, self._pivots, allowed, self._negative,
        )  # fmt: skip
        return self._negative.copy()

    def solve(self, b: FloatArray) -> FloatArray:
        """Return K⁻¹ b of every instance."""
        p, out = self._plan, np.empty_like(b)
        kernels.substitute(p.order, p.l_start, p.l_row, self._l_value, self._pivots, b, out)
        return out


def minimum_degree_ordering(pattern: csr_array) -> IntArray:
    """Return SuperLU's approximate minimum degree ordering of a symmetric pattern."""
    half = abs(pattern)
    matrix = half + half.T
    dominant = csc_array(matrix + diags_array(matrix.sum(axis=1) + 1.0))
    factor = splu(
        dominant,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True, "Equil": False},
    )
    return np.argsort(factor.perm_c)
