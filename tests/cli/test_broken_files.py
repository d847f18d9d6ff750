"""Broken case files of every kind: a clear error with its place, exit status 2, no traceback."""

import subprocess
import sys

import pytest

from tests.cases import TINY, Case, bus, gen, line, polynomial

TEXT = TINY.text()
PWL_FALLING = [1, 0, 0, 3, 0, 0, 10, 100, 20, 150]


def cell(table: str, row: int, column: int, value: float | str) -> str:
    return TINY.with_cell(table, row, column, value).text()


def tables(**changed: object) -> str:
    return TINY.with_(**changed).text()


def without(name: str) -> str:
    start = TEXT.index(f"mpc.{name} = ")
    end = TEXT.index("];", start) + 2
    return TEXT[:start] + TEXT[end:]


BROKEN: dict[str, tuple[str | bytes, str]] = {
    # Not a case at all.
    "empty": ("", "the file is empty"),
    "blanks": (" \n\t\n" * 1000, "nothing but blanks"),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary data"),
    "binary-without-zeros": (bytes(range(128, 256)) * 50, "cannot read"),
    "comments-only": ("% nothing here\n", "no assignment such as"),
    "prose": ("Dear colleague,\nplease find attached\n", ".m:1: cannot read 'Dear colleague,'"),
    "json": ('{"bus": [1, 2, 3]}', ".m:1: cannot read"),
    "csv": ("bus_i,type,Pd\n1,3,80\n", ".m:1: cannot read"),
    "version-1": ("function [baseMVA, bus, gen] = case9\n", "Only version 2 cases"),
    "version-3": (TEXT.replace("'2'", "'3'"), ".m:2: case format version '3'"),
    "no-version": (TEXT.replace("mpc.version = '2';", ""), "no mpc.version"),
    # Sections.
    "no-base": (TEXT.replace("mpc.baseMVA = 100.0;", ""), "no mpc.baseMVA"),
    "base-text": (TEXT.replace("100.0;", "hundred;", 1), ".m:3: baseMVA: 'hundred' is not"),
    "base-zero": (tables(base_mva=0), "0 is not a positive number"),
    "base-negative": (tables(base_mva=-100), "-100 is not a positive number"),
    "base-nan": (tables(base_mva="NaN"), "NaN is not a positive number"),
    "no-bus": (without("bus"), "the file has no mpc.bus"),
    "no-gen": (without("gen"), "the file has no mpc.gen"),
    "no-branch": (without("branch"), "the file has no mpc.branch"),
    "bus-empty": (tables(bus=[]), "bus: the table is empty"),
    "gen-empty": (tables(gen=[], gencost=[]), "gen: the table is empty"),
    "bus-twice": (TEXT + "\nmpc.bus = [\n];\n", "assigned a second time (first in line 4)"),
    # Syntax.
    "cut-in-a-row": (TEXT[: TEXT.index("\t50.0")], ".m:4: mpc.bus is not closed before the end"),
    "cut-in-a-table": (TEXT[: TEXT.index("mpc.gen = ") - 4], "is not closed before the end"),
    "bracket-missing": (TEXT.replace("];", "", 1), "mpc.bus is not closed before this line"),
    "transposed": (TEXT.replace("];", "]';", 1), "after ']'. MATLAB code is not run"),
    "code": (TEXT + "\nmpc.bus(:, 3) = 2 * mpc.bus(:, 3);\n", "MATLAB code is not run"),
    "call": (TEXT + "\ndefine_constants;\n", "cannot read 'define_constants;'"),
    "expression": (cell("branch", 0, 3, "1/3"), "branch row 1, column x: '1/3' is not a number"),
    "unclosed-cell": (TEXT + "\nmpc.bus_name = {\n'a';\n", "mpc.bus_name is not closed"),
    # Numbers and counts.
    "text-for-number": (cell("gen", 1, 8, "abc"), ".m:11: gen row 2, column Pmax: 'abc' is not a"),
    "text-for-load": (cell("bus", 1, 2, "abc"), ".m:6: bus row 2, column Pd: not a number"),
    "two-points": (cell("branch", 0, 2, "0.1.2"), "column r: '0.1.2' is not a number"),
    "decimal-comma": (cell("branch", 0, 2, "0,1"), "branch row 1: looks like decimal commas"),
    "nan": (cell("branch", 0, 2, "NaN"), "branch row 1, column r: nan is not finite"),
    "infinite": (cell("bus", 1, 11, "Inf"), "bus row 2, column Vmax: inf is not finite"),
    "row-short": (tables(bus=[TINY.bus[0], TINY.bus[1][:-1], TINY.bus[2]]), "bus row 2: 12"),
    "row-long": (tables(gen=[TINY.gen[0], [*TINY.gen[1], 0.0]]), "gen row 2: 11 columns"),
    "columns-missing": (tables(bus=[row[:8] for row in TINY.bus]), "8 columns, but a version 2"),
    "costs-missing": (tables(gencost=TINY.gencost[:1]), "no cost for gen row 2"),
    "costs-too-many": (tables(gencost=[polynomial(1.0, 0.0)] * 3), "3 rows for 2 generators"),
    "cost-count": (cell("gencost", 0, 3, 9), "column n: 9 needs 9 numbers"),
    "cost-model": (cell("gencost", 0, 0, 7), "7 is no cost model"),
    "cost-not-convex": (tables(gencost=[PWL_FALLING, polynomial(1.0)]), "not convex"),
    # Nonsense.
    "duplicate-bus": (cell("bus", 2, 0, 2), ".m:7: bus row 3, column bus_i: bus 2 is already in"),
    "fractional-bus": (cell("bus", 2, 0, 2.5), "this is not a positive whole number"),
    "bus-type": (cell("bus", 2, 1, 9), "this is no bus type"),
    "branch-to-nowhere": (cell("branch", 1, 1, 99), ".m:19: branch row 2, column tbus: there"),
    "gen-nowhere": (cell("gen", 1, 0, 99), "gen row 2, column bus: there is no bus 99"),
    "loop": (cell("branch", 1, 1, 2), "the line starts and ends at bus 2"),
    "voltages-crossed": (cell("bus", 1, 11, 0.5), "column Vmin: 0.9 is above Vmax, 0.5"),
    "outputs-crossed": (cell("gen", 0, 9, 999), "column Pmin: 999 is above Pmax, 200"),
    "angles-crossed": (cell("branch", 0, 11, 45), "column angmin: 45 is above angmax, 30"),
    "zero-impedance": (tables(branch=[line(1, 2, r=0, x=0), *TINY.branch[1:]]), "r and x are"),
    "rate-negative": (cell("branch", 0, 5, -1), "-1 MVA is negative"),
    "no-reference": (cell("bus", 0, 1, 1), "no reference bus (type 3) among the 3 buses"),
    "two-references": (cell("bus", 2, 1, 3), "bus 7 is a second reference bus"),
    "island-without-reference": (
        tables(
            bus=[*TINY.bus, bus(8, 2)],
            gen=[*TINY.gen, gen(8, 1.0)],
            gencost=[*TINY.gencost, polynomial(1.0, 0.0)],
        ),
        "among the 1 buses connected to bus 8",
    ),
    "load-cut-off": (tables(branch=TINY.branch[2:]), "bus 2 has no path to a generator"),
    "fractional-reference": (cell("gen", 1, 0, 7.5), "there is no bus 7.5"),
    "endless-limit": (
        TINY.with_cell("gen", 0, 8, "Inf").with_cell("gen", 0, 9, "Inf").text(),
        "column Pmin: inf leaves no output",
    ),
    "no-matrix": (without("branch") + "\nmpc.branch = foo;\n", "mpc.branch is not a matrix"),
    "cells-for-matrix": (without("gencost") + "\nmpc.gencost = {};\n", "gencost is not a matrix"),
    "endless-cost": (cell("gencost", 0, 3, "Inf"), "inf is not a whole number"),
    "two-functions": (TEXT + "\nfunction mpc = other\n", "a second function"),
    # Not supported, by name.
    "dc-line": (tables(extra="mpc.dcline = [\n1 2 1 10 8.9;\n];"), "DC lines are not supported"),
    "dc-grid": (tables(extra="mpc.branchdc = [1 2];"), "mpc.branchdc (a DC grid) is not supported"),
    "storage": (tables(extra="mpc.storage = [1 2];"), "mpc.storage (storage) is not supported"),
    "reactive-costs": (tables(gencost=[*TINY.gencost, *TINY.gencost]), "costs of reactive power"),
}  # fmt: skip


