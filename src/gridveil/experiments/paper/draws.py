"""Single draws of a study, restored by every method, with the runs of the agents.

Sweeps keep rows only. Tables with times and figures of residuals need the runs themselves.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gridveil.admm.options import AgentOptions
from gridveil.admm.policy import Policy
from gridveil.admm.result import AgentRun
from gridveil.experiments.paper.audits import audited_epsilon
from gridveil.experiments.run import Row, make_draws
from gridveil.experiments.study import Study, Task
from gridveil.fidelity.phase import restore
from gridveil.fidelity.result import Restored
from gridveil.network.network import Network
from gridveil.privacy.phase import NoisyLoads


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw and its restorations."""

    task: Task
    beta: float
    network: Network
    noisy: NoisyLoads
    central: Restored
    bilevel: Restored
    """By the method that releases use."""
    agents: Mapping[Policy, Restored]

    def row(self, policy: Policy) -> Row:
        """Return the setting, and the figures that are not in the paper."""
        found, task = self.agents[policy], self.task
        figures = found.figures()
        return {
            "case": task.case,
            "buses": len(self.network.buses),
            "mechanism": task.mechanism,
            "calibration": task.calibration,
            "epsilon": task.epsilon,
            "alpha": task.alpha,
            "beta": self.beta,
            "policy": policy.value,
            **{
                name: figures[name]
                for name in ("displacement", "cost_gap_dispatch", "cost_gap_optimal")
            },
            **found.comparison(self.central),
            "cost_gap_optimal_bilevel": self.bilevel.figures()["cost_gap_optimal"],
            "audited_epsilon": audited_epsilon(
                task.mechanism, task.calibration, task.epsilon, task.alpha
            ),
        }


def draws(study: Study) -> Iterator[Draw]:
    """Run the first draw of every setting, one after the other, so that times can be compared."""
    for task in study.tasks():
        network, costs, (noisy, *_) = make_draws(task)
        for beta in task.betas:
            agents = {
                policy: restore(network, noisy, costs, beta, "admm", agents=_options(task, policy))
                for policy in task.policies
            }
            central, bilevel = (
                restore(network, noisy, costs, beta, method) for method in ("central", "bilevel")
            )
            yield Draw(task, beta, network, noisy, central, bilevel, agents)


def agent_run(found: Restored) -> AgentRun:
    """Return the run of the agents behind a result."""
    assert found.agents is not None
    return found.agents


def _options(task: Task, policy: Policy) -> AgentOptions:
    """Return the options of the agents; the paper's policy always runs all iterations."""
    tolerance = 0.0 if policy is Policy.PAPER else task.tolerance
    return AgentOptions(policy, task.max_iterations, tolerance, device=task.device)
