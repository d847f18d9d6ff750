"""One hour after the other: how each method goes from the solution of an hour to the next.

- central: P_RBL by the central solver. The interior-point method takes all hours of a block as one
  batch, on one core or a GPU. Ipopt takes one after the other, and so are hours taken that a batch
  does not get: each is started at the hour before's voltages and dispatch.
- agents: x, z and λ are carried on, and so are the lines' solutions. ρ starts anew: penalties that
  grew while one hour converged are too stiff for the next.
- other methods solve every hour for itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gridveil.admm.state import State
from gridveil.fidelity.agents import Agents
from gridveil.fidelity.base import FidelityMethod, FidelityProblem, Found
from gridveil.fidelity.central import Attempt, Central, bands_of, nearest_loads
from gridveil.network.network import Network
from gridveil.opf.nonlinear_program import Iteration
from gridveil.opf.operating_point import OperatingPoint
from gridveil.opf.solvers import Solver, chosen_for
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

    def solve_together(self, problems: Sequence[FidelityProblem]) -> Sequence[HourFound]:
        """Restore hours as one batch; nothing comes back where there is none to be made."""
        del problems
        return ()

    @abstractmethod
    def solve(self, problem: FidelityProblem, before: HourFound | None) -> HourFound:
        """Restore an hour, from the hour before if there is one."""


@dataclass(frozen=True)
class CentralHours(HourMethod):
    """P_RBL by the central solver."""

    method: Central

    def solve_together(self, problems: Sequence[FidelityProblem]) -> Sequence[HourFound]:
        """Let the interior-point method solve all hours at once, on one core or a GPU."""
        if not makes_batches(problems[0].network, len(problems)):
            return ()
        return [_found(one) for one in self.method.solve_many(problems, threads=1)]

    def solve(self, problem: FidelityProblem, before: HourFound | None) -> HourFound:
        """Start at the point of the hour before and at this hour's own private loads."""
        start = None
        if before is not None:
            last = before.attempt
            p, q = problem.noisy.T
            start = Attempt(last.status, p, q, last.point, 0, last.solution)
        return restored_from(problem, start)


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
        return _found(self.method.solve(problem))


def hour_method(method: FidelityMethod) -> HourMethod:
    """Return a method as it goes through hours."""
    if isinstance(method, Central):
        return CentralHours(method)
    return AgentHours(method) if isinstance(method, Agents) else EveryHour(method)


def restored_from(problem: FidelityProblem, start: Attempt | None) -> HourFound:
    """Solve P_RBL centrally from an attempt, or cold."""
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


def makes_batches(network: Network, hours: int) -> bool:
    """Whether the solver chosen takes so many hours of a network as one batch."""
    return hours > 1 and chosen_for(len(network.buses), hours) is not Solver.IPOPT


def kept(problem: FidelityProblem, point: OperatingPoint) -> HourFound:
    """Return an hour whose private loads work as they are, at a point that is known."""
    p, q = problem.noisy.T
    return HourFound(Attempt(Status.OPTIMAL, p, q, point, 0), 0)


def _found(found: Found) -> HourFound:
    reached = Attempt(found.status, found.p, found.q, found.point, found.iterations)
    return HourFound(reached, found.iterations)


def _goes_on(iteration: Iteration) -> bool:
    return iteration.number < _MOST_ITERATIONS
