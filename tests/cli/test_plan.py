"""`gridveil plan`: words and figures of what a release will look like."""

import json
import stat

import pytest


@pytest.fixture(autouse=True)
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


def test_a_forecast_for_people(gridveil, ledger):
    outcome = gridveil("plan", "case14_ieee", "--draws", "3")
    assert outcome.status == 0
    assert outcome.out.startswith("PRIVATE: computed from your raw loads")
    for text in ("Half of the released loads will be within", "half the ε", "optimal cost"):
        assert text in outcome.out
    assert not ledger.exists()


def test_a_forecast_in_json(gridveil):
    outcome = gridveil("plan", "case14_ieee", "--hide", "5MVA", "--draws", "2", "--json")
    figures = json.loads(outcome.out)
    assert figures["private"] is True
    assert figures["asked"]["hides"] == "5 MVA of each load"
    assert figures["asked"]["charge"] == 1
    forecast = figures["asked"]["forecast"]
    assert set(forecast["noise"]["median_relative"]) == {"median", "low", "high"}
    assert forecast["restoring"]["feasible"]["trials"] == 2
    names = [one["name"] for one in figures["neighbours"]]
    assert names == ["half the ε", "twice the ε", "half the distance"]


def test_progress_for_a_log_says_how_long_it_takes(gridveil):
    outcome = gridveil("plan", "case5_pjm", "--draws", "2", "--plain")
    assert "simulated release 1 of 8" in outcome.err
    assert "simulated release 8 of 8, about 0 s left" in outcome.err


def test_from_public_numbers(gridveil):
    outcome = gridveil("plan", "case14_ieee", "--from", "public", "--quick")
    assert outcome.status == 0
    assert outcome.out.startswith("not private")
    assert "noise alone" in outcome.out


@pytest.mark.parametrize("source", ["own", "public"])
def test_a_page_is_for_its_owner_where_it_is_private(gridveil, tmp_path, source):
    page = tmp_path / "page.html"
    assert gridveil("plan", "case14_ieee", "--quick", "--from", source, "-o", page).status == 0
    text = page.read_text(encoding="utf-8")
    assert ("PRIVATE" in text) == (source == "own")
    assert "Content-Security-Policy" in text
    others = stat.S_IRGRP | stat.S_IROTH
    assert bool(page.stat().st_mode & others) == (source == "public")


def test_bad_input(gridveil):
    assert gridveil("plan", "case14_ieee", "--hide", "10").status == 2
    assert gridveil("plan", "case14_ieee", "--from", "theirs").status == 2
    assert gridveil("plan", "case14_ieee", "--draws", "0").status == 2
    assert gridveil("plan", "case14_ieee", "--epsilon", "9", "--quick").status == 2
    assert gridveil("plan", "case14_ieee", "--tolerance", "1").status == 2
