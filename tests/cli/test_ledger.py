"""`gridveil ledger`: budgets, caps, groups, history, checks, pages."""

import json
import shutil
import sqlite3

import pytest

from gridveil import Ledger, ledger, release

NETWORK = "pglib_opf_case5_pjm"


@pytest.fixture
def place(tmp_path, monkeypatch):
    path = tmp_path / "ledger.sqlite"
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(path))
    return path


@pytest.fixture
def folder(place, tmp_path):
    """A release of case5_pjm in a folder."""
    release("case5_pjm", place, hide="10MVA", beta=0.1).save(tmp_path / "out")
    return tmp_path / "out"


def test_a_new_ledger_says_so_before_the_draw_and_in_the_certificate(gridveil, place, tmp_path):
    says = "no earlier release of any load is known here"
    first = gridveil("release", "case5_pjm", "--beta", "0.1", "-o", tmp_path / "one")
    assert says in first.err.replace("\n", " ")
    certificate = json.loads((tmp_path / "one" / "certificate.json").read_text())
    [row] = certificate["ledgers"]
    assert row["earlier"] == "this ledger knew no earlier release of any load"
    second = gridveil("release", "case5_pjm", "--epsilon", "0.5", "--beta", "0.1", "-o",
                      tmp_path / "two")  # fmt: skip
    assert says not in second.err.replace("\n", " ")
    certificate = json.loads((tmp_path / "two" / "certificate.json").read_text())
    assert certificate["ledgers"][0]["earlier"] == "this ledger knew earlier releases"
    assert certificate["ledgers"][0]["ledger"] == row["ledger"]


def test_budgets_groups_and_history_are_shown(gridveil, folder):
    loads = ("--load", "bus 2", "--load", "bus 3")
    assert gridveil("ledger", "group", "smelter", "--register", NETWORK, *loads).status == 0
    assert gridveil("ledger", "cap", "2.5", "--register", NETWORK, "--group", "smelter",
                    "--reason", "both halls").status == 0  # fmt: skip
    assert gridveil("ledger", "cap", "2", "--register", NETWORK, "--load", "bus 4").status == 0
    shown = json.loads(gridveil("ledger", "show", "--json").out)
    loads = [(a["key"], a["spent"], a["cap"], a["distance"], a["groups"]) for a in shown["loads"]]
    assert loads == [
        ("bus 2", 1.0, 3.0, 10.0, "smelter"),
        ("bus 3", 1.0, 3.0, 10.0, "smelter"),
        ("bus 4", 1.0, 2.0, 10.0, ""),
    ]
    assert [(g["key"], g["spent"], g["cap"]) for g in shown["groups"]] == [("smelter", 2.0, 2.5)]
    rows = json.loads(gridveil("ledger", "history", "--json").out)
    assert [row["what"] for row in rows] == [
        "opened", "register", "distance", "release", "group", "cap", "cap",
    ]  # fmt: skip
    assert "both halls" in gridveil("ledger", "history").out
    outcome = gridveil(
        "release",
        "case5_pjm",
        "--hide",
        "10MVA",
        "--release-id",
        "again",
        "-o",
        folder.parent / "x",
    )
    assert outcome.status == 2
    assert "smelter" in outcome.err
    assert "bus 4" not in outcome.err


def test_a_ledger_that_was_changed_by_hand_is_found(gridveil, folder, place):
    assert gridveil("ledger", "check").status == 0
    with sqlite3.connect(place) as database:
        database.execute("UPDATE sums SET epsilon = '1/2'")
    outcome = gridveil("ledger", "check")
    assert outcome.status == 1
    assert "is not the sum of their charges" in outcome.out.replace("\n", " ")
    assert not json.loads(gridveil("ledger", "check", "--json").out)["ok"]


