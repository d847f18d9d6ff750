"""The loops over sparse patterns as CUDA C, compiled by CuPy at their first launch.

Blocks along y are the instances of a batch. In the first kernels each thread has a row or a cell.
In those of LDLᵀ each block is one warp and has a whole matrix: they are for many small matrices;
one large matrix goes to cuDSS.
"""

from functools import cache
from typing import Any

import numpy as np

_THREADS = 128

SOURCE = r"""
#define CELL (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void add_groups(
    int cells, int sources, const int* start, const int* source, const double* values, double* out)
{
    int cell = CELL;
    if (cell >= cells) return;
    const double* mine = values + (size_t)blockIdx.y * sources;
    double total = 0;
    for (int k = start[cell]; k < start[cell + 1]; k++) total += mine[source[k]];
    out[(size_t)blockIdx.y * cells + cell] = total;
}

extern "C" __global__ void times(
    int rows, int columns, const int* start, const int* column, const int* entry, int entries,
    const double* values, const double* x, double* out)
{
    int row = CELL;
    if (row >= rows) return;
    const double* mine = values + (size_t)blockIdx.y * entries;
    const double* at = x + (size_t)blockIdx.y * columns;
    double total = 0;
    for (int k = start[row]; k < start[row + 1]; k++) total += mine[entry[k]] * at[column[k]];
    out[(size_t)blockIdx.y * rows + row] = total;
}

extern "C" __global__ void gather(int n, const int* order, const double* from, double* to)
{
    int k = CELL;
    if (k < n) to[k] = from[order[k]];
}

extern "C" __global__ void scatter(int n, const int* order, const double* from, double* to)
{
    int k = CELL;
    if (k < n) to[order[k]] = from[k];
}

extern "C" __global__ void largest_of_rows(
    int rows, int entries, const int* start, const double* values, double* out)
{
    int row = CELL;
    if (row >= rows) return;
    const double* mine = values + (size_t)blockIdx.y * entries;
    double largest = 0;
    for (int k = start[row]; k < start[row + 1]; k++) largest = fmax(largest, fabs(mine[k]));
    out[(size_t)blockIdx.y * rows + row] = largest;
}

extern "C" __global__ void condense(
    int cells, int entries, int h_entries, const int* start, const int* a, const int* b,
    const int* row, const int* h_start, const int* h_source, const int* diagonal, int n, int rows,
    const double* jacobian, const double* weights, const double* hessian, const double* shift,
    double* out)
{
    int cell = CELL;
    if (cell >= cells) return;
    const double* j = jacobian + (size_t)blockIdx.y * entries;
    const double* w = weights + (size_t)blockIdx.y * rows;
    const double* h = hessian + (size_t)blockIdx.y * h_entries;
    double total = 0;
    for (int k = start[cell]; k < start[cell + 1]; k++) total += w[row[k]] * j[a[k]] * j[b[k]];
    for (int k = h_start[cell]; k < h_start[cell + 1]; k++) total += h[h_source[k]];
    if (diagonal[cell] >= 0) total += shift[(size_t)blockIdx.y * n + diagonal[cell]];
    out[(size_t)blockIdx.y * cells + cell] = total;
}

extern "C" __global__ void factorise(
    int n, int cells, int l_entries, const unsigned char* which, const int* start, const int* row,
    const double* values, const int* row_start, const int* row_column, const int* row_entry,
    const int* l_start, const int* l_row, double* l_value, double* pivots, double* work,
    int allowed, int* negative)
{
    size_t one = blockIdx.y;
    int lane = threadIdx.x, width = blockDim.x, count = 0;
    if (!which[one]) return;
    const double* mine = values + one * cells;
    double* lv = l_value + one * l_entries;
    double* d = pivots + one * n;
    double* x = work + one * n;
    for (int k = lane; k < n; k += width) x[k] = 0;
    __syncwarp();
    for (int k = 0; k < n; k++) {
        for (int p = start[k] + lane; p < start[k + 1]; p += width) x[row[p]] = mine[p];
        __syncwarp();
        double pivot = x[k];
        for (int t = row_start[k]; t < row_start[k + 1]; t++) {
            int j = row_column[t], end = row_entry[t];
            double y = x[j], entry = y / d[j];
            for (int p = l_start[j] + lane; p < end; p += width) x[l_row[p]] -= lv[p] * y;
            pivot -= y * entry;
            __syncwarp();
            if (lane == 0) { x[j] = 0; lv[end] = entry; }
            __syncwarp();
        }
        if (!(pivot > 0)) count += pivot < 0 ? 1 : allowed + 1;
        if (count > allowed) break;
        __syncwarp();
        if (lane == 0) { d[k] = pivot; x[k] = 0; }
        __syncwarp();
    }
    if (lane == 0) negative[one] = count;
}

extern "C" __global__ void substitute(
    int n, int l_entries, const int* order, const int* l_start, const int* l_row,
    const double* l_value, const double* pivots, const double* b, double* work, double* out)
{
    size_t one = blockIdx.y;
    int lane = threadIdx.x, width = blockDim.x;
    const double* lv = l_value + one * l_entries;
    const double* d = pivots + one * n;
    double* x = work + one * n;
    for (int k = lane; k < n; k += width) x[k] = b[one * n + order[k]];
    __syncwarp();
    for (int j = 0; j < n; j++) {
        double y = x[j];
        for (int p = l_start[j] + lane; p < l_start[j + 1]; p += width) x[l_row[p]] -= lv[p] * y;
        __syncwarp();
    }
    for (int j = n - 1; j >= 0; j--) {
        double sum = 0;
        for (int p = l_start[j] + lane; p < l_start[j + 1]; p += width) sum += lv[p] * x[l_row[p]];
        for (int far = width / 2; far > 0; far /= 2) sum += __shfl_down_sync(0xffffffff, sum, far);
        if (lane == 0) x[j] = x[j] / d[j] - sum;
        __syncwarp();
    }
    for (int k = lane; k < n; k += width) out[one * n + order[k]] = x[k];
}
"""


@cache
def kernel(name: str) -> Any:
    """Return a kernel."""
    import cupy

    return cupy.RawModule(code=SOURCE, options=("--std=c++17",)).get_function(name)


def launch(name: str, out: Any, *arguments: Any) -> None:
    """Launch a kernel with a thread for each element of `out`, whose first axis counts instances.

    Args:
        name: The kernel.
        out: An array of the shape (instances, cells).
        arguments: What the kernel takes; whole numbers become 32-bit ones.
    """
    batch, cells = out.shape
    grid = ((cells + _THREADS - 1) // _THREADS, batch)
    sized = tuple(np.int32(part) if isinstance(part, int) else part for part in arguments)
    kernel(name)(grid, (_THREADS,), sized)
