"""A record of the solves that run meanwhile: by what, where, and with how many iterations."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from gridveil.opf.nonlinear_program import Solution, SolverVersion


@dataclass(frozen=True)
class Solve:
    """One solve of a central program."""

    solver: SolverVersion
    iterations: int


@dataclass(frozen=True)
class Record:
    """Solves in the order in which they ended."""

    solves: list[Solve] = field(default_factory=list)

    @property
    def solvers(self) -> tuple[SolverVersion, ...]:
        """What solved, each version and device once."""
        return tuple(dict.fromkeys(solve.solver for solve in self.solves))


_RECORDS: ContextVar[tuple[Record, ...]] = ContextVar("records", default=())


@contextmanager
def recorded_solves() -> Iterator[Record]:
    """Record every central program that is solved inside.

    Example:
        >>> from gridveil import solve_acopf
        >>> with recorded_solves() as record:
        ...     _ = solve_acopf("case5_pjm", solver="interior-point")
        >>> [solve.solver.name for solve in record.solves]
        ['interior-point']
    """
    record = Record()
    token = _RECORDS.set((*_RECORDS.get(), record))
    try:
        yield record
    finally:
        _RECORDS.reset(token)


def noted(solution: Solution) -> Solution:
    """Note a solve in every record that is open, and return its solution."""
    for record in _RECORDS.get():
        record.solves.append(Solve(solution.solver, solution.iterations))
    return solution
