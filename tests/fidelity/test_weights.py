"""Distances in the metric of the promise: the weights, and what is closest by them."""

from dataclasses import replace

import casadi
import numpy as np
import pytest

from gridveil import AgentOptions, PolarLaplace, load_case, restore, simulate_loads, solve_acopf
from gridveil.errors import GridveilError
from gridveil.fidelity.base import BandKind, FidelityProblem
from gridveil.fidelity.phase import fidelity_problems
from gridveil.fidelity.registry import make_method
from gridveil.fidelity.weights import metric_weights, weighted_distance
from gridveil.network.network import Network
from gridveil.opf.status import Status
from tests.fidelity.test_agents import TIGHT
from tests.relative_noise import FLOOR, RELATIVE, loads_of, relative_loads

ABSOLUTE = PolarLaplace.of(1, "0.1").guarantee()
NOISY = np.array([[3.0, -4.0], [0.0, 0.0], [0.03, 0.04]])
CASES = ["case14_ieee", "case30_ieee", "case39_epri", "case57_ieee", "case118_ieee"]


def problem(name, seed=1, beta=0.01, method="central", guarantee=None):
    network = load_case(name)
    costs = solve_acopf(network).generator_costs
    noisy = relative_loads(network, seed)
    if guarantee is not None:
        noisy = replace(noisy, guarantee=guarantee)
    kind = BandKind.COST
    return fidelity_problems(network, [noisy], costs, beta, make_method(method), kind)[0]


def solved(of, method="central", agents=None):
    found = make_method(method, agents).solve(of)
    assert found.status.solved
    return np.stack([found.p, found.q], axis=1)


def test_all_loads_count_alike_where_all_have_one_absolute_distance():
    assert (metric_weights(ABSOLUTE, NOISY) == 1.0).all()


def test_a_relative_promise_weighs_by_the_size_of_the_private_load():
    expected = [1 / (25 + FLOOR**2), 1 / FLOOR**2, 1 / (0.05**2 + FLOOR**2)]
    assert metric_weights(RELATIVE, NOISY) == pytest.approx(expected, rel=1e-12)


def test_distances_of_single_loads_weigh_by_them():
    distances = replace(ABSOLUTE, distance=0.1, distances=(0.1, 0.2, 1.0))
    assert metric_weights(distances, NOISY) == pytest.approx([1.0, 0.25, 0.01], rel=1e-12)


def test_a_load_knows_its_weight_without_the_others():
    noisy = np.random.default_rng(1).normal(size=(50, 2))
    together = metric_weights(RELATIVE, noisy)
    alone = [metric_weights(RELATIVE, noisy[i : i + 1])[0] for i in range(50)]
    assert together.tolist() == alone


def test_promises_that_do_not_say_enough_are_refused():
    with pytest.raises(GridveilError, match="needs a floor"):
        metric_weights(replace(RELATIVE, floor=None), NOISY)
    with pytest.raises(GridveilError, match="2 distances α for 3 loads"):
        metric_weights(replace(ABSOLUTE, distances=(0.1, 0.2)), NOISY)


@pytest.mark.parametrize("weights", [[1.0, 2.0], [1.0, 0.0, 1.0], [1.0, np.inf, 1.0], [[1.0] * 3]])
def test_weights_that_do_not_fit_a_problem_are_refused(weights):
    network = load_case("case5_pjm")
    with pytest.raises(GridveilError, match="weights: 3 finite numbers above 0"):
        FidelityProblem(
            network, NOISY, np.zeros(5), 0.1, BandKind.COST, np.array(weights, dtype=float)
        )


def test_a_problem_without_weights_counts_all_loads_alike():
    network = load_case("case5_pjm")
    one = FidelityProblem(network, NOISY, np.zeros(5), 0.1, BandKind.COST)
    assert one.weights.tolist() == [1.0, 1.0, 1.0]


