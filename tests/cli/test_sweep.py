import csv
import json

STUDY = """
cases = ["case3_lmbd", "case5_pjm"]
alphas = [0.01, 0.1]
methods = ["central", "admm"]
draws = 3
"""


def test_a_study_and_its_summary(gridveil, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    outcome = gridveil("sweep", study, "-o", tmp_path / "out", "--workers", 1)
    assert outcome.status == 0
    lines = json.loads(gridveil("results", study, "-o", tmp_path / "out", "--json").out)
    assert len(lines) == 8
    assert all(line["draws"] == 3 and line["solved"] == 1.0 for line in lines)
    assert all(line["worst_gap_dispatch"] <= 0.01 + 1e-6 for line in lines)
    shown = gridveil("results", study, "-o", tmp_path / "out", "--csv", tmp_path / "rows.csv")
    assert "all: mechanism product-laplace" in shown.out
    assert "0.01" in shown.out
    with (tmp_path / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert {row["seed"] for row in rows} == {"1", "2", "3"}


def test_mistakes(gridveil, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text('cases = ["nowhere"]')
    assert gridveil("results", study, "-o", tmp_path / "none").status == 2
    outcome = gridveil("sweep", study, "-o", tmp_path / "out", "--workers", 1)
    assert outcome.status == 2
    assert "no case named" in outcome.err
    refused = gridveil("sweep", study, "-o", tmp_path / "out", "--tls-ca", "x")
    assert refused.status == 2
    assert "--dask only" in refused.err
