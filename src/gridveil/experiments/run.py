"""Runs one task: its draws through both phases, and a row of figures for each.

Rows hold only what two runs reproduce to the bit: no times, no dates.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gridveil.admm.options import AgentOptions
from gridveil.admm.policy import Policy
from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError, NotSolvedError
from gridveil.experiments.study import Task, contents_of
from gridveil.fidelity.phase import restore, restore_many
from gridveil.fidelity.registry import METHODS
from gridveil.fidelity.result import Restored, relative_gap
from gridveil.network.library import load_case
from gridveil.network.network import Network
from gridveil.opf.acopf import OPFResult, solve_acopf
from gridveil.opf.solvers import using
from gridveil.opf.status import Status
from gridveil.privacy.bounds import simulation_bounds
from gridveil.privacy.choice import noise_choice
from gridveil.privacy.mechanisms.registry import make_mechanism
from gridveil.privacy.phase import NoisyLoads, simulate_loads

Row = dict[str, Any]
CENTRAL = "central"
"""The method that agents are compared with."""
_FIGURES = (
    "status",
    "solved",
    "displacement",
    "max_violation",
    "cost_gap_dispatch",
    "cost_gap_optimal",
    "worst_generator_gap",
    "device",
    "iterations",
    "primal",
    "dual",
)
"""Figures of a result that a row holds."""


def run_task(task: Task) -> list[Row]:
    """Run the draws of a task: a row for each β, method and policy, and draw, in this order."""
    with using(task.solver, task.device):
        return _run(task)


def _run(task: Task) -> list[Row]:
    network, costs, draws = make_draws(task)
    alone = [solve_acopf(network.with_loads(noisy.p, noisy.q)) for noisy in draws]
    shared = task.model_dump(
        mode="json",
        include={"case", "mechanism", "calibration", "epsilon", "alpha", "hide",
                 "max_iterations", "tolerance"},
    )  # fmt: skip
    return [
        {
            **shared,
            "beta": beta,
            "method": method,
            "policy": None if policy is None else policy.value,
            "seed": seed,
            "cost": float(costs.sum()),
            **_figures(network, noisy, noisy_opf, found, central),
        }
        for beta in task.betas
        for method, policy, results, centrals in _restored(task, network, draws, costs, beta)
        for seed, noisy, noisy_opf, found, central in zip(
            task.seeds, draws, alone, results, centrals, strict=True
        )
    ]


def make_draws(task: Task) -> tuple[Network, FloatArray, list[NoisyLoads]]:
    """Return the network of a task, its costs O*, and its noisy loads."""
    if contents_of(task.case) != task.contents:
        raise GridveilError(f"{task.case}: not the same file here as where the study was started")
    network = load_case(task.case)
    original = solve_acopf(network)
    if not original.status.solved:
        raise NotSolvedError(f"{task.case} has no AC-OPF solution: {original.status.value}")
    name, distance, floor = noise_choice(task.mechanism, task.hide, task.alpha).resolved(network)
    mechanism = make_mechanism(
        name,
        task.epsilon,
        distance,
        calibration=task.calibration,
        bounds=simulation_bounds(network),
        floor=floor,
    )
    draws = [simulate_loads(network, mechanism, seed) for seed in task.seeds]
    return network, original.generator_costs, draws


def _restored(
    task: Task, network: Network, draws: Sequence[NoisyLoads], costs: FloatArray, beta: float
) -> Iterator[tuple[str, Policy | None, list[Restored], Sequence[Restored | None]]]:
    """Restore the draws by every method and policy; with agents, return the central results too."""
    nothing = [None] * len(draws)
    central: list[Restored] = []
    if any(method == CENTRAL or METHODS.get(method).has_agents for method in task.methods):
        central = restore_many(network, draws, costs, beta, CENTRAL, threads=1)
    for method in task.methods:
        if METHODS.get(method).has_agents:
            for policy in task.policies:
                options = AgentOptions(policy, task.max_iterations, task.tolerance)
                found = restore_many(network, draws, costs, beta, method, agents=options, threads=1)
                if any(one.status is Status.STOPPED for one in found):
                    raise KeyboardInterrupt  # what was cut off is no result of the study
                yield method, policy, found, central
        elif method == CENTRAL:
            yield method, None, central, nothing
        else:
            found = [restore(network, noisy, costs, beta, method) for noisy in draws]
            yield method, None, found, nothing


def _figures(
    network: Network,
    noisy: NoisyLoads,
    noisy_opf: OPFResult,
    found: Restored,
    central: Restored | None,
) -> Row:
    """Return the figures of one draw; distances in p.u., gaps relative to O*."""
    noise = np.stack([noisy.p, noisy.q], axis=1) - network.loads.values
    error = found.network.loads.values - network.loads.values
    figures = found.figures()
    return {
        **{name: figures[name] for name in _FIGURES},
        "noise_l1": float(np.abs(noise).sum(axis=1).mean()),
        "error_l1": float(np.abs(error).sum(axis=1).mean()),
        "noisy_feasible": noisy_opf.status.solved,
        "noisy_cost_gap": relative_gap(noisy_opf.cost, figures["cost"])
        if noisy_opf.status.solved
        else None,
        **found.comparison(central),
    }