def by_casadi(of: FidelityProblem) -> tuple[float, np.ndarray]:
    """Solve P_RBL with another model: rectangular voltages, generators held by their costs."""
    network, (low, high) = of.network, (1 - of.beta, 1 + of.beta)
    buses, gens, lines = network.buses, network.generators, network.lines
    loads = casadi.SX.sym("loads", len(of.noisy), 2)
    e, f = (casadi.SX.sym(name, len(buses)) for name in "ef")
    p, q = (casadi.SX.sym(name, len(gens)) for name in "pq")
    balance_p = [-buses.shunt_g[i] * (e[i] ** 2 + f[i] ** 2) for i in range(len(buses))]
    balance_q = [buses.shunt_b[i] * (e[i] ** 2 + f[i] ** 2) for i in range(len(buses))]
    rows, least, most = [], [], []

    def hold(row, lower, upper):
        rows.append(row)
        least.append(lower)
        most.append(upper)

    for i, bus in enumerate(network.loads.bus):
        balance_p[bus] -= loads[i, 0]
        balance_q[bus] -= loads[i, 1]
    for g, bus in enumerate(gens.bus):
        balance_p[bus] += p[g]
        balance_q[bus] += q[g]
        own = gens.costs.coefficients[g]
        cost = sum(c * p[g] ** k for k, c in enumerate(own))
        ends = sorted((low * of.costs[g], high * of.costs[g]))
        hold(cost / max(abs(of.costs[g]), 1.0), *(end / max(abs(of.costs[g]), 1.0) for end in ends))
    for k, (a, b) in enumerate(zip(lines.from_bus, lines.to_bus, strict=True)):
        ends = ((a, b, lines.y_ff[k], lines.y_ft[k]), (b, a, lines.y_tt[k], lines.y_tf[k]))
        for here, there, own, mutual in ends:
            current_re = (
                own.real * e[here] - own.imag * f[here]
                + mutual.real * e[there] - mutual.imag * f[there]
            )  # fmt: skip
            current_im = (
                own.real * f[here] + own.imag * e[here]
                + mutual.real * f[there] + mutual.imag * e[there]
            )  # fmt: skip
            flow_p = e[here] * current_re + f[here] * current_im
            flow_q = f[here] * current_re - e[here] * current_im
            balance_p[here] -= flow_p
            balance_q[here] -= flow_q
            if np.isfinite(lines.rate[k]):
                hold(flow_p**2 + flow_q**2, -np.inf, lines.rate[k] ** 2)
        angle = casadi.atan2(f[a] * e[b] - e[a] * f[b], e[a] * e[b] + f[a] * f[b])
        hold(angle, lines.angle_min[k], lines.angle_max[k])
    for i in range(len(buses)):
        hold(balance_p[i], 0.0, 0.0)
        hold(balance_q[i], 0.0, 0.0)
        hold(e[i] ** 2 + f[i] ** 2, buses.v_min[i] ** 2, buses.v_max[i] ** 2)
        if buses.reference[i]:
            hold(f[i], 0.0, 0.0)
    objective = sum(
        of.weights[i] * casadi.sumsqr(loads[i, :] - of.noisy[i][None, :])
        for i in range(len(of.noisy))
    )
    x = casadi.vertcat(casadi.vec(loads), e, f, p, q)
    quiet = {"print_time": False, "ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-10}}
    solver = casadi.nlpsol(
        "nlp", "ipopt", {"x": x, "f": objective, "g": casadi.vertcat(*rows)}, quiet
    )
    free = np.full(2 * len(of.noisy) + 2 * len(buses), np.inf)
    start = [*of.noisy.T.ravel(), *np.ones(len(buses)), *np.zeros(len(buses) + 2 * len(gens))]
    answer = solver(
        x0=start, lbg=least, ubg=most,
        lbx=[*-free, *gens.p_min, *gens.q_min], ubx=[*free, *gens.p_max, *gens.q_max],
    )  # fmt: skip
    assert solver.stats()["success"]
    found = np.array(answer["x"]).ravel()[: 2 * len(of.noisy)].reshape(2, -1).T
    return float(answer["f"]), found


@pytest.mark.parametrize("name", ["case5_pjm", "case14_ieee", "case30_ieee"])
def test_the_central_solution_is_that_of_an_independent_model(name):
    of = problem(name, seed=3)
    ours = solved(of)
    value, theirs = by_casadi(of)
    distance = weighted_distance(ours, of.noisy, of.weights)
    assert distance == pytest.approx(np.sqrt(value), rel=1e-3, abs=1e-5)
    assert weighted_distance(ours, theirs, of.weights) <= 0.01 * distance + 1e-4


@pytest.mark.parametrize("name", CASES)
def test_each_solution_is_the_closer_one_in_its_own_norm(name):
    """Also by the bilevel method, where cuts decide too."""
    for method in ("central", "bilevel"):
        weighted, plain = problem(name), problem(name, guarantee=ABSOLUTE)
        by_weight, by_plain = solved(weighted, method), solved(plain, method)
        noisy = weighted.noisy
        for one, other, weights in (
            (by_weight, by_plain, weighted.weights),
            (by_plain, by_weight, plain.weights),
        ):
            near, far = (weighted_distance(loads, noisy, weights) for loads in (one, other))
            assert near <= 1.001 * far + 1e-5
        ratio = weighted_distance(by_plain, noisy, weighted.weights)
        assert ratio > 1.5 * weighted_distance(by_weight, noisy, weighted.weights)


@pytest.mark.parametrize("method", ["central", "bilevel"])
@pytest.mark.parametrize("factor", [0.04, 25.0])
def test_scaling_all_weights_changes_nothing(method, factor):
    one = problem("case57_ieee", seed=5)
    scaled = replace(one, weights=factor * one.weights)
    assert weighted_distance(solved(one, method), solved(scaled, method), one.weights) <= 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_agents_with_patience_find_the_weighted_solution(seed):
    of = problem("case14_ieee", seed)
    near, central = solved(of, "admm", TIGHT), solved(of)
    assert np.abs(near - central).max() <= 1e-5


@pytest.mark.parametrize("name", CASES)
def test_agents_converge_as_they_are(name):
    of = problem(name, seed=2)
    found = make_method("admm").solve(of)
    central = solved(of)
    loads = np.stack([found.p, found.q], axis=1)
    assert found.status is Status.CONVERGED
    distance = weighted_distance(central, of.noisy, of.weights)
    assert weighted_distance(loads, central, of.weights) <= 0.02 * distance + 1e-2
    objective = found.agents.history.objective[-1]
    assert np.sqrt(objective) == pytest.approx(weighted_distance(loads, of.noisy, of.weights))


def test_a_polished_run_ends_at_the_weighted_solution():
    of = problem("case57_ieee")
    few = AgentOptions(max_iterations=20, polish=True)
    assert weighted_distance(solved(of, "admm", few), solved(of), of.weights) <= 1e-3


@pytest.mark.parametrize("method", ["central", "bilevel", "admm"])
def test_the_true_loads_give_no_weights(method):
    network = load_case("case30_ieee")
    costs = solve_acopf(network).generator_costs
    noisy = relative_loads(network, 5)
    swapped: Network = network.with_loads(network.loads.p * 0.2 + 1, network.loads.q - 3)
    one, other = (restore(n, noisy, costs, 0.01, method) for n in (network, swapped))
    assert one.network.loads == other.network.loads


def test_the_displacement_that_is_reported_is_the_plain_one():
    network = load_case("case5_pjm")
    noisy = relative_loads(network, 1)
    costs = solve_acopf(network).generator_costs
    central, bilevel = (restore(network, noisy, costs, 0.001, m) for m in ("central", "bilevel"))
    for found in (central, bilevel):
        plain = np.linalg.norm(found.network.loads.values - loads_of(noisy))
        assert found.displacement == pytest.approx(plain, rel=1e-12)
    assert bilevel.displacement == pytest.approx(
        central.displacement + bilevel.extra_displacement, rel=1e-2
    )


@pytest.mark.parametrize(
    ("name", "seed", "method", "displacement"),
    [
        ("case14_ieee", 1, "central", 0.09669907110281745),
        ("case14_ieee", 1, "bilevel", 0.09670648343161899),
        ("case14_ieee", 1, "admm", 0.0967643721251005),
        ("case57_ieee", 1, "central", 0.906519294039891),
        ("case57_ieee", 1, "bilevel", 0.907383107388466),
        ("case57_ieee", 1, "admm", 0.9063914526773715),
    ],
)
def test_loads_of_an_absolute_promise_are_where_they_were_before_there_were_weights(
    name, seed, method, displacement
):
    """Figures of the version before; agents after 400 iterations."""
    network = load_case(name)
    costs = solve_acopf(network).generator_costs
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), seed)
    agents = AgentOptions(max_iterations=400) if method == "admm" else None
    found = restore(network, noisy, costs, 0.01, method, agents=agents)
    assert found.displacement == pytest.approx(displacement, rel=1e-7)
