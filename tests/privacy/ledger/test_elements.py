"""Accounts of circuits and generators: their own, whole or not at all, and hard to lose."""

import sqlite3
from fractions import Fraction

import pytest

from gridveil import BudgetExceededError, PolarLaplace, load_case, privatise, privatise_quantities
from gridveil.network.case_file import REQUIRED_COLUMNS
from gridveil.network.from_case import network_from_tables
from gridveil.network.surroundings import branches
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.ledger.records import RegisterChoice
from gridveil.privacy.ledger.registers import RegisterUnclearError
from gridveil.privacy.metric import Metric
from gridveil.privacy.quantities.registry import protect
from tests.cases import TINY, line
from tests.privacy.quantities.hard_case import hard_case

IMPEDANCES, RATINGS = protect("impedances", 1, "10%"), protect("ratings", "0.5", "10%")


def spent(ledger, kind=None):
    return {a.key: a.spent for a in ledger.accounts() if kind in (None, a.kind) and a.spent}


def renumbered(network):
    """Return a network with other numbers of its buses."""
    tables = {name: network.case.tables[name].values.copy() for name in REQUIRED_COLUMNS}
    for name, columns in {"bus": [0], "gen": [0], "branch": [0, 1]}.items():
        tables[name][:, columns] += 100
    return network_from_tables(tables, network.base_mva, network.name)


def test_every_element_and_quantity_has_an_account_of_its_own(place):
    ledger, network = Ledger(place), hard_case().network()
    loads = PolarLaplace.of(1, 0.1)
    privatise(network, loads, ledger, "loads")
    before = spent(ledger)
    privatise_quantities(network, [IMPEDANCES, RATINGS], ledger, "lines")
    assert {key: value for key, value in spent(ledger).items() if key in before} == before
    assert spent(ledger, "impedances") == {
        f"impedances {key}": 1 for key in ("1-2-1", "1-2-2", "2-7-1", "1-7-1", "1-7-3")
    }
    assert spent(ledger, "ratings") == {
        f"ratings {key}": Fraction(1, 2) for key in ("1-2-1", "1-2-2", "1-7-1")
    }
    privatise(network, loads, ledger, "more loads")
    assert spent(ledger, "load") == {key: 2 * value for key, value in before.items()}
    metrics = {(a.kind, a.metric) for a in ledger.accounts() if a.spent}
    assert metrics == {
        ("load", Metric.ABSOLUTE), ("impedances", Metric.LOG), ("ratings", Metric.LOG)
    }  # fmt: skip
    assert len(ledger.registers()) == 1
    assert ledger.inspect().ok


def test_all_quantities_are_charged_or_none(tmp_path):
    ledger, network = Ledger(tmp_path / "ledger.sqlite"), hard_case().network()
    promises = [IMPEDANCES, RATINGS]
    privatise_quantities(network, promises, ledger, "first")
    (register,) = ledger.registers()
    ledger.set_cap("0.7", register, ["ratings 1-2-2"], metric=Metric.LOG)
    before = spent(ledger)
    with pytest.raises(BudgetExceededError, match="ratings 1-2-2 of tiny"):
        privatise_quantities(network, promises, ledger, "second")
    assert spent(ledger) == before
    assert not ledger.knows("second: impedances")
    privatise_quantities(network, promises[:1], ledger, "third")
    assert ledger.inspect().ok


def test_a_cap_ends_the_releases_of_a_quantity_and_of_no_other(tmp_path):
    ledger, network = Ledger(tmp_path / "ledger.sqlite"), load_case("case5_pjm")
    for number in range(3):
        privatise_quantities(network, [IMPEDANCES], ledger, f"release {number}")
    with pytest.raises(BudgetExceededError, match=r"impedances 1-2-1 .* and 5 more elements"):
        privatise_quantities(network, [IMPEDANCES], ledger, "too many")
    privatise_quantities(network, [RATINGS], ledger, "ratings")
    privatise(network, PolarLaplace.of(1, 0.1), ledger, "loads")
    assert ledger.inspect().ok


def test_identical_circuits_are_capped_together(tmp_path):
    ledger, network = Ledger(tmp_path / "ledger.sqlite"), hard_case().network()
    privatise_quantities(network, [IMPEDANCES], ledger, "first")
    (register,) = ledger.registers()
    ledger.set_group(register, "twins", ["impedances 1-2-1", "impedances 1-2-2"])
    (twins,) = ledger.groups()
    assert (twins.spent, twins.metric) == (2, Metric.LOG)
    with pytest.raises(BudgetExceededError, match="the group 'twins'"):
        privatise_quantities(network, [IMPEDANCES], ledger, "second")
    assert ledger.inspect().ok


