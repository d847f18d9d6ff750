"""The reader of the MATPOWER format: what it takes, and that the text survives."""

import re
from pathlib import Path
from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gridveil.network.case_file import Edit
from gridveil.network.checks import check_case
from gridveil.network.conversion import build_network, changes
from gridveil.network.formats.matpower_parser import comments_of, parse_matpower, read_matpower
from gridveil.network.formats.matpower_writer import edited_text
from gridveil.network.problems import CaseError, ProblemKind
from tests.cases import TINY


def parse(text):
    return parse_matpower(text, "tiny.m", "tiny")


def test_every_spelling_of_a_matrix_reads_the_same():
    plain = parse(TINY.text())
    rows = [[str(value) for value in row] for row in TINY.bus]
    spellings = [
        "[" + "; ".join(", ".join(row) for row in rows) + "]",
        "[\n" + "\n".join(" ".join(row) for row in rows) + "\n]",
        "[ % a comment; with ] and [ in it\n" + ";\n\n".join("\t".join(row) for row in rows) + "];",
        "["
        + ";".join(" ".join(row[:5]) + " ... more\n  " + " ".join(row[5:]) for row in rows)
        + "]",
        "[\n" + ";\r\n".join(" ".join(row) for row in rows) + ";\r\n];",
    ]
    start = TINY.text().index("mpc.bus = [")
    end = TINY.text().index("];", start) + 2
    for spelling in spellings:
        case = parse(TINY.text()[:start] + "mpc.bus = " + spelling + TINY.text()[end:])
        assert case.tables["bus"].values.tolist() == plain.tables["bus"].values.tolist()


def test_an_edit_hits_its_cell_in_every_spelling():
    text = TINY.text().replace("\t80.0\t20.0", " 80.0, ... half a row\n   20.0")
    case = parse(text)
    edited = edited_text(case, [Edit("bus", 1, "Qd", 33.0), Edit("bus", 1, "Pd", -4.5)])
    assert edited == text.replace(
        " 80.0, ... half a row\n   20.0", " -4.5, ... half a row\n   33.0"
    )


def test_names_notes_and_unknown_sections_survive_and_do_not_matter():
    extra = """
%% names; with = signs [ and { in a comment
mpc.bus_name = {
    'O''Brien % not a comment';
    "{[";
    'three';
};
%{
mpc.bus = [ commented out
%}
mpc.notes.author = 'x'; mpc.notes.year = 2026;
mpc.areas = [ 1 1 ];
"""
    case = parse(TINY.with_(extra=extra).text())
    assert case.tables["bus"].values.tolist() == parse(TINY.text()).tables["bus"].values.tolist()
    assert {"bus_name", "notes.author", "notes.year", "areas"} <= set(case.sections)
    assert edited_text(case, []) == case.text


def test_another_struct_name_and_a_script_without_function_are_read():
    assert len(parse(TINY.text().replace("mpc", "s")).tables["bus"]) == 3
    assert len(parse(TINY.text().partition("\n")[2]).tables["bus"]) == 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_the_bytes_of_a_file_survive(tmp_path: Path, encoding: str):
    data = ("%% Zürich, Malmö\r\n" + TINY.text()).encode(encoding)
    path = tmp_path / "case.m"
    path.write_bytes(data)
    case = read_matpower(path)
    assert edited_text(case, []).encode("utf-8", "surrogateescape") == data


def test_errors_carry_file_line_and_field():
    with pytest.raises(CaseError) as error:
        parse(TINY.with_cell("gen", 1, 8, "abc").text())
    assert str(error.value) == "tiny.m:11: gen row 2, column Pmax: 'abc' is not a number"
    (problem,) = error.value.problems
    assert (problem.component, problem.row, problem.field) == ("gen", 2, "Pmax")
    assert (problem.value, problem.line) == ("abc", 11)


def test_all_bad_numbers_are_told_at_once():
    case = TINY.with_cell("gen", 1, 8, "abc").with_cell("branch", 0, 3, "1/3")
    with pytest.raises(CaseError) as error:
        parse(case.with_cell("gencost", 0, 5, "1_0").text())
    assert [p.component for p in error.value.problems] == ["gen", "gencost", "branch"]


