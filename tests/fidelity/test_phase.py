"""The fidelity phase on the paper's networks and on awkward ones."""

import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.baselines import nesta_costs
from gridveil import (
    PolarLaplace,
    Status,
    load_case,
    restore,
    restore_many,
    simulate_loads,
    solve_acopf,
)
from gridveil.errors import GridveilError
from gridveil.fidelity.central import Central
from gridveil.opf.operating_point import violations
from tests.cases import NESTA, TINY, gen, needs_nesta, polynomial

PGLIB = ["case5_pjm", "case14_ieee", "case39_epri", "case57_ieee", "case118_ieee"]


def study(network, alpha, beta, method, seed=1, **options):
    original = solve_acopf(network)
    noisy = simulate_loads(network, PolarLaplace.of(1, alpha), seed)
    return (
        original,
        noisy,
        restore(network, noisy, original.generator_costs, beta, method, **options),
    )


def check(result, beta):
    assert result.status.solved
    assert result.max_violation <= 1e-6
    assert result.worst_generator_gap <= beta * (1 + 1e-6) + 1e-8  # Ipopt's tolerance
    assert result.band_slack.min() >= -1e-7
    # Recomputed once more, by hand.
    assert violations(result.network, result.point).largest == result.max_violation
    if result.method == "bilevel":
        fresh = solve_acopf(result.network)
        assert abs(fresh.cost - result.costs.sum()) <= beta * abs(result.costs.sum())
        assert result.cost_gap_optimal == pytest.approx(
            (fresh.cost - result.costs.sum()) / abs(result.costs.sum()), abs=1e-9
        )


@pytest.mark.parametrize("name", PGLIB)
@pytest.mark.parametrize("method", ["central", "bilevel"])
def test_pglib(name, method):
    for alpha, beta in ((0.1, 0.01), (0.01, 0.001)):
        _, _, result = study(load_case(name), alpha, beta, method)
        check(result, beta)


@needs_nesta
@pytest.mark.parametrize("name", nesta_costs(NESTA))
def test_nesta(name):
    network = load_case(NESTA / f"{name}.m")
    for method in ("central", "bilevel"):
        for alpha, beta, seed in ((0.1, 0.01, 3), (0.1, 0.001, 4)):
            _, _, result = study(network, alpha, beta, method, seed)
            check(result, beta)


@pytest.mark.parametrize("method", ["central", "bilevel"])
@pytest.mark.parametrize("name", ["case14_ieee", "case118_ieee"])
def test_without_noise_nothing_moves(name, method):
    network = load_case(name)
    original = solve_acopf(network)
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    noisy = replace(noisy, p=network.loads.p, q=network.loads.q)
    result = restore(network, noisy, original.generator_costs, 0.01, method)
    assert result.displacement <= 1e-4
    assert abs(result.cost_gap_optimal) <= 1e-6


def test_the_true_loads_are_not_used():
    """Another network, with other loads at the same buses, gives the same to the last bit."""
    network = load_case("case39_epri")
    costs = solve_acopf(network).generator_costs
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 5)
    swapped = network.with_loads(network.loads.p * 0.2 + 1, network.loads.q - 3)
    for method in ("central", "bilevel"):
        one, other = (restore(n, noisy, costs, 0.001, method) for n in (network, swapped))
        assert one.network.loads == other.network.loads
        assert one.point == other.point


def test_the_bilevel_problem_moves_loads_further_and_says_by_how_much():
    network = load_case("case5_pjm")
    original, noisy, central = study(network, 0.1, 0.001, "central")
    bilevel = restore(network, noisy, original.generator_costs, 0.001, "bilevel")
    assert abs(central.cost_gap_optimal) > 0.001 >= abs(bilevel.cost_gap_optimal)
    assert bilevel.displacement == pytest.approx(
        central.displacement + bilevel.extra_displacement, rel=1e-2
    )


def test_no_point_is_closer():
    """P_RBL's optimum, moved a little towards the noisy loads, has no feasible dispatch left."""
    network = load_case("case57_ieee")
    original, noisy, result = study(network, 0.1, 0.01, "central")
    tried = replace(
        noisy,
        p=result.network.loads.p + 0.05 * (noisy.p - result.network.loads.p),
        q=result.network.loads.q + 0.05 * (noisy.q - result.network.loads.q),
    )
    again = restore(network, tried, original.generator_costs, 0.01, "central")
    assert again.displacement >= 0.9 * 0.05 * result.displacement


@pytest.mark.parametrize("method", ["central", "bilevel"])
def test_a_band_on_the_total_alone_moves_less(method):
    network = load_case("case118_ieee")
    original, noisy, each = study(network, 0.1, 0.001, method)
    total = restore(network, noisy, original.generator_costs, 0.001, method, band="total")
    assert total.status.solved
    assert abs(total.cost_gap_dispatch) <= 0.001 + 1e-8
    assert total.displacement < each.displacement


