import json

import pytest

from gridveil import Ledger
from tests.cases import TINY


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch, tmp_path):
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(tmp_path / "ledger.sqlite"))


@pytest.mark.parametrize("method", [("bilevel",), ("central",), ("admm",)], ids=lambda m: m[0])
def test_a_release_that_verifies(gridveil, tmp_path, method):
    outcome = gridveil(
        "release", "case14_ieee", "--epsilon", "1", "--alpha", "0.1", "--beta", "0.01",
        "--method", *method, "-o", tmp_path / "out",
    )  # fmt: skip
    assert outcome.status == 0
    assert "released" in outcome.out
    assert "Private as a whole" in outcome.out.replace("\n", " ")
    checked = gridveil("verify", tmp_path / "out")
    assert checked.status == 0
    assert "claims recomputed" in checked.out
    assert checked.out.startswith("Private as a whole")
    assert "unsigned: anyone could have written this" in checked.out
    figures = json.loads(gridveil("verify", tmp_path / "out", "--json").out)
    assert figures["ok"] is True
    assert all(claim["ok"] for claim in figures["claims"])
    assert figures["signed"] is False
    assert figures["private_as_a_whole"] is True
    counts = {name: figures[name] for name in ("recomputed", "proved", "stated")}
    assert sum(counts.values()) == len(figures["claims"])
    assert min(counts.values()) > 0


def test_costs_are_derived_only_where_they_are_declared_public(gridveil, tmp_path):
    arguments = ("release", "case14_ieee", "-o", tmp_path / "out", "--costs", "derived")
    refused = gridveil(*arguments)
    assert refused.status == 2
    assert "no noise protects" in refused.err.replace("\n", " ")
    assert not (tmp_path / "ledger.sqlite").exists()
    outcome = gridveil(*arguments, "--declare-public", "costs")
    assert outcome.status == 0
    assert "Not private as a whole. The owner declares" in outcome.out.replace("\n", " ")
    shown = gridveil("verify", tmp_path / "out").out.replace("\n", " ")
    assert shown.startswith("Not private as a whole. The owner declares the costs O* public")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "learns from this folder something about the loads" in page.split("</header>")[0]
    useless = gridveil(*arguments[:2], "-o", tmp_path / "x", "--declare-public", "costs")
    assert useless.status == 2


def test_what_is_kept_is_asked_for_by_kind_and_comes_with_a_warning(gridveil, tmp_path):
    mine = tmp_path / "mine.m"
    mine.write_text(f"{TINY.text()}% a load of 55.5 MW once\n")
    shown = gridveil("release", mine, "--keep", "comments", "--dry-run").out.replace("\n", " ")
    assert "look as if they spoke of loads" in shown
    assert "Not private as a whole" in shown
    assert "comments of the source file, as they stand" in shown
    case, ledger = "case14_ieee__api", tmp_path / "ledger.sqlite"
    keep = ("--keep", "comments,names,sections", "--ledger", ledger)
    for more in (("--dry-run",), ("--beta", "0.05", "-o", tmp_path / "x")):
        refused = gridveil("release", case, *keep, *more)  # its comments hold every true load
        assert refused.status == 2
        told = refused.err.replace("\n", " ")
        assert "network.m: P of bus 2" in told
        assert "Nothing was drawn or charged" in told
        assert "42.66" not in told
    assert list(tmp_path.iterdir()) == [mine]
    assert gridveil("release", case, "--keep", "blanks", "-o", tmp_path / "x").status == 2
    made = gridveil("release", case, "--beta", "0.05", "-o", tmp_path / "out")
    assert made.status == 0
    text = (tmp_path / "out" / "network.m").read_text()
    assert "INFO" not in text


def test_a_changed_release_does_not_verify(gridveil, tmp_path):
    gridveil("release", "case14_ieee", "-q", "-o", tmp_path / "out")
    path = tmp_path / "out" / "loads.csv"
    path.write_text(path.read_text().replace("2,", "2,1", 1))
    outcome = gridveil("verify", tmp_path / "out")
    assert outcome.status == 1
    assert "DOES NOT HOLD" in outcome.out
    assert gridveil("verify", tmp_path / "nowhere").status == 2


def test_a_rerun_draws_nothing_again(gridveil, tmp_path):
    for name in ("one", "two"):
        outcome = gridveil(
            "release", "case14_ieee", "-o", tmp_path / name, "--release-id", "same", "--json"
        )
        assert json.loads(outcome.out)["protection"]["cumulative_epsilon"] == 1.0
    one, two = ((tmp_path / name / "network.m").read_bytes() for name in ("one", "two"))
    assert one == two


def test_the_same_command_for_another_folder_is_the_same_release(gridveil, tmp_path):
    first = gridveil("release", "case14_ieee", "-o", tmp_path / "one")
    assert "nothing was drawn" not in first.out.replace("\n", " ")
    second = gridveil("release", "case14_ieee", "-o", tmp_path / "two")
    assert "nothing was drawn" in second.out.replace("\n", " ")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_quiet_is_quiet(gridveil, tmp_path):
    outcome = gridveil("release", "case14_ieee", "-q", "-o", tmp_path / "out")
    assert outcome.out == ""
    assert outcome.status == 0