@pytest.mark.parametrize("column", range(13))
def test_no_message_shows_a_load(column: int):
    """Nor any other number of the bus table: where columns are shifted, it may be a load."""
    with pytest.raises(CaseError) as error:
        parse(TINY.with_cell("bus", 1, column, "123.456.7").text())
    assert "123" not in str(error.value)
    assert error.value.problems[0].value is None
    with pytest.raises(CaseError) as error:
        parse(TINY.text().replace("mpc.bus = [\n", "mpc.bus = [];\n"))
    assert "80.0" not in str(error.value)


@pytest.mark.parametrize(
    "code",
    ["Pd94.2 here", "x942kW", "load(942)", "0x1.78Cp+6", "a ９４２ b", "942,0", "x²942", "1_942"],
)
def test_what_is_quoted_of_code_has_no_digit(code: str):
    with pytest.raises(CaseError, match="cannot read") as error:
        parse(TINY.text() + f"\n{code}\n")
    shown = str(error.value).split("cannot read")[1].split(". MATLAB")[0]
    assert "#" in shown
    assert not any(c.isnumeric() for c in shown)
    assert "78C" not in shown


def with_bus_rows(rows, decimal, between):
    """The text with a bus table whose numbers are spelled otherwise."""
    start = TINY.text().index("mpc.bus = [")
    end = TINY.text().index("];", start)
    lines = [between.join(str(float(v)).replace(".", decimal) for v in row) for row in rows]
    body = ";\n".join(lines)
    return f"{TINY.text()[:start]}mpc.bus = [\n{body}\n{TINY.text()[end:]}"


@pytest.mark.parametrize("between", ["\t", "  ", ", ", " ...\n "])
def test_decimal_commas_are_refused_and_not_read_as_columns(between: str):
    """Shifted columns would be published as shunts."""
    with pytest.raises(CaseError) as error:
        parse(with_bus_rows(TINY.bus, ",", between))
    (problem,) = error.value.problems
    assert (problem.kind, problem.component) == (ProblemKind.SYNTAX, "bus")
    assert (problem.row, problem.line) == (1, 5)
    assert "decimal commas" in problem.reason
    assert not re.search("80|20", str(error.value))


@pytest.mark.parametrize("between", [",", ", ", " , ", "\t", ", ...\n", ",...\n"])
def test_rows_with_one_kind_of_separator_are_read(between: str):
    wanted = parse(TINY.text()).tables["bus"].values.tolist()
    assert parse(with_bus_rows(TINY.bus, ".", between)).tables["bus"].values.tolist() == wanted


@pytest.mark.parametrize("load", ["94", "94.5", "-94.5", "9e1", "0"])
def test_whether_commas_are_decimal_does_not_depend_on_a_load(load: str):
    """A failure before the draw may show nothing of a load."""
    rows = [
        "1,3, 0, 0, 0.0, 0, 1, 1, 0, 230, 1, 2, 0",
        f"2,1, {load}, 9, 0, 0, 1, 1, 0, 230, 1, 2, 0",
    ]
    start = TINY.text().index("mpc.bus = [")
    end = TINY.text().index("];", start)
    with pytest.raises(CaseError) as error:
        parse(f"{TINY.text()[:start]}mpc.bus = [\n{rows[0]};\n{rows[1]};\n{TINY.text()[end:]}")
    (problem,) = error.value.problems
    assert (problem.row, problem.reason.partition(":")[0]) == (2, "looks like decimal commas")


