import json

import pytest

from gridveil import load_case
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.mechanisms.product_laplace import ProductLaplace
from gridveil.privacy.phase import privatise


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    path = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(path))
    privatise(load_case("case5_pjm"), ProductLaplace.of(1, 0.1), Ledger(path), "first")
    return path


def test_what_was_spent_is_shown(gridveil, ledger):
    accounts = json.loads(gridveil("budget", "show", "--json").out)
    assert [(a["bus"], a["spent"], a["cap"], a["left"], a["releases"]) for a in accounts] == [
        (bus, 1.0, 3.0, 2.0, 1) for bus in (2, 3, 4)
    ]
    assert "pglib_opf_case5_pjm" in gridveil("budget", "show").out


def test_caps_are_set_and_refusals_explained(gridveil, ledger):
    assert gridveil("budget", "explain", "case5_pjm", "--epsilon", "2").status == 0
    assert gridveil("budget", "cap", "1.5", "--case", "case5_pjm", "--bus", "3").status == 0
    outcome = gridveil("budget", "explain", "case5_pjm", "--epsilon", "2")
    assert outcome.status == 1
    assert "bus 3" in outcome.out
    assert "cap of 1.5" in outcome.out.replace("\n", " ")


def test_a_foreign_file_is_bad_input(gridveil, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    outcome = gridveil("budget", "show", "--ledger", tmp_path / "notes.txt")
    assert outcome.status == 2
    assert "not a ledger" in outcome.err


def test_an_empty_budget_says_so(gridveil, tmp_path):
    assert "nothing has been spent" in gridveil("budget", "show", "--ledger", tmp_path / "l").out


def test_looking_makes_no_ledger(gridveil, tmp_path):
    path = tmp_path / "typo" / "ledger.sqlite"
    assert gridveil("budget", "show", "--ledger", path).status == 0
    assert gridveil("budget", "explain", "case5_pjm", "--ledger", path).status == 0
    assert not path.parent.exists()


@pytest.mark.parametrize("bus", ["999", "-1", "1"])
def test_a_cap_for_a_bus_without_a_load_is_refused(gridveil, ledger, bus):
    outcome = gridveil("budget", "cap", "1", "--case", "case5_pjm", f"--bus={bus}")
    assert outcome.status == 2
    assert "no load at bus" in outcome.err


@pytest.mark.parametrize("option", ["--epsilon=-5", "--alpha=-5", "--alpha=0", "--epsilon=1e400"])
def test_absurd_spending_is_bad_input(gridveil, ledger, option):
    assert gridveil("budget", "explain", "case5_pjm", option).status == 2
