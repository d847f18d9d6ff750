"""Networks without costs: how they are read, and that units share the load by their ranges."""

import numpy as np
import pandapower
import pytest

from gridveil import load_case, save_case, solve_acopf, to_pandapower
from gridveil.network.case_file import NO_COST
from gridveil.network.from_case import network_from_tables
from gridveil.network.proportional import is_limited, proportional_coefficients
from tests.cases import TINY, gen, network_without_costs, polynomial, without_costs


def test_a_file_without_costs_is_read_and_saved_byte_for_byte(tmp_path):
    path = tmp_path / "case.m"
    path.write_text(without_costs("case14_ieee"))
    network = load_case(path)
    assert not network.has_costs
    assert network.case.tables["gencost"].values.tolist() == [list(NO_COST)] * 5
    save_case(network, tmp_path / "again.m")
    assert (tmp_path / "again.m").read_bytes() == path.read_bytes()
    assert load_case("case14_ieee").has_costs


@pytest.mark.parametrize("gencost", ["mpc.gencost = [];", "mpc.gencost = [\n];", ""])
def test_an_empty_table_of_costs_is_none(tmp_path, gencost):
    path = tmp_path / "case.m"
    path.write_text(without_costs("case5_pjm") + gencost)
    assert not load_case(path).has_costs


def test_costs_of_0_are_none_and_any_other_is_one():
    zeros = [polynomial(0.0, 0.0, 0.0), [1, 0, 0, 2, 0, 0, 100, 0]]
    assert not TINY.with_(gencost=zeros).network().has_costs
    for row in (polynomial(5.0), [1, 0, 0, 2, 0, 0, 100, 3]):
        assert TINY.with_(gencost=[zeros[0], row]).network().has_costs


def test_tables_may_come_without_costs():
    tables = {name: network_without_costs("case5_pjm").case.tables[name].values for name in
              ("bus", "gen", "branch")}  # fmt: skip
    assert not network_from_tables(tables, 100.0, "five").has_costs


def test_units_are_loaded_in_the_same_share_where_nothing_is_in_the_way():
    """Three buses without resistance: there are no losses, and lines carry anything."""
    branch = [[*row[:2], 0.0, 0.1, 0.0, *row[5:]] for row in TINY.branch]
    network = TINY.with_(branch=branch, gencost=[list(NO_COST)] * 2).network()
    result = solve_acopf(network)
    assert result.status.solved
    gens, load = network.generators, network.loads.p.sum()
    assert result.point.p == pytest.approx(gens.p_max * load / gens.p_max.sum(), abs=1e-5)
    assert result.cost == 0
    assert not result.active_price.any()
    assert result.figures()["cost"] is None


def test_pandapower_finds_the_same_dispatch_with_the_squares_as_its_costs():
    name = "case14_ieee"
    network = network_without_costs(name)
    result, gens, mva = solve_acopf(network), network.generators, network.base_mva
    net = to_pandapower(load_case(name))
    net.ext_grid["controllable"] = True  # its voltage is free, as all others are
    net.poly_cost.drop(net.poly_cost.index, inplace=True)
    squares = proportional_coefficients(network)
    place = {bus: row for row, bus in enumerate(net.bus.index)}
    for kind in ("ext_grid", "gen"):
        for index, bus in net[kind].bus.items():
            (g,) = np.flatnonzero(gens.bus == place[bus])
            pandapower.create_poly_cost(
                net, index, kind, cp0_eur=100 * squares[g, 0],
                cp1_eur_per_mw=100 * squares[g, 1] / mva,
                cp2_eur_per_mw2=100 * squares[g, 2] / mva**2,
            )  # fmt: skip
    pandapower.runopp(net, init="flat")
    theirs = np.zeros(len(gens))
    for kind in ("ext_grid", "gen"):
        for index, bus in net[kind].bus.items():
            theirs[np.flatnonzero(gens.bus == place[bus])] = net[f"res_{kind}"].p_mw[index] / mva
    assert theirs == pytest.approx(result.point.p, abs=2e-4)


def test_a_unit_without_limits_takes_what_is_left():
    """It counts by the ranges of all others: here 3 p.u. of them, and p/3 against p/2."""
    free = gen(7, 1e9, p_min=-1e9)
    branch = [[*row[:2], 0.0, 0.1, 0.0, *row[5:]] for row in TINY.branch]
    network = TINY.with_(gen=[gen(1, 200.0), free], branch=branch, gencost=[]).network()
    assert is_limited(network).tolist() == [True, False]
    result = solve_acopf(network)
    assert result.status.solved
    assert result.point.p == pytest.approx([0.65, 0.65], abs=1e-5)
    assert np.isfinite(proportional_coefficients(network)).all()
