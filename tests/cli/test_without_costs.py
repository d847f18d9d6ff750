"""Networks without costs on the command line: every command says so, and none speaks of costs."""

import json

import pytest

from tests.cases import without_costs


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch, tmp_path):
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(tmp_path / "ledger.sqlite"))


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "case14.m"
    path.write_text(without_costs("case14_ieee"))
    return path


@pytest.fixture
def marginal(tmp_path):
    path = tmp_path / "marginal.csv"
    path.write_text("generator,marginal_cost\n1,7.9\n2,23.3\n3,0\n4,0\n5,0\n")
    return path


def told(outcome):
    return " ".join((outcome.out + outcome.err).split())


def test_solve_shows_a_proportional_dispatch_and_says_that_there_are_no_costs(
    gridveil, case, marginal, tmp_path
):
    shown = gridveil("solve", case)
    assert shown.status == 0
    assert "no generator costs: this is the proportional dispatch" in told(shown)
    assert "$" not in told(shown)
    figures = json.loads(gridveil("solve", case, "--json").out)
    assert (figures["cost"], figures["status"]) == (None, "optimal")
    assert gridveil("solve", case, "--save-costs", tmp_path / "x.csv").status == 2
    priced = json.loads(gridveil("solve", case, "--costs", marginal, "--json").out)
    own = json.loads(gridveil("solve", "case14_ieee", "--json").out)
    assert priced["cost"] == pytest.approx(own["cost"], rel=0.01)


def test_a_release_takes_the_band_on_the_dispatch(gridveil, case, tmp_path):
    planned = told(gridveil("release", case, "--dry-run"))
    assert "the network has no generator costs" in planned
    made = gridveil("release", case, "--private-report", "-o", tmp_path / "out")
    assert made.status == 0
    assert "of its range of p*" in told(made)
    assert "O*" not in told(made)
    page = (tmp_path / "out-private" / "report.html").read_text()
    assert "cost" not in page.split("</style>")[1].split("<script")[0]
    checked = gridveil("verify", tmp_path / "out", "--json")
    assert checked.status == 0
    assert not [c for c in json.loads(checked.out)["claims"] if "cost" in c["name"]]


def test_bands_by_name_and_by_the_name_of_before(gridveil, case, tmp_path):
    config = tmp_path / "release.toml"
    config.write_text('band = "generator"\nbeta = "0.05"\n')
    outcome = gridveil("release", "case5_pjm", "--config", config, "--dry-run", "--json")
    assert json.loads(outcome.out)["band"] == "cost"
    refused = gridveil("release", case, "--band", "cost", "--dry-run")
    assert refused.status == 2
    assert "Give marginal costs" in told(refused)
    wrong = gridveil("release", case, "--band", "costs", "--dry-run")
    assert wrong.status == 2
    assert "is none of cost, total, dispatch, none" in told(wrong).replace("│ ", "")


def test_marginal_costs_make_costs(gridveil, case, marginal):
    outcome = gridveil("release", case, "--costs", marginal, "--dry-run", "--json")
    figures = json.loads(outcome.out)
    assert (figures["band"], figures["method"], figures["costs"]) == ("cost", "bilevel", "private")


@pytest.mark.parametrize("command", ["federate", "split"])
def test_parties_keep_costs_only_and_say_so_first(gridveil, case, tmp_path, command):
    parties = tmp_path / "parties.csv"
    assert gridveil("partition", case, "--parties", "2", "-o", parties).status == 0
    given = ("--partition", parties) if command == "federate" else (parties,)
    outcome = gridveil(command, case, *given, "-o", tmp_path / "out")
    assert outcome.status == 2
    assert "parties keep bands on costs only" in told(outcome)
    assert not (tmp_path / "ledger.sqlite").exists()


@pytest.mark.parametrize("band", ["dispatch", "none"])
def test_simulate(gridveil, case, band):
    outcome = gridveil("simulate", case, "--band", band, "--compare-central", "--json")
    figures = json.loads(outcome.out)
    assert figures["solved"]
    assert figures["cost_gap_dispatch"] is None
    assert (figures["largest_deviation"] is None) == (band == "none")
    assert "cost" not in gridveil("simulate", case, "--band", band).out