def test_no_tolerance_at_all():
    _, _, result = study(load_case("case14_ieee"), 0.1, 0.0, "central")
    assert result.status.solved
    assert result.worst_generator_gap <= 1e-6


def test_enormous_noise_is_solved_or_refused_in_words():
    network = load_case("case14_ieee")
    original = solve_acopf(network)
    for alpha in (100, 1e4):
        noisy = simulate_loads(network, PolarLaplace.of(1, alpha), 1)
        result = restore(network, noisy, original.generator_costs, 0.01, "central")
        assert result.status.solved
        assert result.max_violation <= 1e-6


def test_two_interval_bands_are_kept():
    """A generator whose cost has a valley: its output must stay on one of the two sides."""
    valley = polynomial(0.01, -1.0, 30.0)  # least, 5 $/h, at 50 MW
    case = TINY.with_(gen=[gen(1, 200.0), gen(7, 100.0)], gencost=[polynomial(10.0, 0.0), valley])
    network = case.network()
    costs = np.array([900.0, 14.0])
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.3), 1)
    result = restore(network, noisy, costs, 0.05, "central")
    assert len(result.bands[1].intervals) == 2
    check(result, 0.05)


@pytest.mark.parametrize("free", [0, 1])
def test_generators_that_cost_nothing_and_negative_costs(free):
    for price in (0.0, -3.0):
        gencost = [polynomial(10.0, 0.0), polynomial(10.0, 0.0)]
        gencost[free] = polynomial(price, 0.0)
        network = TINY.with_(gencost=gencost).network()
        for method in ("central", "bilevel"):
            _, _, result = study(network, 0.05, 0.05, method)
            check(result, 0.05)


def test_an_empty_band_is_refused():
    network = load_case("case5_pjm")
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    costs = solve_acopf(network).generator_costs.copy()
    costs[2] = 1e9
    with pytest.raises(GridveilError, match=r"generator 3 \(bus 3\): no output"):
        restore(network, noisy, costs, 0.01, "central")


def test_bands_that_no_loads_can_meet_are_told():
    """Both generators must give more than all lines can carry away; loads are at one bus only."""
    network = TINY.network()
    network = replace(network, lines=replace(network.lines, rate=np.full(3, 0.01)))
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.01), 1)
    result = restore(
        network, noisy, network.generators.costs(np.array([2.0, 0.5])), 0.01, "central"
    )
    assert result.status is Status.INFEASIBLE
    assert result.max_violation > 1e-3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"beta": -0.1}, "beta: -0.1 must be 0 or more"),
        ({"beta": float("nan")}, "beta: nan must be"),
        ({"method": "magic"}, "method: 'magic' is none of central, bilevel"),
        ({"band": "all"}, "band: 'all' is none of"),
        ({"costs": np.zeros(3)}, "one finite number for each of the 2 generators"),
    ],
)
def test_bad_parameters_are_refused(options, says):
    network = TINY.network()
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    arguments = {"costs": np.array([1.0, 1.0]), "beta": 0.1, **options}
    with pytest.raises(GridveilError) as error:
        restore(network, noisy, **arguments)
    assert says in str(error.value)


def test_a_total_band_with_piecewise_linear_costs_is_refused():
    network = TINY.with_(gencost=[[1, 0, 0, 2, 0, 0, 10, 100], polynomial(1.0, 0.0)]).network()
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.1), 1)
    with pytest.raises(GridveilError, match="not supported with piecewise-linear costs"):
        restore(network, noisy, np.ones(2), 0.1, "central", band="total")


@pytest.mark.parametrize("method", ["central", "bilevel"])
def test_generators_without_limits(method):
    """A free generator of any output, and one whose reactive power has no limits."""
    case = TINY.with_(gencost=[polynomial(0.0, 0.0), polynomial(10.0, 0.0)])
    case = case.with_cell("gen", 0, 8, "Inf").with_cell("gen", 0, 9, "-Inf")
    network = case.with_cell("gen", 1, 3, "Inf").with_cell("gen", 1, 4, "-Inf").network()
    _, _, result = study(network, 0.05, 0.05, method)
    check(result, 0.05)


class Prepared(Central):
    """A method that first takes its time, once."""

    name = "prepared"

    def prepare(self, problem):
        time.sleep(0.5)


def test_what_a_method_prepares_is_not_timed():
    network = load_case("case5_pjm")
    costs = solve_acopf(network).generator_costs
    noisy = simulate_loads(network, PolarLaplace.of(1, 0.01), 1)
    started = time.perf_counter()
    one = restore(network, noisy, costs, 0.05, Prepared())
    (other,) = restore_many(network, [noisy], costs, 0.05, Prepared())
    assert time.perf_counter() - started > 1.0
    assert one.seconds < 0.5
    assert other.seconds < 0.5
