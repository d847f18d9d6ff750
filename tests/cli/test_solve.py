import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import TINY


def test_a_solved_case_is_shown(gridveil):
    outcome = gridveil("solve", "case39_epri")
    assert outcome.status == 0
    assert "138,415.56" in outcome.out
    assert "39 buses, 21 loads, 10 generators, 46 lines" in outcome.out
    assert max(len(row) for row in outcome.out.splitlines()) <= 80


def test_json_is_one_object(gridveil):
    outcome = gridveil("solve", "case5_pjm", "--json")
    figures = json.loads(outcome.out)
    assert outcome.status == 0
    assert figures["case"] == "case5_pjm"
    assert figures["status"] == "optimal"
    assert figures["cost"] == pytest.approx(17551.89, abs=0.01)
    assert 0 <= figures["max_violation"] <= 1e-6
    assert figures["build_seconds"] > 0
    assert figures["solve_seconds"] > 0
    assert figures["diagnosis"] is None


@pytest.fixture
def overloaded(tmp_path):
    path = tmp_path / "overloaded.m"
    path.write_text(TINY.with_cell("bus", 1, 2, 900.0).text())
    return path


def test_an_infeasible_case_is_explained(gridveil, overloaded):
    outcome = gridveil("solve", overloaded)
    assert outcome.status == 3
    assert "no feasible point was found" in outcome.out
    assert "short of generation" in outcome.out
    assert "above Pmax" in outcome.out


def test_an_infeasible_case_in_json(gridveil, overloaded):
    outcome = gridveil("solve", overloaded, "--json")
    figures = json.loads(outcome.out)
    assert outcome.status == 3
    assert figures["status"] == "infeasible"
    assert figures["cost"] is None
    assert figures["max_violation"] > 1
    assert "generation" in figures["diagnosis"]["lacks"]
    assert "generator" in figures["diagnosis"]["worst"][0]


def test_an_unknown_case_is_bad_input(gridveil):
    outcome = gridveil("solve", "case39_epry")
    assert outcome.status == 2
    assert "Did you mean" in outcome.err


def test_a_wrong_option_is_bad_input(gridveil):
    assert gridveil("solve", "case5_pjm", "--jsn").status == 2


def test_the_installed_command_and_the_module_run():
    installed = Path(sys.executable).parent / "gridveil"
    for command in ([installed], [sys.executable, "-m", "gridveil"]):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("gridveil 0.")
