"""Which format a file has, and formats that another package adds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gridveil import CaseError, GridveilError, load_case, save_case
from gridveil.network.formats.base import CaseFormat
from gridveil.network.formats.registry import FORMATS, format_for, format_of
from gridveil.network.library import find_case
from tests.cases import TINY

FOREIGN = '''
"""A format of another package: MATPOWER's tables as JSON."""

import json

import numpy as np

from gridveil.files import write_atomically
from gridveil.network.formats.base import CaseFormat, first_bytes
from gridveil.network.from_case import network_from_tables


class TablesFormat(CaseFormat):
    name = "tables"
    suffixes = (".tables", ".json")

    def recognises(self, path):
        return first_bytes(path, 9) == b'{"tables"'

    def read(self, path, load_buses=None):
        found = json.loads(path.read_text())
        tables = {name: np.array(rows) for name, rows in found["tables"].items()}
        return network_from_tables(tables, found["base_mva"], path.stem, load_buses)

    def write(self, network, path):
        tables = {name: table.values.tolist() for name, table in network.case.tables.items()}
        text = json.dumps({"tables": tables, "base_mva": network.base_mva})
        write_atomically(path, text.encode())


class Incomplete(CaseFormat):
    name = "incomplete"
    suffixes = (".incomplete",)


class Other(TablesFormat):
    pass


class Failing(TablesFormat):
    name = "failing"
    suffixes = (".failing",)

    def recognises(self, path):
        raise OSError("no")

    def read(self, path, load_buses=None):
        raise ValueError("could not convert 21.7")
