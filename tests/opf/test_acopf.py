"""AC-OPF against published costs, and against what must hold of any optimum."""

import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.baselines import nesta_costs, pglib_costs
from gridveil import GridveilError, Status, load_case, solve_acopf
from tests.cases import ISOLATED_LOADS, NESTA, TINY, bus, gen, line, needs_nesta, polynomial

PGLIB = [
    "case3_lmbd",
    "case5_pjm__api",
    "case14_ieee",
    "case30_ieee__sad",
    "case39_epri",
    "case57_ieee__api",
    "case89_pegase",
    "case162_ieee_dtc",
    "case179_goc__api",
    "case240_pserc",
    "case300_ieee__sad",
    "case1354_pegase",
]
"""A few of PGLib's cases; benchmarks/published_costs.py runs them all."""


def check(network, published):
    result = solve_acopf(network)
    assert result.status.solved
    assert f"{result.cost:.4e}" == published
    assert result.max_violation <= 1e-6
    assert result.generator_costs.sum() == pytest.approx(result.cost)


@pytest.mark.parametrize("name", PGLIB)
def test_published_pglib_costs(name):
    check(load_case(name), pglib_costs()[name])


@needs_nesta
@pytest.mark.parametrize(("name", "cost"), nesta_costs(NESTA).items())
def test_published_nesta_costs(name, cost):
    check(load_case(NESTA / f"{name}.m"), cost)


@needs_nesta
def test_there_are_eighteen_nesta_costs():
    """One of them is that of a case with loads at buses out of service."""
    assert len(nesta_costs(NESTA)) == 18
    assert ISOLATED_LOADS.stem in nesta_costs(NESTA)


def test_prices_are_what_one_more_megawatt_costs():
    network = load_case("case39_epri")
    result, mva, step = solve_acopf(network), network.base_mva, 1e-4
    for load in (0, 7, 20):
        for field, prices in (("p", result.active_price), ("q", result.reactive_price)):
            costs = []
            for sign in (1, -1):
                values = {"p": network.loads.p.copy(), "q": network.loads.q.copy()}
                values[field][load] += sign * step
                costs.append(solve_acopf(network.with_loads(**values)).cost)
            price = (costs[0] - costs[1]) / (2 * step * mva)
            assert prices[network.loads.bus[load]] == pytest.approx(price, rel=2e-3, abs=2e-3)


def test_islands_are_solved_as_if_apart():
    """Two copies of one network in one file: twice the cost, and a reference in each."""

    def moved(rows, *columns):
        return [[v + 100 if i in columns else v for i, v in enumerate(row)] for row in rows]

    double = TINY.with_(
        bus=[*TINY.bus, *moved(TINY.bus, 0)],
        gen=[*TINY.gen, *moved(TINY.gen, 0)],
        branch=[*TINY.branch, *moved(TINY.branch, 0, 1)],
        gencost=[*TINY.gencost, *TINY.gencost],
    )
    one, two = solve_acopf(TINY.network()), solve_acopf(double.network())
    assert two.status is Status.OPTIMAL
    assert two.cost == pytest.approx(2 * one.cost, rel=1e-7)
    assert two.point.theta[[0, 3]].tolist() == [0.0, 0.0]


def test_parallel_lines_equal_one_of_half_the_impedance():
    one = TINY.with_(branch=[line(1, 2, r=0.01, x=0.1, b=0.04, rate=150.0), *TINY.branch[1:]])
    half = line(1, 2, r=0.02, x=0.2, b=0.02, rate=75.0)
    two = TINY.with_(branch=[half, half, *TINY.branch[1:]])
    assert solve_acopf(two.network()).cost == pytest.approx(
        solve_acopf(one.network()).cost, rel=1e-7
    )


def test_a_split_generator_costs_the_same():
    two = TINY.with_(
        gen=[gen(1, 100.0, q=100.0), gen(1, 100.0, q=100.0), TINY.gen[1]],
        gencost=[polynomial(0.04, 10.0, 2.5), polynomial(0.04, 10.0, 2.5), TINY.gencost[1]],
    )
    result, single = solve_acopf(two.network()), solve_acopf(TINY.network())
    assert result.cost == pytest.approx(single.cost, rel=1e-7)


def test_a_negative_load_feeds_in():
    fed = TINY.with_(bus=[TINY.bus[0], TINY.bus[1], bus(7, 2, -50.0, 10.0)])
    assert solve_acopf(fed.network()).cost < solve_acopf(TINY.network()).cost


def test_piecewise_linear_costs_follow_their_curve():
    """Two linear costs, once as straight lines and once cut into three collinear pieces."""
    straight = TINY.with_(gencost=[polynomial(10.0, 0.0), polynomial(20.0, 0.0)])
    pieces = [1, 0, 0, 4, 0, 0, 50, 500, 120, 1200, 200, 2000]
    cut = TINY.with_(gencost=[pieces, polynomial(20.0, 0.0)])
    expected = solve_acopf(straight.network())
    result = solve_acopf(cut.network())
    assert result.status is Status.OPTIMAL
    assert result.cost == pytest.approx(expected.cost, rel=1e-7)
    # A kink at 60 MW, above which the second generator is cheaper, holds the first one there.
    kinked = TINY.with_(gencost=[[1, 0, 0, 3, 0, 0, 60, 600, 200, 4800], polynomial(20.0, 0.0)])
    result = solve_acopf(kinked.network())
    assert result.point.p[0] == pytest.approx(0.6, abs=1e-5)
    assert result.cost == pytest.approx(result.generator_costs.sum())


