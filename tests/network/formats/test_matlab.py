"""MATPOWER cases as MATLAB data files."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import CaseError, load_case, save_case
from gridveil.network.formats.matlab import MatlabFormat

scipy_io = pytest.importorskip("scipy.io")
CASE = "case14_ieee"


def tables(name=CASE):
    case = load_case(name).case
    return {
        "version": "2", "baseMVA": case.base_mva,
        **{key: table.values.copy() for key, table in case.tables.items()},
    }  # fmt: skip


def saved(path, variables):
    scipy_io.savemat(path, variables)
    return path


@pytest.mark.parametrize("named", ["mpc", "my_case", None])
def test_a_struct_or_its_fields(named, tmp_path):
    variables = tables() if named is None else {named: tables()}
    assert load_case(saved(tmp_path / "case.mat", variables)) == load_case(CASE)


def test_what_is_saved_reads_back(tmp_path):
    network = load_case(CASE)
    heavier = network.with_loads(1.1 * network.loads.p, network.loads.q)
    save_case(heavier, tmp_path / "case.mat")
    assert load_case(tmp_path / "case.mat") == heavier


def test_a_release_is_written_back(tmp_path):
    struct = tables()
    struct["bus"][4, 1] = 4  # bus 5 is out of service: its load is idle
    struct["branch"] = np.hstack([struct["branch"], np.full((len(struct["branch"]), 4), 3.21)])
    struct["bus_name"] = np.array([[f"Bus {i}"] for i in range(1, 15)], dtype=object)
    struct["bus"] = np.hstack([struct["bus"], np.full((len(struct["bus"]), 2), 77.25)])
    struct["order"] = {"ext": {"bus": struct["bus"].copy()}}  # a solved case has its loads again
    source = saved(tmp_path / "case.mat", {"mpc": struct, "notes": "kept"})
    network = load_case(source)
    idle = replace(network.idle_loads, p=0 * network.idle_loads.p, q=0 * network.idle_loads.q)
    released = replace(
        network.with_loads(1.25 * network.loads.p, 0.5 * network.loads.q), idle_loads=idle
    )
    told = MatlabFormat().write_back(released, source, tmp_path / "out.mat")
    assert any("bus_name, notes" in sentence for sentence in told)
    written = scipy_io.loadmat(tmp_path / "out.mat", squeeze_me=True)
    again = load_case(tmp_path / "out.mat")
    assert again.loads.values == pytest.approx(released.loads.values, rel=1e-14)
    bus = written["mpc"]["bus"].item()
    assert (bus[4, 2:4] == 0).all(), "an idle load"
    assert (bus[:, 7] == 1).all()
    assert (bus[:, 13:] == 0).all()
    assert "order" not in written["mpc"].dtype.names
    assert (written["mpc"]["branch"].item()[:, 13:] == 0).all()
    assert written["mpc"]["bus_name"].item().tolist() == struct["bus_name"].ravel().tolist()
    assert written["notes"] == "kept"


def without(name):
    struct = tables()
    del struct[name]
    return struct


def with_cell(table, row, column, value):
    struct = tables()
    struct[table][row, column] = value
    return struct


@pytest.mark.parametrize(
    ("struct", "said"),
    [
        (without("branch"), "it has no mpc.branch"),
        ({**tables(), "version": "1"}, "version '1'"),
        ({**tables(), "baseMVA": -100.0}, "baseMVA must be a number above 0"),
        ({**tables(), "bus": "text"}, "mpc.bus is not a table of numbers"),
        ({**tables(), "gen": tables()["gen"][:, :7]}, "mpc.gen has 7 columns"),
        ({**tables(), "storage": np.ones((1, 5))}, "mpc.storage"),
        (with_cell("bus", 3, 2, np.nan), "bus row 4, column Pd: nan is not finite"),
        (with_cell("branch", 2, 0, 99), "branch row 3, column fbus: there is no bus 99"),
        (with_cell("gen", 1, 8, np.nan), "gen row 2, column Pmax: nan is not a number"),
    ],
)
def test_broken_files(struct, said, tmp_path):
    path = saved(tmp_path / "case.mat", {"mpc": struct})
    with pytest.raises(CaseError) as caught:
        load_case(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "94.2" not in str(caught.value)


def test_files_that_are_no_cases(tmp_path):
    path = saved(tmp_path / "case.mat", {"mpc": tables()})
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(CaseError, match="cut off"):
        load_case(path)
    with pytest.raises(CaseError, match="no struct 'mpc'"):
        load_case(saved(path, {"x": np.eye(3)}))
    path.write_bytes(b"MATLAB 7.3 MAT-file, Platform: GLNXA64" + bytes(600))
    with pytest.raises(CaseError, match="-v7"):
        load_case(path)