def test_plain_progress_is_lines_for_a_log(gridveil, tmp_path):
    outcome = gridveil(
        "release", "case14_ieee", "--plain", "--method", "admm", "-o", tmp_path / "out"
    )
    lines = [line for line in outcome.err.splitlines() if " s  " in line]
    told = [line.split(" s  ")[1] for line in lines]
    assert told[:3] == ["privacy phase", "private costs", "fidelity phase"]
    assert told[-2:] == ["verification", "report"]
    assert "\x1b" not in outcome.err


def test_a_dry_run_touches_nothing(gridveil, tmp_path):
    before = sorted(tmp_path.iterdir())
    for options, unit, median, deviation in (
        ((), "% of the load", 13.5, 14.4),
        (("--hide", "10MVA"), "MVA", 13.5, 14.1),
        (("--alpha", "0.1", "--mechanism", "polar-laplace"), "MVA", 16.8, 17.3),
    ):
        outcome = gridveil("release", "case39_epri", "--dry-run", "--json", *options)
        figures = json.loads(outcome.out)
        assert (figures["charge"], figures["noise_unit"]) == (1.0, unit)
        assert figures["noise_median"] == pytest.approx(median, abs=0.3)
        assert figures["noise_p_standard_deviation"] == pytest.approx(deviation, abs=0.3)
    assert sorted(tmp_path.iterdir()) == before
    assert "nothing is drawn" in gridveil("release", "case39_epri", "--dry-run").out


def test_options_from_a_file(gridveil, tmp_path):
    path = tmp_path / "release.toml"
    path.write_text('epsilon = 0.5\nalpha = "0.2"\nmethod = "central"\nrelease-id = "mine"\n')
    outcome = gridveil(
        "release",
        "case14_ieee",
        "--config",
        path,
        "--alpha",
        "0.1",
        "-o",
        tmp_path / "out",
        "--json",
    )
    told = json.loads(outcome.out)
    assert told["release_id"] == "mine"
    assert told["protection"]["epsilon"] == 0.5
    assert told["protection"]["alpha_pu"] == 0.1  # the command line comes first
    assert told["fidelity"]["method"] == "central"
    path.write_text("epsilom = 1\n")
    refused = gridveil("release", "case14_ieee", "--config", path, "-o", tmp_path / "x")
    assert refused.status == 2
    assert "no option named 'epsilom'" in refused.err
    path.write_text("epsilon = \n")
    assert gridveil("release", "case14_ieee", "--config", path, "-o", tmp_path / "x").status == 2


def test_published_costs(gridveil, tmp_path):
    table = tmp_path / "costs.csv"
    made = json.loads(gridveil("release", "case14_ieee", "-o", tmp_path / "one", "--json").out)[
        "costs"
    ]
    rows = zip(made["generators"], made["dollars_per_hour"], strict=True)
    table.write_text("generator,cost\n" + "".join(f"{g},{c!r}\n" for g, c in rows))
    arguments = ("release", "case14_ieee", "--costs", table, "-o", tmp_path / "two")
    assert gridveil(*arguments).status == 2  # where were they published?
    outcome = gridveil(*arguments, "--costs-source", "annual report", "--json")
    assert json.loads(outcome.out)["costs"]["provenance"] == "published"
    assert gridveil("verify", tmp_path / "two", "--costs", table).status == 0
    for broken, message in (
        ("generator,price\n1,2\n", "no column cost"),
        ("generator,cost\n99,2\n", "no generator 99"),
        ("generator,cost\n1,x\n", ":2: cost must be a number, not 'x'"),
        ("generator,cost\n1\n", ":2: cost must be a number, not ''"),
        ("generator,cost\n1,nan\n", ":2: cost must be a finite number"),
        ("generator,cost\n1.5,2\n", "no generator 1.5"),
        ("generator,cost\n1,9,501.13\n", ":2: more fields than the first line names"),
        ("generator;cost\n1;2\n", "separated by commas"),
        ("generator,cost\n1,2\n1,2\n", "twice"),
        ("generator,cost\n1,2\n", "no cost for generator"),
    ):
        table.write_text(broken)
        for how in ((), ("--dry-run",)):
            refused = gridveil(
                "release", "case14_ieee", "--costs", table, "--costs-source", "x",
                "-o", tmp_path / "z", *how,
            )  # fmt: skip
            assert refused.status == 2
            assert message in refused.err