def test_there_are_at_least_forty_kinds():
    assert len(BROKEN) >= 40


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file(name, gridveil, tmp_path):
    content, says = BROKEN[name]
    path = tmp_path / "broken.m"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = gridveil("solve", path)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert says in outcome.err
    assert str(path) in outcome.err
    assert "Traceback" not in outcome.err


def test_the_case_they_are_made_from_is_good(gridveil, tmp_path):
    path = tmp_path / "good.m"
    path.write_text(TEXT)
    assert gridveil("solve", path).status == 0


def test_200_megabytes_of_blanks(tmp_path):
    path = tmp_path / "blanks.m"
    with path.open("wb") as file:
        for _ in range(200):
            file.write(b" " * (1 << 19) + b"\n" * (1 << 19))
    done = subprocess.run(
        [sys.executable, "-m", "gridveil", "solve", path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "nothing but blanks" in done.stderr
    assert "Traceback" not in done.stderr


def test_many_problems_are_cut_but_counted(gridveil, tmp_path):
    many = Case(
        bus=[bus(1, 3), *(bus(n, 1) for n in range(2, 60))],
        gen=TINY.gen[:1],
        branch=[line(1, n, r=0.0, x=0.0) for n in range(2, 60)],
        gencost=TINY.gencost[:1],
    )
    path = tmp_path / "many.m"
    path.write_text(many.text())
    outcome = gridveil("solve", path)
    assert outcome.err.count("r and x are") == 20
    assert "and 38 more problems" in outcome.err