HOSTILE_LINES = {
    "function": lambda size: "function mpc = case" + " " * size + "x",
    "assignment": lambda size: "mpc.x" + " " * size + "x",
    "value": lambda size: "mpc.x = 1" + " " * size + "x",
    "quotes": lambda size: "mpc.x = '" + "'" * size,
    "statements": lambda size: "".join(f"mpc.a{i}=1;" for i in range(size // 11)),
    "continued": lambda size: "mpc.a = [" + "1...\n" * (size // 5) + "];",
    "rows": lambda size: "mpc.a = [" + ";" * size + "];",
    "commas": lambda size: "mpc.bus = [1,1 " + " " * size + ",];",
    "cells": lambda size: "mpc.x = {" + "\n'" * (size // 2) + "};",
}
"""Lines of about a size, made to take long."""


@pytest.mark.parametrize("name", HOSTILE_LINES)
def test_the_time_of_the_reader_grows_no_faster_than_the_text(name: str):
    """With its square, the larger text would take 256 times as long as the smaller one."""

    def seconds(size: int) -> float:
        text = f"mpc.version = '2';\n{HOSTILE_LINES[name](size)}\n"
        start = process_time()
        with pytest.raises(CaseError):
            parse(text)
        return process_time() - start

    small = max(seconds(2**16) for _ in range(3))
    assert seconds(2**20) <= 48 * small + 0.25


@pytest.mark.parametrize("load", ["1,200.5", "1\u00a0200.5", "９４.2", "94\u200b.2"])
def test_separators_of_thousands_and_digits_of_other_scripts_are_no_numbers(load: str):
    with pytest.raises(CaseError, match="bus row 2") as error:
        parse(TINY.with_cell("bus", 1, 2, load).text())
    assert "200" not in str(error.value)


ENDS = ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
"""What may look like the end of a line; the parser goes by the first."""
NUMBERED = TINY.with_(
    bus=[[*row[:6], *(f"{row[0]}{column}.015625" for column in range(11, 18))] for row in TINY.bus]
)
"""Every row of the bus table has numbers that stand nowhere else."""
pieces = st.lists(st.sampled_from([*ENDS, "%", "%{", "%}", "x", " ", "'"]), max_size=6)


@given(st.lists(st.tuples(st.integers(0, len(NUMBERED.text())), pieces), max_size=4))
@example([(0, ["%", "x", "\x0c", "%{", "\n"])])
@settings(max_examples=1000)
def test_no_comment_is_code_that_is_read(inserted):
    text = NUMBERED.text()
    for at, one in sorted(inserted, key=lambda each: each[0], reverse=True):
        text = text[:at] + "".join(one) + text[at:]
    try:
        table = parse(text).tables["bus"]
    except CaseError:
        return
    read = {str(value) for value in table.values.ravel().tolist() if value % 1 == 0.015625}
    assert not read & set(re.findall(r"[0-9.]+", " ".join(comments_of(text))))


characters = st.sampled_from(list("0123456789.;,[]{}%'=()-+eNnaIif \t\n\r\0\x85"))


@given(st.integers(0, len(TINY.text())), st.integers(0, 60), st.text(characters, max_size=12))
@settings(max_examples=1500)
def test_a_damaged_file_is_read_or_refused_and_nothing_else(at, cut, inserted):
    text = TINY.text()[:at] + inserted + TINY.text()[at + cut :]
    try:
        case = parse(text)
    except CaseError:
        return
    problems = check_case(case)
    assert all(str(problem) for problem in problems)
    if not problems:
        assert changes(build_network(case)) == []
    assert edited_text(case, []) == text


def test_a_table_may_follow_a_scalar_on_its_line():
    text = TINY.text().replace("mpc.baseMVA = 100.0;\n", "mpc.baseMVA = 100.0; ")
    case = parse_matpower(text, "tiny.m", "tiny")
    assert case.tables["bus"].values[1, 2] == 80.0
    changed = edited_text(case, [Edit("bus", 1, "Pd", 81.5)])
    assert changed == text.replace("80.0", "81.5", 1)


def test_thousands_of_statements_on_a_line():
    many = " ".join(f"mpc.a{i} = 1;" for i in range(5000))
    text = TINY.text().replace("mpc.baseMVA = 100.0;", f"mpc.baseMVA = 100.0; {many}")
    assert len(parse_matpower(text, "tiny.m", "tiny").tables["bus"]) == 3
