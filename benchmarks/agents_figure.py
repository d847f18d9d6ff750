"""Draws how the agents of the 39-bus network come to agree, with either policy.

Run: .venv/bin/python -m benchmarks.agents_figure   (writes docs/agents-convergence.svg)
"""

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.figures import BLUE, GREY, ORANGE, save
from gridveil import (
    AgentOptions,
    PolarLaplace,
    Policy,
    load_case,
    restore,
    simulate_loads,
    solve_acopf,
)
from gridveil.admm.penalties import BOOSTING_FROM


def main() -> None:
    network = load_case("case39_epri")
    costs = solve_acopf(network).generator_costs
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    central = restore(network, noisy, costs, 0.1, "central")
    figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.2), sharey=True, layout="constrained")
    for axes, policy in zip(panels, (Policy.PAPER, Policy.FAST), strict=True):
        options = AgentOptions(policy, tolerance=0.0 if policy is Policy.PAPER else 1e-8)
        found = restore(network, noisy, costs, 0.1, "admm", agents=options)
        assert found.agents is not None
        history = found.agents.history
        apart = found.network.loads.values - central.network.loads.values
        axes.semilogy(history.primal, color=BLUE, label="primal residual")
        axes.semilogy(history.dual, color=ORANGE, label="dual residual")
        axes.set_title(f"policy {policy}: loads {np.linalg.norm(apart):.0e} p.u. off", fontsize=10)
        axes.set_xlabel("iteration")
        if policy is Policy.PAPER:
            axes.axvline(BOOSTING_FROM, color=GREY, linestyle=":")
            axes.text(BOOSTING_FROM - 60, 1e-8, "boosting", color=GREY, ha="right")
            axes.set_ylabel("p.u.")
        else:
            axes.legend(frameon=False)
    save(figure, "agents-convergence")


if __name__ == "__main__":
    main()