def test_declared_load_buses(gridveil, tmp_path):
    buses = tmp_path / "buses.txt"
    buses.write_text("bus\n" + "\n".join(str(n) for n in range(1, 15)))
    outcome = gridveil(
        "release", "case14_ieee", "--load-buses", buses, "-o", tmp_path / "out", "--json"
    )
    assert json.loads(outcome.out)["protection"]["loads"] == 14
    buses.write_text("1\nx\n")
    refused = gridveil("release", "case14_ieee", "--load-buses", buses, "-o", tmp_path / "z")
    assert refused.status == 2
    assert ":2: a bus number" in refused.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name the folder"),
        (("-o", "{tmp}"), "not overwritten"),
        (("-o", "{tmp}/x", "--polish"), "--method admm only"),
        (("-o", "{tmp}/x", "--policy", "paper"), "--method admm only"),
        (
            ("-o", "{tmp}/x", "--costs", "{tmp}/y", "--costs-source", "z", "--cost-budget", "0.5"),
            "y: cannot be read",
        ),
        (
            ("-o", "{tmp}/x", "--costs", "derived", "--declare-public", "costs", "--cost-budget=1"),
            "drop one of both",
        ),
        (("-o", "{tmp}/x", "--declare-public", "costs"), "with --costs derived only"),
        (("-o", "{tmp}/x", "--declare-public", "loads"), "'loads' is not 'costs'"),
        (("-o", "{tmp}/x", "--sign", "{tmp}/none.pem"), "no private key"),
        (("-o", "{tmp}/x", "--costs-source", "y"), "with known --costs only"),
        (("-o", "{tmp}/x", "--mechanism", "piecewise"), "needs public bounds"),
        (("-o", "{tmp}/x", "--epsilon", "4"), "over budget"),
        (("-o", "{tmp}/x", "--beta", "-1"), "beta"),
        (("-o", "{tmp}/x", "--method", "admm", "--band", "total"), "couples all generators"),
        (("-o", "{tmp}/x", "--alpha", "0"), "alpha"),
        (("-o", "{tmp}/file/out"), "cannot write"),
        (("-o", "{tmp}/" + "n" * 250), "cannot write"),
        (("-o", "{tmp}/x", "--release-id", ""), "needs an id"),
        (("-o", "{tmp}/x", "--beta", "-1", "--cost-budget", "0.5"), "beta"),
        (("--dry-run", "--beta", "-1"), "beta"),
    ],
)
def test_mistakes_are_told_before_anything_is_spent(gridveil, tmp_path, arguments, message):
    (tmp_path / "file").write_text("not a folder")
    given = [argument.format(tmp=tmp_path) for argument in arguments]
    outcome = gridveil("release", "case14_ieee", *given)
    assert outcome.status == 2
    assert message in outcome.err.replace("\n", " ")
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "x").exists()
    path = tmp_path / "ledger.sqlite"
    assert not path.exists() or Ledger(path).accounts() == []


def test_raw_loads_stand_in_a_private_report_only(gridveil, tmp_path):
    gridveil("release", "case14_ieee", "-o", tmp_path / "one")
    assert not (tmp_path / "one-private").exists()
    outcome = gridveil("release", "case14_ieee", "--private-report", "-o", tmp_path / "two")
    assert "do not publish" in outcome.out
    text = (tmp_path / "two-private" / "report.html").read_text()
    assert "contains raw data, do not publish" in text
    assert "raw 94.20" in text  # the load of bus 3
    for path in (tmp_path / "two").iterdir():
        assert b"raw 94.20" not in path.read_bytes()


def test_costs_can_be_bought(gridveil, tmp_path):
    outcome = gridveil(
        "release",
        "case39_epri",
        "--hide",
        "10MVA",
        "--cost-budget",
        "0.2",
        "-o",
        tmp_path / "out",
        "--json",
    )
    told = json.loads(outcome.out)
    assert told["costs"]["provenance"] == "private"
    assert told["protection"]["epsilon_costs"] == 0.2
    assert told["protection"]["epsilon"] == 1.0
    assert gridveil("verify", tmp_path / "out").status == 0
    refused = gridveil("release", "case39_epri", "--cost-budget", "1", "-o", tmp_path / "x")
    assert refused.status == 2
    assert "must be below" in refused.err


def test_post_processing_is_asked_for_by_options_or_in_a_file(gridveil, tmp_path):
    listed, options = tmp_path / "consumers.csv", tmp_path / "release.toml"
    listed.write_text("bus\n2\n3\n")
    options.write_text(
        f'consumers = "{listed}"\npower-factor = 0.9\ncorrect_bias = true\nbeta = 0.05\n'
    )
    made = gridveil("release", "case14_ieee", "--config", options, "-o", tmp_path / "out")
    assert made.status == 0
    shown = made.out.replace("\n", " ")
    assert "consumers (2 of 11 loads) is never negative" in shown
    checked = json.loads(gridveil("verify", tmp_path / "out", "--json").out)
    names = {claim["name"] for claim in checked["claims"]}
    assert checked["ok"]
    assert {"power factor of consumers", "correction of the bias"} <= names
    again = gridveil(
        "release", "case14_ieee", "--beta", "0.05", "--consumers", "all", "-o", tmp_path / "all"
    )
    assert "nothing was drawn or charged again" in again.out.replace("\n", " ")
    refused = gridveil("release", "case14_ieee", "--power-factor", "0.9", "-o", tmp_path / "x")
    assert refused.status == 2
    assert "with --consumers only" in refused.err.replace("\n", " ")
