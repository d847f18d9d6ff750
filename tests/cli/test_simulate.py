import json

import pytest

FIELDS = {
    "case", "method", "status", "displacement", "cost_gap_dispatch", "cost_gap_optimal",
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
        assert abs(figures["cost_gap_optimal"]) <= 0.001


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


def test_among_agents(gridveil):
    outcome = gridveil("simulate", "case14_ieee", "--method", "admm", "--compare-central", "--json")
    assert outcome.status == 0
    figures = json.loads(outcome.out)
    assert figures["status"] == "converged"
    assert figures["primal"] <= 1e-5
    assert figures["dual"] <= 1e-5
    assert 10 <= figures["iterations"] <= 5000
    assert figures["iterations_per_second"] > 100
    assert figures["distance_to_central"] <= max(0.01 * figures["central_displacement"], 1e-3)


def test_agents_may_set_out_from_a_power_flow(gridveil):
    study = ("simulate", "case30_ieee", "--method", "admm", "--json", "--unchecked", "--start")
    flat, flow, auto = (
        json.loads(gridveil(*study, start).out) for start in ("flat", "flow", "auto")
    )
    assert flow["displacement"] == pytest.approx(flat["displacement"], abs=1e-3)
    assert flow["iterations"] != flat["iterations"] == auto["iterations"]


def test_the_papers_policy_stops_at_the_iteration_limit(gridveil):
    outcome = gridveil(
        "simulate", "case14_ieee", "--method", "admm", "--policy", "paper", "--max-iterations", 50,
        "--json",
    )  # fmt: skip
    assert outcome.status == 3
    figures = json.loads(outcome.out)
    assert figures["status"] == "iteration_limit"
    assert figures["iterations"] == 50
    assert figures["displacement"] > 0
    assert figures["distance_to_central"] is None


def test_a_study_goes_on_from_its_checkpoint_and_is_polished(gridveil, tmp_path):
    arguments = (
        "simulate", "case14_ieee", "--method", "admm", "--json",
        "--checkpoint", tmp_path / "run.npz",
    )  # fmt: skip
    first = json.loads(gridveil(*arguments, "--max-iterations", 30).out)
    second = json.loads(gridveil(*arguments, "--tolerance", "1e-4", "--polish").out)
    assert first["iterations"] == 30 < second["iterations"]
    assert second["max_violation"] <= 1e-6
    assert second["status"] == "optimal"


def test_in_words_among_agents(gridveil):
    outcome = gridveil("simulate", "case14_ieee", "--method", "admm", "--compare-central")
    assert outcome.status == 0
    assert "the agents agree" in outcome.out
    assert "from the central solution" in outcome.out
    assert "iterations on the CPU, residuals" in " ".join(outcome.out.split())


def test_options_of_the_agents_need_the_agents(gridveil):
    outcome = gridveil("simulate", "case14_ieee", "--polish")
    assert outcome.status == 2
    assert "--polish: means something with --method admm only" in outcome.err


def test_known_costs_spare_the_acopf(gridveil, tmp_path):
    study = ("simulate", "case5_pjm", "--method", "admm", "--json")
    whole = json.loads(gridveil(*study).out)
    assert whole["acopf_seconds"] > 0
    costs = tmp_path / "costs.csv"
    assert gridveil("solve", "case5_pjm", "--save-costs", costs).status == 0
    spared = json.loads(gridveil(*study, "--costs", costs, "--unchecked", "--device", "auto").out)
    assert spared["device"] == "cpu"  # six lines are not worth a GPU
    for name in ("acopf_seconds", "noisy_feasible", "cost_gap_optimal"):
        assert spared[name] is None
    for name in ("cost", "displacement", "primal", "iterations"):
        assert spared[name] == whole[name]


def test_what_was_solved_anyway_is_told(gridveil):
    figures = json.loads(
        gridveil("simulate", "case5_pjm", "--method", "bilevel", "--unchecked", "--json").out
    )
    assert figures["noisy_feasible"] is None
    assert abs(figures["cost_gap_optimal"]) <= 0.01 + 1e-6
