"""PSS/E raw files: what PowSyBl does not read from them, or reads otherwise."""

from dataclasses import replace

import pytest

from benchmarks.powsybl_networks import loaded, voltage_difference
from benchmarks.small_files import PSSE_33
from gridveil import CaseError, load_case
from gridveil.network.formats.psse import PsseFormat

pytest.importorskip("pypowsybl", reason="pypowsybl is an extra")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "case.raw"
    path.write_text(PSSE_33)
    return path


def test_version_33(path):
    network = load_case(path)
    assert network.base_mva == 50.0
    assert network.to_frame("buses").bus.tolist() == [7, 101, 102, 103]
    assert [one.key for one in network.load_identities] == [
        "bus 101 load 1", "bus 101 load 2", "bus 102 load 1",
    ]  # fmt: skip
    assert [one.key for one in network.idle_loads.identities] == ["bus 102 load X"]
    assert (50.0 * network.loads.p).tolist() == pytest.approx([31.5, 12.75, 8.5])
    assert (50.0 * network.loads.q).tolist() == pytest.approx([9.25, 3.5, 2.25])
    difference, _ = voltage_difference(loaded(path), network)
    assert difference < 1e-6


def test_limits_are_those_of_the_file(path):
    network = load_case(path)
    buses, units = network.to_frame("buses"), network.to_frame("generators")
    assert buses.v_min.tolist() == [0.94, 0.95, 0.9, 0.9]
    assert buses.v_max.tolist() == [1.08, 1.06, 1.1, 1.1]
    assert network.to_frame("lines").rate_mva.tolist() == pytest.approx(
        [120.0, 80.0, float("inf"), 40.0]
    )
    assert units.p_max_mw.tolist() == [90.0, 40.0]
    assert units.p_min_mw.tolist() == [5.0, 0.0]
    assert units.q_max_mvar.tolist() == [60.0, 25.0]


def test_impedances_are_those_of_the_file(path):
    lines = load_case(path).to_frame("lines")
    assert lines.r.tolist() == pytest.approx([0.01, 0.012, 0.02, 0.005])
    assert lines.x.tolist() == pytest.approx([0.05, 0.06, 0.09, 0.11])
    assert lines.b.tolist()[:2] == pytest.approx([0.02, 0.015])


def test_loads_return_to_version_33(path, tmp_path):
    network = load_case(path)
    idle = replace(network.idle_loads, p=0 * network.idle_loads.p, q=0 * network.idle_loads.q)
    released = replace(
        network.with_loads(2 * network.loads.p, 3 * network.loads.q), idle_loads=idle
    )
    PsseFormat().write_back(released, path, tmp_path / "out.raw")
    old, new = PSSE_33.split("\n"), (tmp_path / "out.raw").read_text().split("\n")
    assert new[10] == "102,'1 ',1,1,1,17.0,6.75,0.0,0.0,0.0,0.0,1,1,0"
    assert new[11] == "102,'X ',0,1,1,0.0,0.0,0.0,0.0,0.0,0.0,1,1,0"
    changed = [i for i, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    assert changed == [3, 4, 5, 6, 8, 9, 10, 11, 15, 16], "buses, loads and generators"


@pytest.mark.parametrize(
    ("section", "record", "said"),
    [
        ("MULTI-TERMINAL DC", "'M',3,3,3", "multi-terminal DC line 'M' is not supported"),
        ("LOAD", "103,'1 ',1,1,1,5.0,1.0,0,0,0,0,1,1,0,3.0,0.0,1", "distributed generation"),
        ("BRANCH", "7,101,'1 ',0.01,0.05,0.02,120.0,0,0,0,0,0,0,1,1,0,1,1", "case.raw"),
        ("TRANSFORMER", "7,999,0,'1 ',1,1,1,0,0,2,'T',1,1,1\n0,.1,50\n1,0\n1,0", "no bus 999"),
    ],
)
def test_what_would_be_left_out_is_refused(section, record, said, path):
    begin = f"BEGIN {section} DATA\n"
    assert begin in PSSE_33
    path.write_text(PSSE_33.replace(begin, begin + record + "\n"))
    with pytest.raises(CaseError, match=said):
        load_case(path)
