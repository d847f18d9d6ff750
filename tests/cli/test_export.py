"""`gridveil export`, and what commands say of loads that are out of service."""

import json

import pandapower
import pandapower.networks
import pytest

from gridveil import load_case
from tests.cases import TINY, bus


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDVEIL_LEDGER", str(tmp_path / "ledger.sqlite"))
    path = tmp_path / "tiny.m"
    path.write_text(TINY.with_(bus=[*TINY.bus, bus(9, 4, 33.75, 12.25)]).text())
    return path


def test_a_release_is_written_back_into_its_source(gridveil, source, tmp_path):
    made = gridveil("release", source, "--beta", "0.05", "-q", "-o", tmp_path / "out")
    assert made.status == 0
    told = gridveil("export", tmp_path / "out", "--into", source, "-o", tmp_path / "copy.m")
    assert told.status == 0
    assert "written to" in told.out
    assert "comments" in told.out
    raw, copy, released = (
        load_case(path) for path in (source, tmp_path / "copy.m", tmp_path / "out" / "network.m")
    )
    assert copy.loads.values.tolist() == released.loads.values.tolist()
    assert copy.loads.values.tolist() != raw.loads.values.tolist()
    assert len(copy.idle_loads) == 0
    again = gridveil("export", tmp_path / "out", "--into", source, "-o", tmp_path / "copy.m")
    assert again.status == 2
    assert "not overwritten" in again.err
    other = gridveil("export", tmp_path / "out", "--into", "case5_pjm", "-o", tmp_path / "x.m")
    assert other.status == 2


def test_loads_out_of_service_are_counted_and_listed(gridveil, source):
    shown = gridveil("solve", source)
    assert "loads out of service, which draw nothing here: 1" in shown.out
    assert json.loads(gridveil("solve", source, "--json").out)["idle_loads"] == [[9, 1]]
    plan = gridveil("release", source, "--dry-run")
    assert "loads out of service (1), left out" in plan.out
    both = gridveil("release", source, "--dry-run", "--idle-loads", "release", "--json")
    assert json.loads(both.out)["idle_loads_released"] is True
    assert gridveil("release", source, "--dry-run", "--idle-loads", "all").status == 2


def test_kinds_that_were_public_are_named_again(gridveil, tmp_path):
    """A release of a net with public static generators goes back into that net."""
    net = pandapower.networks.create_cigre_network_mv(with_der="pv_wind")
    pandapower.to_json(net, str(tmp_path / "net.json"))
    source = [tmp_path / "net.json", "--public-injections", "sgen"]
    gridveil("release", *source, "-o", tmp_path / "out", "--ledger", tmp_path / "ledger.sqlite")
    into = ["--into", *source, "-o", tmp_path / "copy.json"]
    gridveil("export", tmp_path / "out", *into)
    copy = pandapower.from_json(str(tmp_path / "copy.json"))
    assert copy.sgen.p_mw.tolist() == net.sgen.p_mw.tolist()
    assert (copy.load.p_mw != net.load.p_mw).all()
    pandapower.runpp(copy)