@pytest.mark.parametrize("what", ["check", "show", "history", "compare", "page"])
def test_nothing_is_said_of_a_ledger_that_is_not_there(gridveil, folder, tmp_path, what):
    """No row of it is made up, and no release is said to be missing in it."""
    before = sorted(tmp_path.iterdir())
    further = {"compare": (folder,), "page": ("-o", tmp_path / "page.html")}.get(what, ())
    mistyped = ("--ledger", tmp_path / "mistyped.sqlite")
    outcome = gridveil("ledger", what, *further, *mistyped)
    assert outcome.status == 2
    assert "there is no ledger to look at" in outcome.err.replace("\n", " ")
    assert outcome.out == ""
    assert sorted(tmp_path.iterdir()) == before


def test_a_ledger_that_was_opened_a_moment_ago_is_there(place):
    book = Ledger(place)
    assert ledger.show(book) == []
    assert [event.kind for event in ledger.history(book)] == ["opened"]
    release("case5_pjm", book, beta=0.1)
    assert ledger.check(book).ok


def test_a_ledger_that_was_turned_back_is_found(gridveil, folder, place, tmp_path):
    backup = tmp_path / "backup.sqlite"
    shutil.copy(place, backup)
    for name in ("second", "third"):
        release("case5_pjm", place, beta=0.1, release_id=name).save(tmp_path / name)
        shutil.copy(backup, place)
    assert gridveil("ledger", "compare", folder).status == 0
    for folders in ((tmp_path / "second",), (tmp_path / "second", tmp_path / "third")):
        outcome = gridveil("ledger", "compare", folder, *folders, "--json")
        assert outcome.status == 1
        states = [row["state"] for row in json.loads(outcome.out)]
        assert states == ["in the ledger", *["not in the ledger any more"] * len(folders)]
    place.unlink()  # who has the certificates alone
    both = ("ledger", "compare", tmp_path / "second", tmp_path / "third")
    assert gridveil(*both, "--alone").status == 1
    assert gridveil("ledger", "compare", tmp_path / "second", "--alone").status == 0
    assert gridveil(*both).status == 2
    assert gridveil(*both, "--alone", "--ledger", backup).status == 2
    assert not place.exists()


def test_a_copy_goes_on_with_the_same_identity_and_budget(gridveil, folder, place, tmp_path):
    target = tmp_path / "copy.sqlite"
    assert gridveil("ledger", "copy", target).status == 0
    outcome = gridveil("ledger", "copy", target)
    assert outcome.status == 2
    assert "nothing is copied over it" in outcome.err.replace("\n", " ")
    both = [
        json.loads(gridveil("ledger", "show", "--json", "--ledger", path).out)
        for path in (place, target)
    ]
    assert both[0] == both[1]
    assert gridveil("ledger", "compare", folder, "--ledger", target).status == 0


def test_the_page_has_a_bar_for_each_load_and_no_load(gridveil, folder, tmp_path):
    assert gridveil("ledger", "page", "-o", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('class="bar') == 3
    assert "bus 2: spent ε = 1 of 3 at 10 MVA, 2 left" in page


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("cap", "1", "--register", "south"), "there is no register 'south'"),
        (("cap", "1", "--register", NETWORK, "--load", "bus 99"), "has no load 'bus 99'"),
        (("cap", "-1"), "must not be negative"),
        (("cap", "x"), "cap"),
        (("cap", "1", "--load", "bus 2"), "needs the register"),
        (("cap", "1", "--register", NETWORK, "--distance", "0"), "must be above 0"),
        (("group", "g", "--register", NETWORK, "--load", "bus 99"), "has no load 'bus 99'"),
        (("register", "case14_ieee", "--new-register", NETWORK), "already"),
        (("add", "bus 2", "--register", NETWORK, "--reason", "x"), "has a load 'bus 2'"),
        (("compare", "nowhere"), "No such file"),
        (("grant", "auditor"), "only a ledger in a database has roles"),
    ],
)
def test_mistakes_are_told(gridveil, folder, arguments, says):
    if arguments[1] == "-1":
        arguments = ("cap", "--", "-1")
    outcome = gridveil("ledger", *arguments)
    assert outcome.status == 2
    assert says in outcome.err.replace("\n", " ")
