"""Ramp limits from a case file's columns and from a file of their own."""

import numpy as np
import pytest

from gridveil import GridveilError, load_case
from gridveil.opf.ramps import case_ramps, ramp_excess, read_ramps
from gridveil.publication.case_file import blank


def with_columns(tmp_path, columns):
    """Return case5_pjm with more columns in its gen table, up to ramp_30."""
    text = load_case("case5_pjm").case.text
    begin = text.index("mpc.gen = [")
    end = text.index("];", begin)
    rows = [
        row.rstrip().removesuffix(";") + "\t" + "\t".join(map(str, columns)) + ";"
        for row in text[begin:end].splitlines()[1:]
        if row.strip().endswith(";")
    ]
    path = tmp_path / "ramps.m"
    path.write_text(text[:begin] + "mpc.gen = [\n" + "\n".join(rows) + "\n" + text[end:])
    return load_case(path)


def test_the_slowest_of_a_files_columns_counts(tmp_path):
    network = with_columns(tmp_path, [0, 0, 0, 0, 0, 0, 2, 0, 30])  # MW a minute, MW in 30 minutes
    assert case_ramps(network).tolist() == [0.6] * 5  # 60 MW an hour on 100 MVA
    assert case_ramps(blank(network)).tolist() == [0.6] * 5  # public, so it is published


def test_a_file_names_generators_by_their_rows(tmp_path):
    path = tmp_path / "ramps.csv"
    path.write_text("generator,ramp_mw\n2,50\n5,120\n")
    found = read_ramps(path, load_case("case5_pjm"))
    assert found.tolist() == [np.inf, 0.5, np.inf, np.inf, 1.2]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("9,50", "ramps.csv:2: no generator 9 in service"),
        ("2,50\n2,60", "ramps.csv:3: generator 2 stands there twice"),
        ("2,0", "ramps.csv:2: ramp_mw must be above 0"),
        ("2,fast", "ramps.csv:2: ramp_mw must be a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_place(tmp_path, rows, says):
    path = tmp_path / "ramps.csv"
    path.write_text(f"generator,ramp_mw\n{rows}\n")
    with pytest.raises(GridveilError, match=says):
        read_ramps(path, load_case("case5_pjm"))


def test_an_hour_that_is_missing_breaks_no_limit():
    outputs = np.array([[0.0], [1.0], [np.nan], [5.0]])
    assert ramp_excess(outputs, np.array([0.4])) == pytest.approx(0.6)
