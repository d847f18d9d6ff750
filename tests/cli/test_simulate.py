import json

import pytest

FIELDS = {
    "case", "method", "status", "displacement", "cost_gap_dispatch", "cost_gap_opf",
    "worst_generator_gap", "noisy_feasible", "noisy_cost_gap", "max_violation", "seconds",
}  # fmt: skip


@pytest.mark.parametrize("method", ["central", "bilevel"])
def test_a_study_in_json(gridveil, method):
    outcome = gridveil(
        "simulate", "case57_ieee", "--alpha", "0.1", "--epsilon", "1", "--beta", "0.001",
        "--mechanism", "product-laplace", "--seed", "3", "--method", method, "--json",
    )  # fmt: skip
    figures = json.loads(outcome.out)
    assert outcome.status == 0
    assert set(figures) >= FIELDS
    assert figures["method"] == method
    assert figures["noisy_feasible"] is False
    assert figures["noisy_cost_gap"] is None
    assert figures["max_violation"] <= 1e-6
    if method == "bilevel":
        assert abs(figures["cost_gap_opf"]) <= 0.001


def test_a_seed_repeats_a_study(gridveil):
    one, two = (
        json.loads(gridveil("simulate", "case14_ieee", "--seed", "9", "--json").out)
        for _ in range(2)
    )
    assert one["displacement"] == two["displacement"]


def test_a_study_for_people(gridveil):
    outcome = gridveil(
        "simulate", "case14_ieee", "--mechanism", "piecewise", "--calibration", "paper"
    )
    assert outcome.status == 0
    assert "simulation, not private" in outcome.out
    assert "optimal cost of the restored network" in outcome.out


def test_bad_parameters_are_bad_input(gridveil):
    assert gridveil("simulate", "case14_ieee", "--beta", "x").status == 2
    assert gridveil("simulate", "case14_ieee", "--alpha", "0").status == 2