def test_nothing_of_the_ledger_tells_impedances(tmp_path):
    """Not even a digest of raw ones, and not whether the network was recognised."""
    network = hard_case().network()
    ledger = Ledger(tmp_path / "ledger.sqlite")
    privatise_quantities(network, [IMPEDANCES], ledger, "first")
    for of in (network, hard_case(1.3).network()):
        privatise_quantities(of, [IMPEDANCES], ledger, f"second {id(of)}")
    assert len(ledger.registers()) == 1
    assert set(spent(ledger).values()) == {3}
    content = (tmp_path / "ledger.sqlite").read_bytes()
    assert b"1-7-3" in content
    assert not any(digest.encode() in content for digest in branches(network))


def test_loads_find_the_register_that_lines_have_opened(tmp_path):
    ledger, network = Ledger(tmp_path / "ledger.sqlite"), load_case("case5_pjm")
    privatise_quantities(network, [IMPEDANCES], ledger, "lines")
    privatise(network, PolarLaplace.of(1, 0.1), ledger, "loads")
    privatise_quantities(network, [IMPEDANCES], ledger, "lines again")
    assert len(ledger.registers()) == 1
    assert spent(ledger)["impedances 1-2-1"] == 2


def test_another_network_is_another_register(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for name in ("case5_pjm", "case14_ieee", "case30_ieee"):
        privatise_quantities(load_case(name), [IMPEDANCES], ledger, name)
    assert len(ledger.registers()) == 3
    assert set(spent(ledger).values()) == {1}


def test_a_renumbered_network_is_asked_about_and_keeps_what_was_spent(tmp_path):
    ledger, network = Ledger(tmp_path / "ledger.sqlite"), load_case("case14_ieee")
    for release in ("first", "second"):
        privatise_quantities(network, [IMPEDANCES], ledger, release)
    with pytest.raises(RegisterUnclearError, match="looks like a network"):
        privatise_quantities(renumbered(network), [IMPEDANCES], ledger, "third")
    named = RegisterChoice(*ledger.registers(), is_new=False)
    privatise_quantities(renumbered(network), [IMPEDANCES], ledger, "third", register=named)
    assert spent(ledger)["impedances 101-102-1"] == 3
    with pytest.raises(BudgetExceededError):
        privatise_quantities(network, [IMPEDANCES], ledger, "back", register=named)
    assert ledger.inspect().ok


def test_a_network_with_the_same_numbers_and_another_structure_is_asked_about(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    privatise_quantities(TINY.network(), [IMPEDANCES], ledger, "first")
    chain = TINY.with_(branch=[line(1, 2), line(1, 7)]).network()
    with pytest.raises(RegisterUnclearError, match="looks like a network"):
        privatise_quantities(chain, [IMPEDANCES], ledger, "second")
    other = RegisterChoice("another", is_new=True)
    for release in ("second", "third"):
        privatise_quantities(chain, [IMPEDANCES], ledger, release, register=other)
    assert ledger.registers() == ["tiny", "another"]
    assert sorted(a.spent for a in ledger.accounts() if a.spent) == [1, 1, 1, 2, 2]


def test_a_circuit_that_was_switched_off_may_be_any_of_the_others(tmp_path):
    """Parallel circuits change names when the file lists them otherwise."""
    ledger, case = Ledger(tmp_path / "ledger.sqlite"), hard_case()
    without = case.with_cell("branch", 0, 10, 0).network()
    privatise_quantities(without, [IMPEDANCES], ledger, "first")
    assert "impedances 1-2-1" not in spent(ledger)
    privatise_quantities(case.network(), [IMPEDANCES], ledger, "second")
    assert set(spent(ledger, "impedances").values()) == {2}
    privatise_quantities(without, [IMPEDANCES], ledger, "third")
    assert spent(ledger)["impedances 1-2-2"] == 3
    assert ledger.inspect().ok


def test_the_inspection_finds_an_account_of_an_element_that_was_changed(tmp_path):
    place = tmp_path / "ledger.sqlite"
    ledger = Ledger(place)
    privatise_quantities(TINY.network(), [IMPEDANCES], ledger, "first")
    ledger.close()
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE accounts SET key = 'other' WHERE key = 'impedances 2-7-1'")
    connection.close()
    assert "other loads than its rows say" in Ledger(place).inspect().problems[0]
