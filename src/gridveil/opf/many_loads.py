"""The AC-OPFs of many loads of one network, hours for example, solved as one batch."""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, BoolArray, FloatArray
from gridveil.network.network import Network
from gridveil.opf.acopf import acopf_program
from gridveil.opf.batches import minimise_many
from gridveil.opf.operating_point import FEASIBILITY_TOLERANCE, OperatingPoint, violations
from gridveil.opf.program import NetworkProgram, ProgramBuilder, batch_of
from gridveil.opf.start import starting_point
from gridveil.opf.status import status_of


@dataclass(frozen=True, eq=False, repr=False)
class ManyOPFs(ArrayRecord):
    """The cheapest dispatch of each of many loads, as far as a batch of solves found it."""

    points: tuple[OperatingPoint | None, ...]
    """None where it did not."""
    costs: FloatArray
    """In $/h; NaN where there is no point."""

    @property
    def solved(self) -> BoolArray:
        """Where there is one."""
        return np.isfinite(self.costs)


def solve_many_loads(
    network: Network, p: FloatArray, q: FloatArray, threads: int | None = None
) -> ManyOPFs:
    """Solve the AC-OPFs of many loads with the solver and on the device chosen.

    What a batch does not solve is left open: no further solve explains it.

    Args:
        network: The network; the values of its own loads are not used.
        p: Active loads in p.u., of shape (instances, loads).
        q: Reactive ones.
        threads: How many cores to use; all if None.

    Example:
        >>> import numpy as np
        >>> from gridveil import load_case
        >>> network = load_case("case5_pjm")
        >>> factors = np.array([[0.9], [1.0], [9.0]])
        >>> found = solve_many_loads(network, factors * network.loads.p, factors * network.loads.q)
        >>> found.costs.round(2).tolist()
        [14264.04, 17551.89, nan]
    """
    builder = acopf_program(network)
    program = builder.build()
    start = builder.start(program, starting_point(network, len(p)))
    programs = _with_loads(network, builder, program, p, q)
    solutions = minimise_many(programs, np.repeat(start[None], len(p), axis=0), threads=threads)
    points: list[OperatingPoint | None] = []
    costs = np.full(len(p), np.nan)
    for k, solution in enumerate(solutions):
        point = builder.point(solution.x)
        largest = violations(network.with_loads(p[k], q[k]), point).largest
        solved = status_of(solution.code, largest, FEASIBILITY_TOLERANCE).solved
        points.append(point if solved else None)
        if solved:
            costs[k] = network.generators.costs(point.p).sum()
    return ManyOPFs(tuple(points), costs)


def _with_loads(
    network: Network,
    builder: ProgramBuilder,
    program: NetworkProgram,
    p: FloatArray,
    q: FloatArray,
) -> NetworkProgram:
    """Return the batch of a program with other loads, which are bounds of the power balance."""
    batch = batch_of([program] * len(p))
    at_buses = np.zeros((2, len(p), len(network.buses)))
    for bus, *loads in zip(network.loads.bus.tolist(), p.T, q.T, strict=True):
        at_buses[..., bus] += loads
    for rows, values in zip((builder.active, builder.reactive), at_buses, strict=True):
        for bound in (batch.g_min, batch.g_max):
            bound[:, rows] = -values
    return batch
