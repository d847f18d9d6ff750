"""Cases by name and path, and their round trip through a file."""

import os
from pathlib import Path

import numpy as np
import pytest

import gridveil
from gridveil.errors import GridveilError
from gridveil.network.formats.matpower_parser import read_matpower
from gridveil.network.library import (
    as_network,
    case_size,
    cases,
    find_case,
    list_cases,
    load_case,
    save_case,
)
from tests.cases import ISOLATED_LOADS, NESTA, NESTA_FILES, TINY, needs_nesta

LARGEST = 3000


def buses(name: str) -> int:
    return int("".join(c for c in name.split("case")[1].split("_")[0] if c.isdigit()))


PGLIB = [e for e in list_cases() if e.collection == "PGLib" and buses(e.name) <= LARGEST]
FILES = [
    *(pytest.param(entry.path, id=entry.name) for entry in PGLIB),
    *(pytest.param(path, id=path.stem) for path in NESTA_FILES),
]


def test_pglib_is_there_whole():
    assert len(PGLIB) == 111
    assert {"case39_epri", "case39_epri__api", "case39_epri__sad"} <= {e.name for e in PGLIB}


@pytest.mark.skipif(not ISOLATED_LOADS.is_file(), reason="the NESTA cases are third-party data")
def test_isolated_buses_are_out_of_service_with_their_loads():
    """As MATPOWER and PowerModels have it; tests/opf holds the file to its published cost."""
    bus = read_matpower(ISOLATED_LOADS).tables["bus"]
    isolated = bus.column("bus_i")[(bus.column("type") == 4) & (bus.column("Pd") != 0)]
    assert len(isolated)
    network = load_case(ISOLATED_LOADS)
    assert not np.isin(isolated, network.buses.number).any()


@pytest.mark.parametrize("path", FILES)
def test_round_trip(path: Path, tmp_path: Path):
    """Unchanged: the same bytes. Changed: only the loads' lines differ, and it reads back equal."""
    network = load_case(path)
    copy = tmp_path / "copy.m"
    save_case(network, copy)
    assert copy.read_bytes() == path.read_bytes()
    assert load_case(copy) == network

    factor = 1 + 0.1 * np.sin(np.arange(len(network.loads)))
    changed = network.with_loads(network.loads.p * factor, network.loads.q * factor)
    save_case(changed, copy)
    again = load_case(copy)
    assert np.allclose(again.loads.p, changed.loads.p, rtol=1e-15, atol=0)
    assert again.generators == network.generators
    assert again.lines == network.lines
    assert again.buses == network.buses
    before, after = path.read_bytes().splitlines(), copy.read_bytes().splitlines()
    assert sum(a != b for a, b in zip(before, after, strict=True)) <= len(network.loads)
    assert case_size(path).buses == len(read_matpower(path).tables["bus"])
    assert case_size(path).lines == len(read_matpower(path).tables["branch"])


@needs_nesta
def test_folders_of_the_environment_are_searched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("GRIDVEIL_CASES", os.pathsep.join([str(tmp_path), str(NESTA)]))
    assert len(gridveil.load_case("nesta_case39_epri").buses) == 39
    (tmp_path / "case39_epri.m").write_text(TINY.text())
    assert len(gridveil.load_case("case39_epri").buses) == 3, "a folder comes before PGLib"


def test_full_pglib_names_work_too():
    assert find_case("pglib_opf_case5_pjm") == find_case("case5_pjm")


def test_an_unknown_name_gets_suggestions():
    with pytest.raises(GridveilError, match=r"Did you mean .*case39_epri"):
        load_case("case39_epry")


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path):
    with pytest.raises(GridveilError, match="no such file"):
        load_case(tmp_path / "none.m")
    with pytest.raises(GridveilError, match="is a folder"):
        load_case(tmp_path)


def test_a_wrong_folder_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRIDVEIL_CASES", "/no/such/folder")
    with pytest.raises(GridveilError, match="GRIDVEIL_CASES: /no/such/folder is not a folder"):
        load_case("case5_pjm")


def test_saving_leaves_no_temporary_file(tmp_path: Path):
    network = TINY.network()
    save_case(network, tmp_path / "case.m")
    assert [path.name for path in tmp_path.iterdir()] == ["case.m"]
    with pytest.raises(GridveilError, match=r"cannot write .*No such file or directory"):
        save_case(network, tmp_path / "none" / "case.m")


def test_declared_load_buses_may_have_a_load_of_zero(tmp_path: Path):
    path = tmp_path / "case.m"
    path.write_text(TINY.text())
    network = load_case(path, load_buses=[7, 1, 2])
    assert network.buses.number[network.loads.bus].tolist() == [1, 2, 7]
    assert network.loads.p.tolist() == [0.0, 0.8, 0.5]
    noisy = network.with_loads(network.loads.p + 0.1, network.loads.q)
    save_case(noisy, path)
    assert load_case(path, load_buses=[1, 2, 7]) == noisy
    with pytest.raises(GridveilError, match="bus 7 has a load but is not on the list"):
        load_case(path, load_buses=[1, 2])
    with pytest.raises(GridveilError, match="load bus 99: there is no such bus"):
        load_case(path, load_buses=[1, 2, 7, 99])


def test_names_and_paths_are_accepted_where_networks_are(tmp_path: Path):
    network = TINY.network()
    assert as_network(network) is network
    path = tmp_path / "tiny.m"
    save_case(network, str(path))
    assert as_network(path) == as_network(str(path)) == network
    save_case("case5_pjm", tmp_path / "copy.m")
    assert (tmp_path / "copy.m").read_bytes() == find_case("case5_pjm").read_bytes()


@pytest.mark.parametrize("wrong", [5, None, b"case5_pjm", ["case5_pjm"]])
def test_what_is_no_network_is_told(wrong: object):
    expected = f"network: a Network, a case name or a path expected, not {type(wrong).__name__}"
    with pytest.raises(GridveilError, match=expected):
        as_network(wrong)  # type: ignore[arg-type]


def test_cases_have_their_sizes():
    (case,) = cases("case1888_rte__sad")
    assert (case.name, case.collection) == ("case1888_rte__sad", "PGLib")
    tables = read_matpower(find_case(case.name)).tables
    counted = [len(tables[name]) for name in ("bus", "gen", "branch")]
    assert [case.size.buses, case.size.generators, case.size.lines] == counted
    assert cases("no such case") == []
