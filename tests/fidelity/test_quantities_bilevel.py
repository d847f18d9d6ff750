"""The optimal cost of restored lines and loads within β of O*, by a fresh AC-OPF."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import (
    GridveilError,
    RelativeLaplace,
    load_case,
    protect,
    restore_optimum,
    simulate_loads,
    simulate_quantities,
    solve_acopf,
)
from gridveil.fidelity.quantities import nearest_quantities, private_network
from gridveil.opf.cost_gradients import cost_gradients

BETA = 0.01


@pytest.fixture(scope="module", params=["case5_pjm", "case14_ieee", "case30_ieee"])
def grid(request):
    network = load_case(request.param)
    return network, solve_acopf(network).cost


def promises(network, *names):
    has_ratings = np.isfinite(network.lines.rate).any()
    return [protect(name, 1, "10%") for name in names if has_ratings or name != "ratings"]


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("with_loads", [False, True])
def test_the_optimal_cost_is_within_the_band(grid, seed, with_loads):
    network, cost = grid
    names = ("impedances", "ratings") if with_loads else ("impedances",)
    noisy = simulate_quantities(network, promises(network, *names), seed)
    loads = simulate_loads(network, RelativeLaplace.of(1, "0.1"), seed) if with_loads else None
    found = restore_optimum(network, noisy, cost, beta=BETA, loads=loads)
    assert found.is_within
    assert found.restored.status.solved
    fresh = solve_acopf(found.restored.network, solver="ipopt")
    assert fresh.status.solved
    assert abs(fresh.cost / cost - 1) < BETA * (1 + 1e-6)
    assert found.opf.cost == pytest.approx(fresh.cost, rel=1e-6)


def test_cuts_were_needed(grid):
    """Without any, the network is too cheap for some of these draws."""
    network, cost = grid
    total = ((1 - BETA) * cost, (1 + BETA) * cost)
    gaps = []
    for seed in (2, 3):
        noisy = simulate_quantities(network, promises(network, "impedances"), seed)
        private = private_network(network, noisy, None, total)
        central = nearest_quantities(private, noisy, None, total).restored
        gaps.append(solve_acopf(central.network).cost / cost - 1)
    assert min(gaps) < -BETA


def test_the_gradient_by_what_moves_agrees_with_finite_differences():
    network = load_case("case5_pjm")
    noisy = simulate_quantities(network, promises(network, "impedances", "ratings", "limits"), 1)
    loads = simulate_loads(network, RelativeLaplace.of(1, "0.1"), 1)
    private = private_network(network, noisy, loads, None)
    attempt = nearest_quantities(private, noisy, loads, None)
    built, x = attempt.built, attempt.x
    told = built.gradient(x, cost_gradients(solve_acopf(built.restored(x))))
    rng, step = np.random.default_rng(1), 1e-4
    for part in (built.impedances, built.ratings, built.limits, built.loads):
        which = np.isin(built.moved, part)
        direction = rng.uniform(0.5, 1.5, len(told)) * np.sign(told) * which
        costs = []
        for sign in (1, -1):
            moved = x.copy()
            moved[built.moved] += sign * step * direction
            costs.append(solve_acopf(built.restored(moved), solver="ipopt").cost)
        assert (costs[0] - costs[1]) / (2 * step) == pytest.approx(told @ direction, rel=1e-5)


def test_where_no_cut_can_help_it_says_how_far_it_got():
    """A network without congestion: no rating makes its optimum a tenth dearer."""
    network = load_case("case5_pjm")
    network = replace(network, lines=replace(network.lines, rate=50 * network.lines.rate))
    noisy = simulate_quantities(network, [protect("ratings", 1, "10%")], 1)
    cost = solve_acopf(network).cost
    found = restore_optimum(network, noisy, 1.1 * cost)
    assert not found.is_within
    assert found.opf.cost < 1.05 * cost


def test_a_beta_without_sense_is_refused():
    network = load_case("case5_pjm")
    noisy = simulate_quantities(network, [protect("ratings", 1, "10%")], 1)
    with pytest.raises(GridveilError, match="must be between 0 and 1"):
        restore_optimum(network, noisy, 17551.89, beta=1.5)


@pytest.mark.parametrize(("name", "seed"), [("case57_ieee", 1), ("case30_ieee", 3)])
def test_limits_of_units_move_with_the_rest(name, seed):
    """Units whose largest output is 0 stay off: as rows, these limits left the solver no room."""
    network = load_case(name)
    cost = solve_acopf(network).cost
    noisy = simulate_quantities(network, promises(network, "limits"), seed)
    found = restore_optimum(network, noisy, cost, beta=BETA)
    assert found.is_within
    off = network.generators.p_max == 0
    assert off.any()
    assert (found.restored.network.generators.p_max[off] == 0).all()
