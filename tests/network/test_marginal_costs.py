"""Tables of marginal costs give a network cost functions, in its file too."""

import numpy as np
import pytest

from gridveil import GridveilError, load_case, save_case, solve_acopf, with_marginal_costs
from gridveil.network.marginal_costs import is_table_of_marginal_costs, read_marginal_costs
from tests.cases import TINY, without_costs

FUELS = "mpc.genfuel = {\n\t'hydro';\n\t'Coal';\n};"
SLOPES = {1: 14.0, 2: 15.0, 3: 30.0, 4: 40.0, 5: 10.0}
"""Of case5_pjm, whose own costs are linear."""


@pytest.fixture
def table(tmp_path):
    def write(text):
        path = tmp_path / "costs.csv"
        path.write_text(text)
        return path

    return write


def test_the_costs_of_a_case_given_as_a_table_are_those_of_the_case(table, tmp_path):
    rows = "".join(f"{number},{cost}\n" for number, cost in SLOPES.items())
    path = tmp_path / "case.m"
    path.write_text(without_costs("case5_pjm"))
    network = with_marginal_costs(path, table(f"generator,marginal_cost\n{rows}"))
    own = solve_acopf("case5_pjm")
    found = solve_acopf(network)
    assert found.cost == pytest.approx(own.cost, rel=1e-6)
    assert found.active_price == pytest.approx(own.active_price, rel=1e-4)
    assert with_marginal_costs(path, SLOPES) == network


@pytest.mark.parametrize("has_costs", [True, False])
def test_a_saved_file_has_the_costs_and_all_else_it_had(tmp_path, has_costs):
    path = tmp_path / "case.m"
    text = without_costs("case5_pjm")
    path.write_text(text)
    network = with_marginal_costs("case5_pjm" if has_costs else path, SLOPES)
    save_case(network, tmp_path / "saved.m")
    saved = load_case(tmp_path / "saved.m")
    assert saved == network
    assert saved.has_costs
    lines = (tmp_path / "saved.m").read_text().splitlines()
    assert set(filter(None, text.splitlines())) <= set(lines)  # comments and other sections


def test_costs_by_fuel(table, tmp_path):
    path = tmp_path / "tiny.m"
    path.write_text(TINY.with_(extra=FUELS).text())
    network = load_case(path)
    assert network.fuels == ("hydro", "Coal")
    by_fuel = table("fuel,marginal_cost\nCOAL,40\nhydro,2\nwind,0\n")
    assert is_table_of_marginal_costs(by_fuel)
    priced = with_marginal_costs(network, by_fuel)
    assert priced.generators.costs(np.ones(2)) == pytest.approx([200.0, 4000.0])
    with pytest.raises(GridveilError, match=r"generator 2 \(bus 7\): its fuel 'Coal'"):
        with_marginal_costs(network, {"hydro": 2.0})
    with pytest.raises(GridveilError, match="does not say which fuel"):
        with_marginal_costs(TINY.network(), {"hydro": 2.0})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("generator,marginal_cost\n1,5\n", r"no marginal cost for generator 2 \(bus 7\)"),
        ("generator,marginal_cost\n1,5\n2,5\n3,5\n", "no generator 3 in service"),
        ("generator,marginal_cost\n1,5\n1,5\n", "costs.csv:3: generator 1 stands there twice"),
        ("generator,marginal_cost\n1,x\n", "costs.csv:2: marginal_cost must be a number"),
        ("generator,marginal_cost\n1,inf\n", "finite"),
        ("generator,marginal_cost\n1.5,1\n", "not a whole number"),
        ("unit,marginal_cost\n1,1\n", "columns generator .* or fuel"),
        ("generator,cost\n1,1\n", "columns generator .* or fuel"),
        ("fuel,marginal_cost\ncoal,1\nCoal,1\n", "coal stands there twice"),
    ],
)
def test_broken_tables_are_refused_with_the_place(table, text, says):
    with pytest.raises(GridveilError, match=says):
        with_marginal_costs(TINY.network(), table(text))


def test_a_table_of_costs_o_star_is_another_one(table):
    assert not is_table_of_marginal_costs(table("generator,cost\n1,100\n"))
    assert read_marginal_costs(table("generator,marginal_cost\n2,3.5\n")) == {2: 3.5}
