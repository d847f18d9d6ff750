"""Series of programs of one structure, solved together: hours, draws, scenarios.

The interior-point method takes some at a time on each core, and all at once on a GPU. Ipopt takes
one after the other.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from threading import Event

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.opf import ipopt
from gridveil.opf.devices import is_out_of_memory, solved_on_device
from gridveil.opf.interior_point.backend import Backend
from gridveil.opf.interior_point.cpu.backend import CPU
from gridveil.opf.interior_point.method import Options
from gridveil.opf.interior_point.solve import INFEASIBLE, minimise_batch, solutions_of
from gridveil.opf.nonlinear_program import Iteration, Solution, Watch
from gridveil.opf.program import NetworkProgram
from gridveil.opf.record import noted
from gridveil.opf.solvers import (
    SHORT,
    Solver,
    chosen_for,
    may_step_in,
    stepped_in,
)

_ON_A_CORE = 2_000
"""Buses, of all programs that a core solves together: more of them no longer fit its cache."""

Progress = Callable[[int], None]
"""Called with how many programs are done."""


def minimise_many(
    programs: NetworkProgram,
    starts: FloatArray,
    near: Sequence[Solution] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Solution]:
    """Solve a batch of programs with the solver and on the device chosen.

    Args:
        programs: The batch.
        starts: The variables to start from, of shape (instances, variables).
        near: The solution of a program near each. Where it does not lead to one, the start does.
        threads: How many cores to use; all if None.
        progress: Called with how many are done.
    """
    every, buses = np.arange(len(starts)), programs.physics.buses
    if chosen_for(buses, len(starts)) is Solver.IPOPT:
        return [noted(one) for one in _by_ipopt(programs, starts, every, progress)]

    def solve(backend: Backend) -> dict[int, Solution]:
        found: dict[int, Solution] = {}
        if near is not None:
            x = np.stack([solution.x for solution in near])
            multipliers = np.stack([solution.g_multipliers for solution in near])
            warm = _together(programs, x, every, backend, threads, None, SHORT, multipliers)
            found = {k: solution for k, solution in enumerate(warm) if solution.code == 0}
        left = np.array([k for k in every.tolist() if k not in found], dtype=np.int64)
        cold = _together(programs, starts, left, backend, threads, progress)
        if near is not None:
            cold = [
                replace(one, iterations=warm[k].iterations + one.iterations)
                for k, one in zip(left.tolist(), cold, strict=True)
            ]
        return found | dict(zip(left.tolist(), cold, strict=True))

    found = solved_on_device(solve, buses, len(starts))
    if may_step_in():
        lost = [k for k in every.tolist() if not _has_ended(found[k])]
        for k, solution in zip(lost, _by_ipopt(programs, starts, lost, None), strict=True):
            found[k] = stepped_in(found[k], solution)
    return [noted(found[k]) for k in range(len(starts))]


def _has_ended(solution: Solution) -> bool:
    return solution.converged or solution.code == INFEASIBLE


def _by_ipopt(
    programs: NetworkProgram,
    starts: FloatArray,
    which: Sequence[int] | IntArray,
    progress: Progress | None,
) -> list[Solution]:
    """Solve some of the programs one after the other."""
    found = []
    for k in which:
        found.append(ipopt.minimise(programs.one(int(k)), starts[k]))
        if progress is not None:
            progress(len(found))
    return found


def _together(
    programs: NetworkProgram,
    starts: FloatArray,
    which: IntArray,
    backend: Backend,
    threads: int | None,
    progress: Progress | None,
    options: Options | None = None,
    multipliers: FloatArray | None = None,
) -> list[Solution]:
    """Solve some of the programs by the interior-point method."""
    if not isinstance(backend, CPU):
        return _on_gpu(programs, starts, which, backend, progress, options, multipliers)
    size = max(1, _ON_A_CORE // programs.physics.buses)
    pieces = [which[k : k + size] for k in range(0, len(which), size)]
    stop = Event()

    def goes_on(_: Iteration) -> bool:
        return not stop.is_set()

    def solve(piece: IntArray, watch: Watch | None = None) -> list[Solution]:
        warm = None if multipliers is None else multipliers[piece]
        part = programs.instances(piece)
        result = minimise_batch(part, starts[piece], options, backend, watch, multipliers=warm)
        return solutions_of(result, backend)

    done = 0
    if len(pieces) == 1:
        solutions = solve(which)
        if progress is not None:
            progress(len(which))
        return solutions
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        tasks = {
            pool.submit(solve, piece, lambda _: not stop.is_set()): len(piece) for piece in pieces
        }
        try:
            for task in as_completed(tasks):
                done += tasks[task]
                if progress is not None:
                    progress(done)
        except BaseException:  # Ctrl-C, for one
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [solution for task in tasks for solution in task.result()]


def _on_gpu(
    programs: NetworkProgram,
    starts: FloatArray,
    which: IntArray,
    backend: Backend,
    progress: Progress | None,
    options: Options | None,
    multipliers: FloatArray | None,
) -> list[Solution]:
    """Solve programs at once, or halves of them one after the other where memory is too small.

    Large ones are solved one by one.
    """
    solutions: list[Solution] = []
    at_once = len(which) if starts.shape[1] <= backend.largest_of_batch else 1
    todo = [which[k : k + at_once] for k in range(0, len(which), max(at_once, 1))][::-1]
    while todo:
        piece = todo.pop()
        warm = None if multipliers is None else multipliers[piece]
        part = programs.instances(piece)
        try:
            result = minimise_batch(part, starts[piece], options, backend, multipliers=warm)
        except MemoryError as error:
            if len(piece) == 1 or not is_out_of_memory(error):
                raise
            todo += [piece[len(piece) // 2 :], piece[: len(piece) // 2]]
            backend.placement.release()
        else:
            solutions += solutions_of(result, backend)
            if progress is not None:
                progress(len(solutions))
    return solutions
