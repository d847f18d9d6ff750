"""Network programs solved by the interior-point method: one, or a batch of one structure."""

from dataclasses import replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from threading import Lock

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.device import Device
from gridveil.opf.interior_point.backend import Array, Backend, Operations
from gridveil.opf.interior_point.cpu.backend import CPU
from gridveil.opf.interior_point.method import LOST, Method, Options, Result
from gridveil.opf.interior_point.restoration import elastic_program, largest_violation
from gridveil.opf.interior_point.structure import Structure, structure_of
from gridveil.opf.nonlinear_program import Iteration, Solution, SolverVersion, Watch
from gridveil.opf.placement import HOST
from gridveil.opf.program import NetworkProgram, batch_of

NAME = "interior-point"
INFEASIBLE = 2
"""Ipopt's code of a local infeasibility."""
_FEASIBLE = 1e-6
"""Largest violation of a point that counts as feasible."""


def minimise_one(
    program: NetworkProgram,
    start: FloatArray,
    watch: Watch | None = None,
    options: Options | None = None,
    backend: Backend | None = None,
    multipliers: FloatArray | None = None,
) -> Solution:
    """Solve a network program; the result is as Ipopt's.

    Args:
        program: Functions, derivatives and bounds.
        start: The variables to start from.
        watch: Called after every iteration; returning False stops the solver.
        options: Tolerances and limits.
        backend: Where to solve it; one core if None.
        multipliers: Those of the rows at the start, if it is the solution of a program near this.
    """
    warm, backend = None if multipliers is None else multipliers[None], backend or CPU()
    result = minimise_batch(batch_of([program]), start[None], options, backend, watch, warm)
    return solutions_of(result, backend)[0]


def solver_version(backend: Backend) -> SolverVersion:
    """Return what this method is called, with the version of this package, and where it solves."""
    device = Device.CPU if backend.placement is HOST else Device.GPU
    try:
        return SolverVersion(NAME, version("gridveil"), device)
    except PackageNotFoundError:  # sources without an installation
        return SolverVersion(NAME, "0", device)


def solutions_of(result: Result, backend: Backend) -> list[Solution]:
    """Return how each instance of a batch ended, as other solvers say it."""
    solver = solver_version(backend)
    return [
        Solution(
            code=int(result.code[k]),
            x=result.x[k],
            objective=float(result.objective[k]),
            g_multipliers=result.multipliers[k],
            iterations=int(result.iterations[k]),
            solver=solver,
        )
        for k in range(len(result.code))
    ]


def minimise_batch(
    program: NetworkProgram,
    start: FloatArray,
    options: Options | None = None,
    backend: Backend | None = None,
    watch: Watch | None = None,
    multipliers: FloatArray | None = None,
) -> Result:
    """Solve a batch of network programs of one structure, as `batch_of` makes it.

    Args:
        program: The batch, in memory.
        start: Variables to start from, of shape (instances, variables).
        options: Tolerances and limits.
        backend: Where to solve it; one core if None.
        watch: Called after every iteration of a batch of one; returning False stops the solver.
        multipliers: Those of the rows at the starts, of shape (instances, rows), for warm starts.
    """
    backend, options = backend or CPU(), options or Options()
    array = backend.placement.array
    with backend.session():
        program = program.placed(backend.placement)
        warm = None if multipliers is None else array(multipliers)
        first = _run(program, array(start), options, backend, watch, warm)
        lost = np.flatnonzero(first.code == LOST)
        if not len(lost):
            return first
        part = program.instances(array(lost))
        again = _restored(part, first.part(lost), options, backend, watch)
        return first.with_part(lost, again)


def _restored(
    program: NetworkProgram,
    lost: Result,
    options: Options,
    backend: Backend,
    watch: Watch | None,
) -> Result:
    """Return how lost instances end after a restoration: solved after all, or infeasible."""
    array, host = backend.placement.array, backend.placement.host
    elastic, start = elastic_program(program, array(lost.x))
    before = int(lost.iterations.max())
    nearest = _run(elastic, start, options, backend, _counted_from(before, watch))
    x = nearest.x[:, : lost.x.shape[1]]
    violation = host(largest_violation(program, array(x)))
    found = np.isin(nearest.code, (0, 1))
    ended = replace(
        lost,
        code=np.where(found, INFEASIBLE, nearest.code),
        x=x,
        objective=host(program.objective(array(x))),
        iterations=lost.iterations + nearest.iterations,
        effort=nearest.effort,
    )
    feasible = np.flatnonzero(violation <= _FEASIBLE)
    if not len(feasible):
        return ended
    before = int(ended.iterations.max())
    part = program.instances(array(feasible))
    again = _run(part, array(x[feasible]), options, backend, _counted_from(before, watch))
    again.iterations += ended.iterations[feasible]
    return ended.with_part(feasible, again)


def _counted_from(before: int, watch: Watch | None) -> Watch | None:
    """Return a watch that gets iterations counted on."""
    if watch is None:
        return None
    outer = watch

    def later(iteration: Iteration) -> bool:
        return outer(replace(iteration, number=before + iteration.number))

    return later


def _run(
    program: NetworkProgram,
    start: FloatArray,
    options: Options,
    backend: Backend,
    watch: Watch | None,
    multipliers: Array | None = None,
) -> Result:
    structure, operations = _PLANS.plan(program, backend)
    method = Method(program, structure, operations, backend, start, options, watch, multipliers)
    with np.errstate(all="ignore"):  # what is not finite ends an instance
        return method.run()


class _Plans:
    """The last structures met: networks are mostly solved many times."""

    def __init__(self) -> None:
        self._plans: dict[tuple[object, ...], tuple[Structure, Operations]] = {}
        self._lock = Lock()

    def plan(self, program: NetworkProgram, backend: Backend) -> tuple[Structure, Operations]:
        """Return the structure of a program and the loops over it."""
        jacobian, hessian = program.jacobian_structure(), program.hessian_structure()
        shape = program.linear.shape
        digest = sha256(b"".join(part.tobytes() for part in (*jacobian, *hessian))).digest()
        key = (type(backend), shape, digest)
        with self._lock:
            return self._plan(key, backend, jacobian, hessian)

    def _plan(
        self,
        key: tuple[type, tuple[int, int], bytes],
        backend: Backend,
        jacobian: tuple[IntArray, IntArray],
        hessian: tuple[IntArray, IntArray],
    ) -> tuple[Structure, Operations]:
        plan = self._plans.pop(key, None)
        if plan is None:
            structure = structure_of(key[1], jacobian, hessian, backend.ordering)
            plan = structure, backend.operations(structure)
        self._plans[key] = plan
        while len(self._plans) > _KEPT:
            del self._plans[next(iter(self._plans))]
        return plan


_KEPT = 4
_PLANS = _Plans()