'''


@pytest.fixture
def installed(tmp_path):
    """Install the package; return how to run Python with it there."""

    def install(*entry_points):
        site = tmp_path / "site"
        info = site / "other_formats-1.0.dist-info"
        info.mkdir(parents=True)
        (site / "other_formats.py").write_text(FOREIGN)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-formats\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("\n".join(["[gridveil.formats]", *entry_points]))
        path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])

        def run(*arguments):
            return subprocess.run(
                [sys.executable, *map(str, arguments)],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": path},
            )

        return run

    return install


def test_a_format_of_another_package_is_read_and_saved(installed, tmp_path):
    run = installed("tables = other_formats:TablesFormat")
    (tmp_path / "tiny.m").write_text(TINY.text())
    script = """
from gridveil import load_case, save_case
network = load_case("tiny.m")
save_case(network, "copy.tables")
again = load_case("copy.tables")
assert again == network, "the same network in another file"
assert load_case("copy.tables", load_buses=[1, 2, 7]).load_buses == [1, 2, 7]
save_case(again, "back.m")
assert load_case("back.m") == network
"""
    done = run("-c", script)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy.tables").read_text().startswith('{"tables"')
    assert (tmp_path / "back.m").read_text().startswith("function mpc")
    solved = run("-m", "gridveil", "solve", "copy.tables")
    assert solved.returncode == 0, solved.stderr
    assert "3 buses, 2 loads, 2 generators, 3 lines" in solved.stdout


def test_where_formats_share_a_suffix_the_content_decides(installed, tmp_path):
    run = installed("tables = other_formats:TablesFormat")
    (tmp_path / "tiny.m").write_text(TINY.text())
    script = """
from pathlib import Path
from gridveil import load_case, save_case
save_case(load_case("tiny.m"), "copy.tables")
Path("copy.tables").rename("copy.json")
assert load_case("copy.json") == load_case("tiny.m")
"""
    done = run("-c", script)
    assert done.returncode == 0, done.stderr


def test_a_format_that_does_not_keep_to_the_interface_is_named(installed, tmp_path):
    run = installed("bad = other_formats:Incomplete", "gone = other_formats:Missing")
    (tmp_path / "tiny.m").write_text(TINY.text())
    (tmp_path / "case.incomplete").write_text("?")
    assert run("-m", "gridveil", "solve", "tiny.m").returncode == 0, "others are not affected"
    done = run("-m", "gridveil", "solve", "case.incomplete")
    assert done.returncode == 2
    assert "does not define read, recognises, write" in done.stderr


def test_ours_are_subclasses_under_their_own_name():
    for name in filter(FORMATS.is_ours, FORMATS.names):
        assert issubclass(FORMATS.get(name), CaseFormat)
        assert FORMATS.get(name).name == name


@pytest.mark.parametrize(
    ("name", "content", "looks"),
    [
        ("case.pwb", b"\x01\x02\0PW", "a PowerWorld case: save it there as PSS/E raw data"),
        ("case.sav", b"\0\0", "a saved case of PSS/E: save it there as raw data"),
        ("case.data", b"%PDF-1.7", "a PDF document"),
        ("case.json", b'{"nodes": []}', "JSON"),
        ("case.data", b"Dear colleague", "plain text"),
        ("case.data", b"\x01\0\x02", "binary data"),
        ("case.data", b"", "an empty file"),
    ],
)
def test_a_file_of_no_format_is_told_what_it_looks_like(name, content, looks, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CaseError) as caught:
        load_case(path)
    assert str(caught.value).startswith(f"{path}: not a case file: it looks like {looks}")
    for suffix in (".m", ".json", ".raw", ".zip", ".xiidm", ".uct", ".ieee", ".mat"):
        assert suffix in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("case.raw", "0, 100.0, 33\n\n\n"),
        ("case.xiidm", '<iidm:network xmlns:iidm="http://www.powsybl.org/schema/iidm/1_12"/>'),
        ("case.uct", "##C\n##N\n##L\n"),
    ],
)
def test_a_missing_extra_is_told_with_the_command(name, content, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pypowsybl", None)
    (tmp_path / name).write_text(content + "0 /\n" * 25)
    with pytest.raises(GridveilError, match=r"pip install 'gridveil\[formats\]'"):
        load_case(tmp_path / name)


@pytest.mark.parametrize("name", ["net.raw", "net.xml", "net.zip", "net.mat", "net.xiidm"])
def test_a_missing_file_is_no_missing_name(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GridveilError, match=f"{name}: no such file"):
        load_case(name)


def test_a_folder_without_profiles_is_none(tmp_path):
    (tmp_path / "case.m").write_text(TINY.text())
    with pytest.raises(GridveilError, match="is a folder, not a case file"):
        load_case(tmp_path)


def test_formats_that_are_only_read_say_so(tmp_path):
    with pytest.raises(GridveilError, match="psse files are not written from nothing"):
        save_case(TINY.network(), tmp_path / "case.raw")
    assert not (tmp_path / "case.raw").exists()


def test_content_decides_where_no_format_has_the_suffix(tmp_path):
    path = tmp_path / "case.txt"
    path.write_text(TINY.text())
    assert format_of(path).name == "matpower"
    assert load_case(path) == TINY.network()


def test_a_broken_file_goes_to_the_format_of_its_suffix(tmp_path):
    path = tmp_path / "case.m"
    path.write_text("Dear colleague,\n")
    assert format_of(path).name == "matpower"
    with pytest.raises(CaseError, match="cannot read 'Dear colleague,'"):
        load_case(path)


def test_the_suffix_decides_what_is_written(tmp_path):
    assert format_for(Path("case.M")).name == "matpower"
    assert format_for(Path("case.json")).name == "pandapower"
    save_case(TINY.network(), tmp_path / "case.txt")
    assert (tmp_path / "case.txt").read_text() == TINY.text(), "MATPOWER's where no format has it"


def test_every_pglib_case_is_recognised():
    matpower = FORMATS.get("matpower")()
    for name in ("case3_lmbd", "case118_ieee", "case1354_pegase", "case30000_goc"):
        assert matpower.recognises(find_case(name))


def test_a_name_that_ends_as_a_file_does_is_a_path(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("tiny.m").write_text(TINY.text())
    assert load_case("tiny.m") == TINY.network()
    for name in ("none.m", "none.json"):
        with pytest.raises(Exception, match=f"{name}: no such file"):
            load_case(name)


def test_broken_packages_stop_nothing_that_does_without_them(installed, tmp_path):
    site = tmp_path / "site"
    run = installed(
        "gone = other_formats:Missing",
        "leaving = leaving:Format",
        "failing = other_formats:Failing",
    )
    (site / "leaving.py").write_text("raise SystemExit('not today')\n")
    (tmp_path / "tiny.m").write_text(TINY.text())
    script = """
from gridveil import load_case, save_case
network = load_case("tiny.m")
save_case(network, "copy.txt")
assert load_case("copy.txt") == network
try:
    load_case("no.such.name")
except Exception as error:
    assert "no case named" in str(error), error
"""
    done = run("-c", script)
    assert done.returncode == 0, done.stderr


def test_what_a_reader_raises_may_show_loads_and_is_not_passed_on(installed, tmp_path):
    run = installed("failing = other_formats:Failing")
    (tmp_path / "case.failing").write_text("?")
    script = """
from gridveil import GridveilError, load_case
try:
    load_case("case.failing")
except GridveilError as error:
    assert error.__cause__ is None and error.__context__ is None
    print(error)
"""
    done = run("-c", script)
    assert done.returncode == 0, done.stderr
    assert "format 'failing' cannot read this file: ValueError in line" in done.stdout
    assert "21.7" not in done.stdout


def test_a_name_that_two_packages_have_is_refused(installed, tmp_path):
    run = installed("tables = other_formats:TablesFormat")
    info = tmp_path / "site" / "rival-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[gridveil.formats]\ntables = other_formats:Other\n")
    done = run("-c", "from gridveil import FORMATS; FORMATS.get('tables')")
    assert "'tables' is in several packages: other-formats, rival" in done.stderr
