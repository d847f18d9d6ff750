"""How a solve ended."""

from enum import Enum


class Status(Enum):
    """The end of a solve; the value is the sentence to show."""

    OPTIMAL = "solved: a local optimum that keeps every limit"
    ACCEPTABLE = "solved, but to a lower accuracy than asked for; the limits are kept"
    CONVERGED = "solved: the agents agree within the tolerance asked for"
    INFEASIBLE = "no feasible point was found: not all limits can be kept at once"
    ITERATION_LIMIT = "stopped at the iteration limit before a solution was found"
    TIME_LIMIT = "stopped at the time limit before a solution was found"
    STOPPED = "stopped on request before a solution was found"
    FAILED = "the solver broke down numerically; check for extreme impedances, limits or costs"

    @property
    def solved(self) -> bool:
        """Whether the result can be used."""
        return self in (Status.OPTIMAL, Status.ACCEPTABLE, Status.CONVERGED)


_IPOPT_CODES = {
    0: Status.OPTIMAL,
    1: Status.ACCEPTABLE,
    2: Status.INFEASIBLE,
    5: Status.STOPPED,
    6: Status.ACCEPTABLE,
    -1: Status.ITERATION_LIMIT,
}


def status_of(ipopt_code: int, largest_violation: float, tolerance: float) -> Status:
    """Return the status for Ipopt's return code; solved only within the tolerance of violations."""
    status = _IPOPT_CODES.get(ipopt_code, Status.FAILED)
    if status.solved and not largest_violation <= tolerance:
        return Status.FAILED
    return status
