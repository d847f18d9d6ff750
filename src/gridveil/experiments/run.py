"""Runs one task: its draws through both phases, and a row of figures for each.

Rows hold nothing that two runs could not agree on to the bit: no times, no dates.
"""

from typing import Any

import numpy as np

from gridveil.admm.options import AgentOptions
from gridveil.errors import GridveilError
from gridveil.experiments.study import Task
from gridveil.fidelity.choices import Method
from gridveil.fidelity.phase import restore, restore_many
from gridveil.fidelity.result import Restored, relative_gap
from gridveil.network.library import load_case
from gridveil.network.network import Network
from gridveil.opf.acopf import solve_acopf
from gridveil.privacy.bounds import simulation_bounds
from gridveil.privacy.choose import make_mechanism
from gridveil.privacy.phase import NoisyLoads, simulate_loads

Row = dict[str, Any]


def run_task(task: Task) -> list[Row]:
    """Run the draws of a task."""
    network = load_case(task.case)
    original = solve_acopf(network)
    if not original.status.solved:
        raise GridveilError(f"{task.case} has no AC-OPF solution: {original.status.value}")
    mechanism = make_mechanism(
        task.mechanism,
        task.epsilon,
        task.alpha,
        calibration=task.calibration.value,
        bounds=simulation_bounds(network),
    )
    seeds = range(task.first_seed, task.first_seed + task.draws)
    draws = [simulate_loads(network, mechanism, seed) for seed in seeds]
    costs = original.generator_costs
    central: list[Restored | None]
    if task.method is Method.ADMM:
        options = AgentOptions(
            policy=task.policy, max_iterations=task.max_iterations, tolerance=task.tolerance
        )
        found = restore_many(network, draws, costs, task.beta, options, threads=1)
        central = [restore(network, noisy, costs, task.beta) for noisy in draws]
    else:
        found = [restore(network, noisy, costs, task.beta, task.method) for noisy in draws]
        central = [None] * len(draws)
    settings = task.model_dump(mode="json", exclude={"first_seed", "draws"})
    return [
        {**settings, "seed": seed, "cost": original.cost, **_figures(network, noisy, one, other)}
        for seed, noisy, one, other in zip(seeds, draws, found, central, strict=True)
    ]


def _figures(network: Network, noisy: NoisyLoads, found: Restored, central: Restored | None) -> Row:
    """Return the figures of one draw; distances in p.u., gaps relative to O*."""
    alone = solve_acopf(network.with_loads(noisy.p, noisy.q))
    noise = np.stack([noisy.p, noisy.q], axis=1) - network.loads.values
    error = found.network.loads.values - network.loads.values
    run = found.agents
    apart = None
    if central is not None and central.status.solved:
        apart = float(np.linalg.norm(found.network.loads.values - central.network.loads.values))
    return {
        "status": found.status.name.lower(),
        "solved": found.status.solved,
        "displacement": found.displacement,
        "noise_l1": float(np.abs(noise).sum(axis=1).mean()),
        "error_l1": float(np.abs(error).sum(axis=1).mean()),
        "max_violation": found.max_violation,
        "cost_gap_dispatch": found.cost_gap_dispatch,
        "cost_gap_optimal": found.cost_gap_opf if found.opf.status.solved else None,
        "worst_generator_gap": found.worst_generator_gap,
        "noisy_feasible": alone.status.solved,
        "noisy_cost_gap": relative_gap(alone.cost, float(found.costs.sum()))
        if alone.status.solved
        else None,
        "iterations": None if run is None else run.iterations,
        "primal": None if run is None else run.primal,
        "dual": None if run is None else run.dual,
        "central_displacement": None if central is None else central.displacement,
        "distance_to_central": apart,
    }
