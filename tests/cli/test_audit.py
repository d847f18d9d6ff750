import json

import pytest


def test_a_sound_mechanism_passes(gridveil):
    outcome = gridveil("audit", "--mechanism", "product-laplace", "--trials", 60_000, "--json")
    figures = json.loads(outcome.out)
    assert figures["mechanism"] == "product-laplace"
    assert figures["epsilon_claimed"] == 1.0
    assert figures["confidence"] == 0.99
    assert figures["trials"] == 60_000
    assert 0.85 <= figures["epsilon_lower_bound"] <= 1.0
    assert outcome.status == 0
    plays = {play["play"]: play for play in figures["plays"]}
    assert {"residues", "support", "rare events", "order of loads", "two forks"} <= set(plays)
    assert not any(play["broken"] for play in plays.values())
    assert any("seed" in limit for limit in figures["not_seen"])


def test_the_papers_piecewise_calibration_fails(gridveil):
    outcome = gridveil(
        "audit", "--mechanism", "piecewise", "--calibration", "paper", "--trials", 10_000
    )
    assert outcome.status == 1
    assert "gives away more than it claims" in outcome.out
    text = " ".join(outcome.out.split())
    assert "does not keep" in text
    assert "shown by: likelihood" in text
    assert "order of loads: whether the first" in text
    assert "What these plays cannot see:" in text


def test_bad_parameters_are_bad_input(gridveil):
    outcome = gridveil("audit", "--mechanism", "polar-laplace", "--epsilon", "0")
    assert outcome.status == 2
    assert "must be above 0" in outcome.err
    assert gridveil("audit", "--mechanism", "none").status == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--epsilon", "1e400"),
        ("--epsilon", "1e-400"),
        ("--alpha", "1e-322"),
        ("--alpha", "x"),
        ("--trials", "100000000000000"),
    ],
)
def test_absurd_numbers_are_bad_input(gridveil, arguments):
    assert gridveil("audit", "--mechanism", "polar-laplace", *arguments).status == 2


def test_fractions_are_numbers(gridveil):
    outcome = gridveil(
        "audit", "--mechanism", "product-laplace", "--alpha", "1/3", "--trials", 2000
    )
    assert outcome.status == 0


def test_rated_noise_is_audited_to_its_claim(gridveil):
    asked = ("--hide", "10%rating", "--rating", "2.5")
    figures = json.loads(gridveil("audit", *asked, "--trials", 20_000, "--json").out)
    assert figures["mechanism"] == "rated-laplace"
    assert 0.8 <= figures["epsilon_lower_bound"] <= 1.0


def test_a_distance_in_pu_is_never_taken_for_a_relative_one(gridveil):
    outcome = gridveil("audit", "--mechanism", "relative-laplace", "--alpha", "0.1")
    assert outcome.status == 2
    assert "say --hide in % of each load" in outcome.err.replace("\n", " ")
