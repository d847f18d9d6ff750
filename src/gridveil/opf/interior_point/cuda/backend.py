"""The method's loops and its factorisations on a GPU.

One matrix is factorised by cuDSS, a batch of them by a kernel that gives each matrix to a warp.
Networks of a batch should therefore be small: up to some thousand buses.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gridveil.arrays import BoolArray, IntArray
from gridveil.opf.interior_point.backend import Array, Factorisation, Reuse
from gridveil.opf.interior_point.cpu.backend import minimum_degree_ordering
from gridveil.opf.interior_point.cpu.kernels import patterns_of_columns, patterns_of_rows
from gridveil.opf.interior_point.cuda.cudss import CuDSS
from gridveil.opf.interior_point.cuda.kernels import kernel, launch
from gridveil.opf.interior_point.cuda.placement import GPUPlacement
from gridveil.opf.interior_point.cuda.recording import Recorded, at_fixed_place, on_stream
from gridveil.opf.interior_point.structure import Structure
from gridveil.opf.placement import Placement

_WARP = 32
_ORDERED_BY_CUDSS = 20_000
"""Variables from which on programs are solved one by one, and their matrices by cuDSS."""
_STEPS_BETWEEN_CHECKS = 3
_SLOW_STEPS = 50_000
"""Variables from which on a step of conjugate gradients takes longer than to ask who still runs."""


class GPU:
    """The current GPU."""

    shrinks_below = 0.5
    largest_of_batch = _ORDERED_BY_CUDSS

    def __init__(self) -> None:
        """Take the current GPU of CuPy."""
        self.placement: Placement = GPUPlacement()

    def ordering(self, pattern: csr_array) -> IntArray:
        """Return an approximate minimum degree ordering, or none where cuDSS has its own alone."""
        if pattern.shape[0] > _ORDERED_BY_CUDSS:
            return np.arange(pattern.shape[0])
        return minimum_degree_ordering(pattern)

    def operations(self, structure: Structure) -> "GPUOperations":
        """Return the loops over the patterns of a structure."""
        return GPUOperations(structure, self.placement)

    def recorded(
        self, function: Callable[..., Any], *fixed: Any, reuse: Reuse = Reuse.NONE
    ) -> Callable[..., Any]:
        """Return a function whose operations are launched as one."""
        return Recorded(function, fixed, reuse)

    def steps_between_checks(self, variables: int) -> int:
        """Return how many steps to launch before waiting for an answer."""
        return 1 if variables >= _SLOW_STEPS else _STEPS_BETWEEN_CHECKS

    def session(self) -> AbstractContextManager[None]:
        """Return the stream of all our work."""
        return on_stream()


class GPUOperations:
    """Kernels over the patterns of one structure."""

    def __init__(self, structure: Structure, placement: Placement) -> None:
        """Put the patterns on the GPU, as 32-bit indices."""
        self._s, self._placement, self._xp, s = structure, placement, placement.xp, structure
        entries, h_entries = len(s.j_row), len(s.h_row)
        self._cells = len(s.k_row)
        diagonal = np.full(self._cells, -1)
        diagonal[s.k_diagonal] = np.arange(s.variables)
        h_rows, h_columns, h_entry = _symmetric_by_rows(s)

        def there(array: Any) -> Array:
            return placement.array(np.asarray(array, np.int32))

        self.j_row, self.j_column = there(s.j_row), there(s.j_column)
        self.h_row, self.h_column = there(s.h_row), there(s.h_column)
        self._sources = there(s.j_sources.start), there(s.j_sources.source)
        every = there(np.arange(entries))
        self._by_rows = (s.rows, s.variables, there(s.j_start), self.j_column, every, entries)
        self._by_columns = (
            s.variables, s.rows, there(s.t_start), there(s.j_row[s.t_entry]), there(s.t_entry),
            entries,
        )  # fmt: skip
        self._symmetric = (
            s.variables, s.variables, there(h_rows), there(h_columns), there(h_entry), h_entries,
        )  # fmt: skip
        self._condensing = (
            self._cells, entries, h_entries, there(s.products.start), there(s.product_a),
            there(s.product_b), there(s.j_row[s.product_a]), there(s.h_sources.start),
            there(s.h_sources.source), there(diagonal), s.variables, s.rows,
        )  # fmt: skip
        self._start, self._row = there(s.k_start), there(s.k_row)
        self._order = there(s.order)
        self._plans: dict[bool, Any] = {}

    def jacobian(self, entries: Array) -> Array:
        """Add up the entries of a program's Jacobian to the values of J."""
        start, source = self._sources
        out = self._xp.empty((len(entries), len(start) - 1))
        values = self._xp.ascontiguousarray(entries)
        launch("add_groups", out, out.shape[1], values.shape[1], start, source, values, out)
        return out

    def times(self, jacobian: Array, x: Array) -> Array:
        """Return J x."""
        return self._product(self._by_rows, jacobian, x)

    def transposed_times(self, jacobian: Array, y: Array) -> Array:
        """Return Jᵀ y."""
        return self._product(self._by_columns, jacobian, y)

    def hessian_times(self, hessian: Array, x: Array) -> Array:
        """Return H x."""
        return self._product(self._symmetric, hessian, x)

    def _product(self, pattern: tuple[Any, ...], values: Array, x: Array) -> Array:
        out = self._xp.empty((len(x), pattern[0]))
        x = self._xp.ascontiguousarray(x)
        launch("times", out, *pattern, self._xp.ascontiguousarray(values), x, out)
        return out

    def largest_of_rows(self, jacobian: Array) -> Array:
        """Return the largest magnitude in each row of J."""
        out = self._xp.empty((len(jacobian), self._s.rows))
        start, entries = self._by_rows[2], self._by_rows[5]
        launch("largest_of_rows", out, self._s.rows, entries, start, jacobian, out)
        return out

    def condensed(self, hessian: Array, diagonal: Array, jacobian: Array, weights: Array) -> Array:
        """Return the values of K = H + diagonal + Σ w_i J_iᵀ J_i, dense rows left out."""
        out = self._xp.empty((len(jacobian), self._cells))
        arrays = (
            self._xp.ascontiguousarray(array) for array in (jacobian, weights, hessian, diagonal)
        )
        launch("condense", out, *self._condensing, *arrays, out)
        return out

    def factorisation(self, batch: int) -> Factorisation:
        """Return cuDSS for one matrix, and a warp to each for many."""
        if batch == 1:
            if True not in self._plans:
                self._plans[True] = OneMatrix(self._start, self._row, self._order, self._xp)
            one: OneMatrix = self._plans[True]
            return one
        if False not in self._plans:
            self._plans[False] = warp_plan(self._s, self._xp)
        return ManyMatrices(
            self._plans[False], self._start, self._row, self._order, batch, self._placement
        )


