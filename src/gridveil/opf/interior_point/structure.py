"""Fixed patterns: of the Jacobian, of the condensed matrix, and where their values come from.

The condensed matrix is K = H + diagonal + Σ_i w_i J_iᵀ J_i. Which products of Jacobian entries and
which entries of H add up in each of its cells is worked out once, so that values go to fixed
positions in every iteration. Dense rows of J would fill K: they are left out of it, to be added as
an update of low rank.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from gridveil.arrays import BoolArray, IntArray

_DENSE = 128
"""Entries in a row of the Jacobian from which it is left out of the condensed matrix."""

Ordering = Callable[[csr_array], IntArray]
"""Returns the order in which the variables of a symmetric pattern are eliminated."""


@dataclass(frozen=True)
class Groups:
    """Sources that add up in cells: those of cell k are source[start[k]:start[k + 1]]."""

    start: IntArray
    source: IntArray


@dataclass(frozen=True)
class Structure:
    """The patterns of a program and of its condensed matrix."""

    variables: int
    rows: int
    j_start: IntArray
    """J by rows: the entries of row i are j_start[i] to j_start[i + 1]."""
    j_column: IntArray
    j_row: IntArray
    """The row of each entry."""
    j_sources: Groups
    """Which entries of the program's Jacobian add up in each of ours."""
    t_start: IntArray
    """Jᵀ by rows."""
    t_entry: IntArray
    """The entry of J that each entry of Jᵀ is."""
    h_row: IntArray
    """Row of each entry of the program's Hessian (lower triangle)."""
    h_column: IntArray
    dense: IntArray
    """Rows of J that are left out of K."""
    order: IntArray
    """The variable that is eliminated first, second, …"""
    k_start: IntArray
    """Upper triangle of K in that order, by columns."""
    k_row: IntArray
    k_diagonal: IntArray
    """The cell of each variable's diagonal entry."""
    products: Groups
    """Products w_i J_ia J_ib that add up in each cell of K, as positions in the next two."""
    product_a: IntArray
    product_b: IntArray
    h_sources: Groups
    """Which entries of the program's Hessian add up in each cell of K."""


def structure_of(
    shape: tuple[int, int],
    jacobian: tuple[IntArray, IntArray],
    hessian: tuple[IntArray, IntArray],
    ordering: Ordering,
) -> Structure:
    """Return the patterns of a program with rows and columns of its derivatives as given."""
    rows, n = shape
    j_cells, j_cell = np.unique(jacobian[0] * n + jacobian[1], return_inverse=True)
    j_row, j_column = np.divmod(j_cells, n)
    j_start = np.searchsorted(j_row, np.arange(rows + 1))
    t_entry = np.lexsort((j_row, j_column))
    count = np.diff(j_start)
    dense = count > _DENSE
    a, b = _pairs(j_start, count, dense)
    h_row, h_column = np.maximum(*hessian), np.minimum(*hessian)
    cells, cell = np.unique(
        np.concatenate(
            [j_column[a] * n + j_column[b], h_column * n + h_row, np.arange(n) * (n + 1)]
        ),
        return_inverse=True,
    )
    row, column = np.divmod(cells, n)
    order = ordering(csr_array((np.ones(len(cells)), (row, column)), shape=(n, n)))
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    first, last = np.minimum(place[row], place[column]), np.maximum(place[row], place[column])
    by_column = np.argsort(last * n + first, kind="stable")
    position = np.empty(len(cells), np.int64)
    position[by_column] = np.arange(len(cells))
    cell = position[cell]
    k_row, k_column = first[by_column], last[by_column]
    products, others = cell[: len(a)], cell[len(a) :]
    groups = _groups(products, len(cells))
    return Structure(
        variables=n,
        rows=rows,
        j_start=j_start,
        j_column=j_column,
        j_row=j_row,
        j_sources=_groups(j_cell, len(j_cells)),
        t_start=np.searchsorted(j_column[t_entry], np.arange(n + 1)),
        t_entry=t_entry,
        h_row=h_row,
        h_column=h_column,
        dense=np.flatnonzero(dense),
        order=order,
        k_start=np.searchsorted(k_column, np.arange(n + 1)),
        k_row=k_row,
        k_diagonal=others[len(h_row) :],
        products=groups,
        product_a=a[groups.source].astype(np.uint32),
        product_b=b[groups.source].astype(np.uint32),
        h_sources=_groups(others[: len(h_row)], len(cells)),
    )


def _pairs(start: IntArray, count: IntArray, dense: BoolArray) -> tuple[IntArray, IntArray]:
    """Return all pairs a ≤ b of entries that share a row, dense rows aside."""
    a, b = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for length in np.unique(count[~dense]):
        first = start[:-1][(count == length) & ~dense][:, None]
        one, other = np.triu_indices(length)
        a.append((first + one).ravel())
        b.append((first + other).ravel())
    return np.concatenate(a), np.concatenate(b)


def _groups(cell: IntArray, cells: int) -> Groups:
    """Return which sources add up in each cell."""
    by_cell = coo_array((np.arange(len(cell)), (cell, np.arange(len(cell)))), (cells, len(cell)))
    matrix = by_cell.tocsr()
    return Groups(matrix.indptr.astype(np.int64), matrix.data.astype(np.int64))
