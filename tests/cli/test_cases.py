import json

from tests.cases import TINY


def test_cases_are_listed_with_their_sizes(gridveil):
    outcome = gridveil("cases", "case39_epri", "--json")
    assert outcome.status == 0
    expected = {"collection": "PGLib", "buses": 39, "generators": 10, "lines": 46}
    assert json.loads(outcome.out) == [
        {"case": name, **expected}
        for name in ("case39_epri", "case39_epri__api", "case39_epri__sad")
    ]


def test_own_folders_come_first(gridveil, tmp_path, monkeypatch):
    (tmp_path / "my_case5_pjm.m").write_text(TINY.text())
    monkeypatch.setenv("GRIDVEIL_CASES", str(tmp_path))
    outcome = gridveil("cases", "case5_pjm")
    assert outcome.status == 0
    names = [row.split()[1] for row in outcome.out.splitlines() if "case5_pjm" in row]
    assert names == ["my_case5_pjm", "case5_pjm", "case5_pjm__api", "case5_pjm__sad"]
