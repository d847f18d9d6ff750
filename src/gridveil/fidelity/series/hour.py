"""One hour after the other: how each method goes from the solution of an hour to the next.

- central: P_RBL by the central solver, started at the hour before's voltages and dispatch. Ipopt
  takes the point; the interior-point method also the multipliers.
- agents: x, z and λ are carried on, and so are the lines' solutions. ρ starts anew: penalties that
  grew while one hour converged are too stiff for the next.
- other methods solve every hour for itself.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from gridveil.admm.state import State
from gridveil.fidelity.agents import Agents
from gridveil.fidelity.base import FidelityMethod, FidelityProblem
from gridveil.fidelity.central import Attempt, Central, bands_of, nearest_loads
from gridveil.opf.nonlinear_program import Iteration
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.status import Status

_MOST_ITERATIONS = 300
"""Of a central solve of one hour, where the hours of 14 to 118 buses take 10 to 60."""


@dataclass(frozen=True)
class HourFound:
    """What was found for an hour, and what the next can start from."""

    attempt: Attempt
    iterations: int
    carried: Any = None
    """What the method itself carries on."""


class HourMethod(ABC):
    """A method as it goes through the hours of a block."""

    can_carry = True
    """Whether a start makes a difference."""

    @abstractmethod
    def solve(self, problem: FidelityProblem, before: HourFound | None) -> HourFound:
        """Restore an hour, from the hour before if there is one."""


class CentralHours(HourMethod):
    """P_RBL by the central solver."""

    def solve(self, problem: FidelityProblem, before: HourFound | None) -> HourFound:
        """Start at the point of the hour before and at this hour's own private loads."""
        start = None
        if before is not None:
            last = before.attempt
            p, q = problem.noisy.T
            start = Attempt(last.status, p, q, last.point, 0, last.solution)
        return self.near(problem, start)

    def near(self, problem: FidelityProblem, start: Attempt | None) -> HourFound:
        """Solve from an attempt, or cold."""
        bands, total = bands_of(problem.network, problem.target, problem.beta, problem.band)
        attempt, _, iterations = nearest_loads(
            problem.network,
            problem.noisy,
            bands,
            total,
            (),
            start,
            problem.weights,
            problem.limits,
            _goes_on,
        )
        return HourFound(attempt, iterations)


@dataclass(frozen=True)
class AgentHours(HourMethod):
    """P_RBL among agents."""

    method: Agents

    def solve(self, problem: FidelityProblem, before: HourFound | None) -> HourFound:
        """Carry x, z and λ on."""
        carried: State | None = None if before is None else before.carried
        found = self.method.solve_from(problem, carried)
        state = None if found.agents is None else found.agents.state
        reached = Attempt(found.status, found.p, found.q, found.point, found.iterations)
        return HourFound(reached, found.iterations, state)


@dataclass(frozen=True)
class EveryHour(HourMethod):
    """Any other method, which solves every hour for itself."""

    method: FidelityMethod
    can_carry = False

    def solve(self, problem: FidelityProblem, before: HourFound | None) -> HourFound:
        """Solve the hour, whatever was before."""
        del before
        found = self.method.solve(problem)
        reached = Attempt(found.status, found.p, found.q, found.point, found.iterations)
        return HourFound(reached, found.iterations)


def hour_method(method: FidelityMethod) -> HourMethod:
    """Return a method as it goes through hours."""
    if isinstance(method, Central):
        return CentralHours()
    return AgentHours(method) if isinstance(method, Agents) else EveryHour(method)


def kept(problem: FidelityProblem, point: OperatingPoint) -> HourFound:
    """Return an hour whose private loads work as they are, at a point that is known."""
    p, q = problem.noisy.T
    return HourFound(Attempt(Status.OPTIMAL, p, q, point, 0), 0)


def _goes_on(iteration: Iteration) -> bool:
    return iteration.number < _MOST_ITERATIONS
