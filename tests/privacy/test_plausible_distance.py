"""A distance that protects next to nothing, or that no two loads can have, is refused."""

import re
from fractions import Fraction

import pytest

from gridveil import load_case, plan_release
from gridveil.errors import GridveilError
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.owner import owner_of
from gridveil.privacy.ledger.records import Charge, Spending
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.phase import privatise
from gridveil.privacy.plausible_distance import check_distance, plausible_range, typical_load

CASES = ("case5_pjm", "case14_ieee", "case30_ieee", "case39_epri", "case118_ieee", "case300_ieee")


def at_distance(network, mva):
    return Spending(owner_of(network), Charge(Fraction(1), Fraction(mva)), "")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("alpha", ["0.00001", "1000"])
def test_the_distances_of_the_attack_are_refused_before_the_draw(tmp_path, name, alpha):
    """1e-5 p.u. passed the cap of ε = 3 and gave 94.2015 for 94.2; 1000 locked a network out."""
    network, ledger = load_case(name), Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(GridveilError, match=r"Nothing was drawn\. Was α = .* meant"):
        privatise(network, ProductLaplace.of(3, alpha), ledger, "attack")
    assert ledger.is_empty
    assert ledger.accounts() == []
    privatise(network, ProductLaplace.of(1, "0.1"), ledger, "meant")
    assert {account.spent for account in ledger.accounts()} == {1}


@pytest.mark.parametrize("name", CASES)
def test_the_distances_of_the_paper_make_sense(name):
    low, high = plausible_range(load_case(name))
    assert low < 1 < 20 < high


def test_a_plan_refuses_too(tmp_path):
    with pytest.raises(GridveilError, match="Nothing was drawn"):
        plan_release("case14_ieee", alpha=1e-5, ledger=tmp_path / "ledger.sqlite")


@pytest.mark.parametrize(
    ("asked_mva", "meant_pu", "meant_mva"),
    [("1000", "0.1", "10"), ("0.001", "0.001", "0.1"), ("1000000", "0.1", "10")],
    ids=["MVA as p.u.", "divided twice", "kVA as p.u."],
)
def test_the_distance_that_was_probably_meant_is_told(asked_mva, meant_pu, meant_mva):
    network = load_case("case14_ieee")
    expected = re.escape(f"Was α = {meant_pu} p.u. meant, which is {meant_mva} MVA?")
    with pytest.raises(GridveilError, match=expected):
        check_distance(network, at_distance(network, asked_mva), None)


def test_a_distance_that_its_owner_has_set_with_a_reason_is_accepted(tmp_path):
    network, ledger = load_case("case14_ieee"), Ledger(tmp_path / "ledger.sqlite")
    ledger.set_cap(3, distance="0.001", reason="loads of single households")
    privatise(network, ProductLaplace.of(1, "0.00001"), ledger, "small")
    assert {account.spent for account in ledger.accounts()} == {1}


def test_what_the_message_says_makes_sense_does(tmp_path):
    network = load_case("case57_ieee")
    for distance in plausible_range(network):
        check_distance(network, at_distance(network, f"{distance:g}"), None)


def test_the_loads_of_a_feeder_are_those_usual_at_its_voltage(tmp_path):
    """Two transformers of 25 MVA feed 18 loads, most of them far below 50/18 MVA."""
    pandapower, networks = (
        pytest.importorskip("pandapower"),
        pytest.importorskip("pandapower.networks"),
    )
    net = networks.create_cigre_network_mv()
    net.trafo["shift_degree"] = 0.0
    pandapower.create_poly_cost(net, 0, "ext_grid", cp1_eur_per_mw=60.0)
    pandapower.to_json(net, tmp_path / "feeder.json")
    feeder = load_case(tmp_path / "feeder.json")
    assert typical_load(feeder) == 0.3
    low, high = plausible_range(feeder)
    assert (low, high) == (4.5e-05, 50.0)
    check_distance(feeder, at_distance(feeder, "0.1"), None)