def test_higher_order_costs():
    """A quartic cost: at the optimum both marginal costs equal their bus's price."""
    case = TINY.with_(gencost=[polynomial(1e-6, 0.0, 0.02, 8.0, 0.0), polynomial(0.05, 12.0, 0.0)])
    result = solve_acopf(case.network())
    p = result.point.p * 100
    marginal = [4e-6 * p[0] ** 3 + 0.04 * p[0] + 8.0, 0.1 * p[1] + 12.0]
    assert result.active_price[[0, 2]] == pytest.approx(marginal, rel=1e-5)


def test_a_phase_shifter_moves_power():
    """A shift on one side of a loop is felt: the dispatch costs more than without it."""
    shifted = TINY.with_(branch=[line(1, 2, rate=150.0, shift=-20.0, tap=0.98), *TINY.branch[1:]])
    plain, result = solve_acopf(TINY.network()), solve_acopf(shifted.network())
    assert result.status.solved
    assert result.cost > plain.cost + 1.0


def test_a_single_bus_is_a_network():
    case = TINY.with_(
        bus=[bus(1, 3, 30.0, 5.0)], gen=[gen(1, 50.0)], branch=[], gencost=[polynomial(10.0, 0.0)]
    )
    assert solve_acopf(case.network()).cost == pytest.approx(300.0)


def test_a_single_rate_binds():
    network = TINY.network()
    free = solve_acopf(network)
    flow = abs(free.flow_from[0])
    tight = replace(
        network, lines=replace(network.lines, rate=np.array([flow * 0.8, np.inf, np.inf]))
    )
    result = solve_acopf(tight)
    assert max(abs(result.flow_from[0]), abs(result.flow_to[0])) == pytest.approx(0.8 * flow)
    assert result.cost > free.cost


def test_the_watcher_can_stop_it():
    result = solve_acopf(load_case("case39_epri"), watch=lambda iteration: iteration.number < 4)
    assert result.status is Status.STOPPED
    assert not result.status.solved


def test_the_text_form_of_a_result_gives_no_load_away():
    """Flows and voltages determine the loads: neither is shown."""
    result = solve_acopf(TINY.network())
    shown = repr(result)
    for values in (result.flow_from.real, result.flow_to.imag, result.point.v, result.point.p):
        assert not any(f"{value:.6f}"[:7] in shown for value in values if abs(value) > 1e-3)


def test_a_name_or_a_path_is_solved_as_its_network(tmp_path):
    path = tmp_path / "tiny.m"
    path.write_text(TINY.text())
    expected = solve_acopf(TINY.network())
    for given in (path, str(path)):
        assert np.array_equal(solve_acopf(given).point.v, expected.point.v)
    assert solve_acopf("case3_lmbd").cost == solve_acopf(load_case("case3_lmbd")).cost
    with pytest.raises(GridveilError, match="not int"):
        solve_acopf(3)


def test_text_forms_are_short_and_show_no_operating_point():
    result = solve_acopf("case39_epri")
    assert re.fullmatch(
        r"OPFResult\('pglib_opf_case39_epri': optimal, 138,415\.56 \$/h, "
        r"largest violation \d\.\de-\d+ p\.u\.\)",
        repr(result),
    )
    assert repr(result.point) == "OperatingPoint(39 buses, 10 generators)"
    html = result._repr_html_()
    assert "138,415.56 $/h" in html
    assert f"{result.point.p[0]:.3f}"[:4] not in html


def test_without_a_solution_no_cost_is_shown():
    result = solve_acopf(TINY.with_cell("bus", 1, 2, 900.0).network())
    assert "$/h" not in repr(result)
    assert "$/h" not in result._repr_html_()
    assert result.figures()["cost"] is None


def test_frames_add_results_to_the_components():
    pytest.importorskip("pandas", reason="pandas is an extra")
    result = solve_acopf("case14_ieee")
    network, mva = result.network, result.network.base_mva
    buses, loads = result.to_frame("buses"), result.to_frame("loads")
    generators, lines = result.to_frame("generators"), result.to_frame("lines")
    for component, frame in (("buses", buses), ("loads", loads), ("lines", lines)):
        given = network.to_frame(component)
        assert frame[given.columns].equals(given)
    assert buses.v.tolist() == result.point.v.tolist()
    assert buses.active_price.tolist() == result.active_price.tolist()
    assert loads.active_price.tolist() == result.active_price[network.loads.bus].tolist()
    assert generators.p_mw.tolist() == (result.point.p * mva).tolist()
    assert generators.cost.sum() == pytest.approx(result.cost)
    losses = (lines.p_from_mw + lines.p_to_mw).sum()
    shunts = (network.buses.shunt_g * result.point.v**2).sum() * mva
    assert generators.p_mw.sum() == pytest.approx(loads.p_mw.sum() + losses + shunts, abs=1e-6)
    assert lines.loading.max() <= 1 + 1e-6
