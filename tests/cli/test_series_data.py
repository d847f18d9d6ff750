"""`gridveil profiles`, `gridveil export --to` and `gridveil dataset`."""

import json

from gridveil import load_case, load_series
from tests.publication.series.export.released_folder import write_released


def test_profiles_and_ratings_fit_the_case(gridveil, tmp_path):
    made = gridveil("profiles", "case14_ieee", "--hours", "24", "-o", tmp_path / "loads.parquet")
    assert made.status == 0
    assert "made up" in made.out
    assert load_series(tmp_path / "loads.parquet", "case14_ieee").hours == 24
    hide = ["--hide", "5%rating", "--ratings", tmp_path / "loads-ratings.csv"]
    plan = gridveil("release", "case14_ieee", "--dry-run", *hide, "--ratings-source", "made up")
    assert plan.status == 0, plan.err
    other = gridveil("profiles", "case14_ieee", "-o", tmp_path / "loads.xml")
    assert other.status == 2
    assert ".parquet or .csv" in other.err


def test_a_series_goes_to_another_tool(gridveil, tmp_path):
    write_released(tmp_path / "out", load_case("case5_pjm"), 3)
    made = gridveil("export", tmp_path / "out", "--to", "pypsa", "-o", tmp_path / "psa", "--json")
    assert made.status == 0
    assert json.loads(made.out)["notes"]
    assert (tmp_path / "psa" / "loads-p_set.csv").is_file()
    neither = gridveil("export", tmp_path / "out", "-o", tmp_path / "x")
    assert neither.status == 2
    assert "--into or --to" in neither.err


def test_samples_of_a_release(gridveil, tmp_path):
    write_released(tmp_path / "out", load_case("case5_pjm"), 3)
    command = ["dataset", tmp_path / "samples", "--from", tmp_path / "out", "--scenarios", "4",
               "--own", "0.02", "--workers", "1"]  # fmt: skip
    made = gridveil(*command)
    assert made.status == 0, made.err
    assert "4 of 4 scenarios" in made.out
    assert json.loads(gridveil(*command, "--json").out)["solved"] == 4
    raw = gridveil("dataset", tmp_path / "x", "--from", tmp_path, "--scenarios", "4")
    assert raw.status == 2
    assert "release alone" in raw.err
