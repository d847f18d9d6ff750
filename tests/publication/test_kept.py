"""What is kept of a source file stands behind the tables as it was, and stays what it was."""

from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.publication.kept import kept_text
from tests.cases import TINY


def test_a_comment_stays_one_where_others_end_the_line():
    """MATLAB ends lines at a carriage return; code behind one must not come to life."""
    text = TINY.text() + "% one\rmpc.bus(1, 3) = 0;\x0ctwo\u2028three\n"
    kept = kept_text(parse_matpower(text, "tiny.m", "tiny"), ["comments"])
    assert kept.splitlines() == ["% one", "% mpc.bus(1, 3) = 0;", "% two", "% three"]


def test_names_and_sections_are_told_apart():
    text = TINY.with_(extra="mpc.bus_name = {\n'a';\n};\nmpc.areas = [1 1];\n% note").text()
    case = parse_matpower(text, "tiny.m", "tiny")
    assert kept_text(case, ["names"]) == "mpc.bus_name = {\n\t'a';\n\t};\n"
    assert kept_text(case, ["sections"]) == "mpc.areas = [\n\t1\t1;\n];\n"
    assert kept_text(case, ["comments"]) == "% note\n"
    assert kept_text(case, []) == ""
