"""The GPU backend on the CPU: its kernels compiled as C++, NumPy in CuPy's place.

What this cannot show is shown by `benchmarks/interior_point_gpu.py` on a GPU: cuDSS, CuPy itself,
and that the lanes of a warp do not get in each other's way.
"""

import ctypes
import shutil
import subprocess
import sys
import types
from contextlib import nullcontext

import numpy as np
import pytest

from gridveil import load_case
from gridveil.opf.acopf import acopf_program
from gridveil.opf.interior_point.cpu.backend import CPU
from gridveil.opf.interior_point.cuda import kernels
from gridveil.opf.interior_point.cuda.backend import GPU, GPUOperations, ManyMatrices, warp_plan
from gridveil.opf.interior_point.solve import minimise_batch
from gridveil.opf.program import batch_of
from gridveil.opf.solvers import Solver, using
from gridveil.opf.start import starting_point

COMPILER = shutil.which("g++") or shutil.which("c++")
PRELUDE = """
#include <cmath>
#include <cstddef>
using std::fabs; using std::fmax;
struct Index { int x, y; };
static Index blockIdx, blockDim, threadIdx;
#define __global__
static void __syncwarp() {}
static double __shfl_down_sync(unsigned, double, int) { return 0; }
extern "C" void at(int bx, int by, int dx, int tx) {
    blockIdx = {bx, by}; blockDim = {dx, 1}; threadIdx = {tx, 0};
}
"""
ONE_LANE = ("factorise", "substitute")


class Kernels:
    """The kernels as a library of the CPU; those of LDLᵀ with warps of one lane."""

    def __init__(self, folder):
        source = folder / "kernels.cpp"
        source.write_text(PRELUDE + kernels.SOURCE)
        library = folder / "kernels.so"
        command = [COMPILER, "-O1", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        self.library = ctypes.CDLL(str(library))

    def __call__(self, name):
        function = getattr(self.library, name)

        def launch(grid, block, arguments):
            given = []
            for argument in arguments:
                if isinstance(argument, np.ndarray):
                    assert argument.flags.c_contiguous
                    assert argument.dtype in (np.int32, np.float64, np.uint8)
                    given.append(ctypes.c_void_p(argument.ctypes.data))
                else:
                    assert isinstance(argument, np.int32)
                    given.append(ctypes.c_int(argument))
            threads = 1 if name in ONE_LANE else block[0]
            for y in range(grid[1]):
                for x in range(grid[0]):
                    for thread in range(threads):
                        self.library.at(x, y, threads, thread)
                        function(*given)

        return launch


@pytest.fixture
def no_gpu_needed(monkeypatch, tmp_path):
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    cupy = types.ModuleType("cupy")
    cupy.__getattr__ = lambda name: getattr(np, name)
    cupy.asnumpy = np.asarray
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    compiled = Kernels(tmp_path)
    for module in ("backend", "kernels"):
        monkeypatch.setattr(f"gridveil.opf.interior_point.cuda.{module}.kernel", compiled)
    # Graphs need a GPU: functions run as they are here.
    monkeypatch.setattr(GPU, "recorded", CPU.recorded)
    monkeypatch.setattr(GPU, "session", nullcontext)
    # cuDSS needs a GPU: one matrix is a batch of one here.
    monkeypatch.setattr(GPUOperations, "factorisation", many_matrices)


def many_matrices(operations, batch):
    plan = warp_plan(operations._s, np)
    order, placement = operations._order, operations._placement
    return ManyMatrices(plan, operations._start, operations._row, order, batch, placement)


def test_a_batch_ends_as_on_the_cpu(no_gpu_needed):
    network = load_case("case5_pjm")
    programs, starts = [], []
    for factor in (1.0, 0.9, 2.0, 1.05):
        raised = network.with_loads(network.loads.p * factor, network.loads.q * factor)
        builder = acopf_program(raised)
        programs.append(builder.build())
        with using(Solver.INTERIOR_POINT):
            starts.append(builder.start(programs[-1], starting_point(raised)))
    batch, start = batch_of(programs), np.stack(starts)
    on_cpu, on_gpu = minimise_batch(batch, start), minimise_batch(batch, start, backend=GPU())
    assert on_gpu.code.tolist() == on_cpu.code.tolist() == [0, 0, 2, 0]
    assert on_gpu.iterations[[0, 1, 3]].tolist() == on_cpu.iterations[[0, 1, 3]].tolist()
    assert np.abs(on_gpu.x - on_cpu.x)[[0, 1, 3]].max() < 1e-8
