"""The loops over sparse patterns as compiled code: sums into cells, products, LDLᵀ.

All of them go over the instances of a batch that `which` names. LDLᵀ is the up-looking algorithm of
Davis (LDL, ACM Transactions on Mathematical Software 31, 2005) with the pattern of L known before.
"""

from pathlib import Path
from typing import Any

import numpy as np

from gridveil.compiled import CodeCache

CODE = CodeCache("interior-point", Path(__file__).resolve().parent)


@CODE.compile
def add_groups(start: Any, source: Any, values: Any, out: Any) -> None:
    """Add up the sources of each cell."""
    for one in range(len(values)):
        for cell in range(len(start) - 1):
            total = 0.0
            for k in range(start[cell], start[cell + 1]):
                total += values[one, source[k]]
            out[one, cell] = total


@CODE.compile
def times(start: Any, column: Any, values: Any, x: Any, out: Any) -> None:
    """Multiply a matrix, by rows, with a vector."""
    for one in range(len(values)):
        for row in range(len(start) - 1):
            total = 0.0
            for k in range(start[row], start[row + 1]):
                total += values[one, k] * x[one, column[k]]
            out[one, row] = total


@CODE.compile
def transposed_times(start: Any, column: Any, values: Any, y: Any, out: Any) -> None:
    """Multiply the transpose of a matrix, by rows, with a vector."""
    for one in range(len(values)):
        out[one] = 0.0
        for row in range(len(start) - 1):
            factor = y[one, row]
            for k in range(start[row], start[row + 1]):
                out[one, column[k]] += values[one, k] * factor


@CODE.compile
def symmetric_times(row: Any, column: Any, values: Any, x: Any, out: Any) -> None:
    """Multiply a symmetric matrix, given by its lower triangle, with a vector."""
    for one in range(len(values)):
        out[one] = 0.0
        for k in range(len(row)):
            i, j = row[k], column[k]
            out[one, i] += values[one, k] * x[one, j]
            if i != j:
                out[one, j] += values[one, k] * x[one, i]


@CODE.compile
def largest_of_rows(start: Any, values: Any, out: Any) -> None:
    """Return the largest magnitude in each row of a matrix."""
    for one in range(len(values)):
        for row in range(len(start) - 1):
            largest = 0.0
            for k in range(start[row], start[row + 1]):
                largest = max(largest, abs(values[one, k]))
            out[one, row] = largest


@CODE.compile
def condense(
    start: Any, a: Any, b: Any, h_start: Any, h_source: Any, jacobian: Any, weighted: Any,
    hessian: Any, out: Any,
) -> None:  # fmt: skip
    """Add up H + Σ w_i J_iᵀ J_i; `weighted` has w_i J_i."""
    for one in range(len(jacobian)):
        for cell in range(len(start) - 1):
            total = 0.0
            for k in range(start[cell], start[cell + 1]):
                total += weighted[one, a[k]] * jacobian[one, b[k]]
            for k in range(h_start[cell], h_start[cell + 1]):
                total += hessian[one, h_source[k]]
            out[one, cell] = total


@CODE.compile
def patterns_of_rows(start: Any, row: Any, n: int) -> Any:
    """Return the columns of L's entries in each row, ascending: starts and columns."""
    parent = np.full(n, -1)
    seen = np.full(n, -1)
    starts = np.zeros(n + 1, np.int64)
    for k in range(n):
        seen[k] = k
        for p in range(start[k], start[k + 1]):
            i = row[p]
            while seen[i] != k:
                if parent[i] < 0:
                    parent[i] = k
                seen[i] = k
                starts[k + 1] += 1
                i = parent[i]
    starts = np.cumsum(starts)
    columns = np.empty(starts[n], np.uint32)
    seen[:] = -1
    for k in range(n):
        seen[k] = k
        end = starts[k]
        for p in range(start[k], start[k + 1]):
            i = row[p]
            while seen[i] != k:
                seen[i] = k
                columns[end] = i
                end += 1
                i = parent[i]
        columns[starts[k] : end].sort()
    return starts, columns


@CODE.compile
def patterns_of_columns(starts: Any, columns: Any, n: int) -> Any:
    """Return the rows of L's entries in each column, ascending: starts and rows."""
    l_start = np.zeros(n + 1, np.int64)
    for column in columns:
        l_start[column + 1] += 1
    l_start = np.cumsum(l_start)
    rows = np.empty(len(columns), np.uint32)
    end = l_start[:-1].copy()
    for k in range(n):
        for p in range(starts[k], starts[k + 1]):
            j = columns[p]
            rows[end[j]] = k
            end[j] += 1
    return l_start, rows


@CODE.compile
def factorise(
    which: Any, start: Any, row: Any, values: Any, row_start: Any, row_column: Any, l_start: Any,
    l_row: Any, l_value: Any, pivots: Any, allowed: int, negative: Any,
) -> None:  # fmt: skip
    """Factorise P K Pᵀ = L D Lᵀ; stop where more pivots than allowed are not positive."""
    n = len(l_start) - 1
    work = np.zeros(n)
    end = np.empty(n, np.int64)
    for one in which:
        end[:] = l_start[:-1]
        negative[one] = 0
        work[:] = 0.0
        lv = l_value[one]
        d = pivots[one]
        for k in range(n):
            for p in range(start[k], start[k + 1]):
                work[row[p]] = values[one, p]
            pivot = work[k]
            work[k] = 0.0
            for t in range(row_start[k], row_start[k + 1]):
                j = row_column[t]
                y = work[j]
                work[j] = 0.0
                for p in range(l_start[j], end[j]):
                    work[l_row[p]] -= lv[p] * y
                entry = y / d[j]
                pivot -= y * entry
                lv[end[j]] = entry
                end[j] += 1
            if not pivot > 0.0:
                negative[one] += 1 if pivot < 0.0 else allowed + 1
                if negative[one] > allowed:
                    break
            d[k] = pivot


@CODE.compile
def substitute(
    order: Any, l_start: Any, l_row: Any, l_value: Any, pivots: Any, b: Any, out: Any
) -> None:
    """Solve P K Pᵀ = L D Lᵀ for right-hand sides of all instances."""
    n = len(order)
    x = np.empty(n)
    for one in range(len(b)):
        lv = l_value[one]
        for k in range(n):
            x[k] = b[one, order[k]]
        for j in range(n):
            y = x[j]
            for p in range(l_start[j], l_start[j + 1]):
                x[l_row[p]] -= lv[p] * y
        for j in range(n - 1, -1, -1):
            y = x[j] / pivots[one, j]
            for p in range(l_start[j], l_start[j + 1]):
                y -= lv[p] * x[l_row[p]]
            x[j] = y
        for k in range(n):
            out[one, order[k]] = x[k]