class OneMatrix:
    """L D Lᵀ of one matrix by cuDSS; planned once for a structure."""

    def __init__(self, start: Array, row: Array, order: Array, xp: Any) -> None:
        self._xp, self._order = xp, order
        self._values = xp.ones(len(row))
        self._solver = CuDSS(start, row, self._values)
        self._out = at_fixed_place(xp.empty((1, len(order))))

    def factorise(self, values: Array, which: BoolArray, allowed: int) -> IntArray:
        """Factorise it; return how many pivots are negative."""
        del which, allowed
        self._values[:] = values[0]
        return np.array([self._solver.factorise()])

    def solve(self, b: Array) -> Array:
        """Return K⁻¹ b."""
        solver, size, out = self._solver, b.shape[1], self._out
        launch("gather", out, size, self._order, b, solver.b)
        solver.solve()
        launch("scatter", out, size, self._order, solver.x, out)
        return out


class ManyMatrices:
    """L D Lᵀ of a batch, each matrix by a warp."""

    def __init__(
        self,
        plan: tuple[Array, ...],
        start: Array,
        row: Array,
        order: Array,
        batch: int,
        placement: Placement,
    ) -> None:
        self._plan, self._start, self._row, self._order = plan, start, row, order
        self._placement, self._xp = placement, placement.xp
        n, xp = len(order), self._xp
        self._out = at_fixed_place(xp.empty((batch, n)))
        self._l_value, self._pivots = xp.zeros((batch, len(plan[4]))), xp.ones((batch, n))
        self._work, self._negative = xp.empty((batch, n)), xp.zeros(batch, dtype=xp.int32)

    def factorise(self, values: Array, which: BoolArray, allowed: int) -> IntArray:
        """Factorise instances; return how many pivots of each are negative."""
        n, batch = len(self._order), len(which)
        arguments = (
            np.int32(n), np.int32(values.shape[1]), np.int32(self._l_value.shape[1]),
            self._xp.asarray(which.astype(np.uint8)), self._start, self._row, values, *self._plan,
            self._l_value, self._pivots, self._work, np.int32(allowed), self._negative,
        )  # fmt: skip
        kernel("factorise")((1, batch), (_WARP,), arguments)
        negative: IntArray = self._placement.host(self._negative).copy()
        return negative

    def solve(self, b: Array) -> Array:
        """Return K⁻¹ b of every instance."""
        out, b = self._out, self._xp.ascontiguousarray(b)
        l_start, l_row = self._plan[3:]
        arguments = (
            np.int32(b.shape[1]), np.int32(self._l_value.shape[1]), self._order, l_start, l_row,
            self._l_value, self._pivots, b, self._work, out,
        )  # fmt: skip
        kernel("substitute")((1, len(b)), (_WARP,), arguments)
        return out


def warp_plan(s: Structure, xp: Any) -> tuple[Array, ...]:
    """Return the rows and columns of L, and where each entry of a row stands in its column."""
    row_start, row_column = patterns_of_rows(s.k_start, s.k_row, s.variables)
    l_start, l_row = patterns_of_columns(row_start, row_column, s.variables)
    # Entries of a column ascend by row, as rows come one after the other.
    entry = np.empty(len(row_column), np.int64)
    entry[np.argsort(row_column, kind="stable")] = np.arange(len(row_column))
    arrays = (row_start, row_column, entry, l_start, l_row)
    return tuple(xp.asarray(np.asarray(array, np.int32)) for array in arrays)


def _symmetric_by_rows(s: Structure) -> tuple[IntArray, IntArray, IntArray]:
    """Return H by rows, both triangles: starts, columns, and the entry of each."""
    every = np.arange(len(s.h_row))
    off = s.h_row != s.h_column
    row = np.concatenate([s.h_row, s.h_column[off]])
    column, entry = np.concatenate([s.h_column, s.h_row[off]]), np.concatenate([every, every[off]])
    by_row = np.argsort(row, kind="stable")
    starts = np.searchsorted(row[by_row], np.arange(s.variables + 1))
    return starts, column[by_row], entry[by_row]
