"""Released series in other tools: read and run by the real packages, they have the same loads."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet

from gridveil.errors import GridveilError
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.library import load_case
from gridveil.network.series.reading import load_series
from gridveil.publication.series.export.export import export_series
from gridveil.publication.series.export.released import read_released_series
from tests.cases import in_parts
from tests.publication.series.export.released_folder import write_released

CASES = {
    "case14": load_case("case14_ieee"),
    "several": in_parts(load_case("case5_pjm")),
    "costs": load_case("case24_ieee_rts"),
}


@pytest.fixture(scope="module", params=CASES)
def written(request, tmp_path_factory):
    """A network, a series of it, and the folder that has it as released."""
    network, folder = CASES[request.param], tmp_path_factory.mktemp("written") / "out"
    return network, write_released(folder, network), folder


@pytest.fixture
def released(written, tmp_path):
    """The same, with a folder for the test alone."""
    network, series, folder = written
    return network, series, Path(shutil.copytree(folder, tmp_path / "out"))


def test_a_folder_is_read_as_it_was_written(released):
    network, series, folder = released
    found = read_released_series(folder)
    assert found.times.tolist() == series.times.tolist()
    assert found.network.name == network.name
    assert found.network.load_buses == network.load_buses
    assert found.network.loads.number.tolist() == network.loads.number.tolist()
    np.testing.assert_array_equal(found.p_mw, series.p * network.base_mva)
    np.testing.assert_array_equal(found.network.loads.q, found.at(0)[1])
    for name in ("p_max", "q_min"):
        np.testing.assert_allclose(
            getattr(found.network.generators, name), getattr(network.generators, name)
        )


def test_hours_that_were_left_out_are_not_there(released):
    network, series, folder = released
    for name in ("loads", "dispatch", "voltages"):
        full = pd.read_parquet(folder / f"{name}.parquet")
        write_again(folder, full[full.time != full.time.unique()[2]], name)
    found = read_released_series(folder)
    assert len(found.times) == series.hours - 1
    np.testing.assert_array_equal(found.p_mw[2], series.p[3] * network.base_mva)


def write_again(folder, frame, name="loads"):
    """Write another table, with its digest."""
    path = folder / f"{name}.parquet"
    frame.to_parquet(path, index=False)
    stated = json.loads((folder / "certificate.json").read_text())
    stated["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "certificate.json").write_text(json.dumps(stated))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda frame: frame[1:], "not one row for each number"),
        (lambda frame: pd.concat([frame, frame[:1]]), "not one row for each number"),
        (lambda frame: frame[:0], "not one row"),
        (lambda frame: frame[frame.time != frame.time[0]], "not of the same hours"),
        (lambda frame: frame.drop(columns="bus"), "no table"),
        (lambda frame: frame.assign(bus=frame.bus + 9000), "there is no bus"),
    ],
)
def test_tables_that_are_no_release(change, says, tmp_path):
    write_released(tmp_path / "out", CASES["several"], 2)
    frame = parquet.read_table(tmp_path / "out" / "loads.parquet").to_pandas()
    write_again(tmp_path / "out", change(frame))
    with pytest.raises(GridveilError, match=says):
        read_released_series(tmp_path / "out")


def test_a_file_that_was_changed_is_refused(tmp_path):
    write_released(tmp_path / "out", CASES["several"], 2)
    with (tmp_path / "out" / "network.m").open("a") as file:
        file.write("% more\n")
    with pytest.raises(GridveilError, match="not as certified"):
        export_series(tmp_path / "out", "csv", tmp_path / "loads.csv")


def test_csv(released, tmp_path):
    network, series, folder = released
    assert export_series(folder, "csv", tmp_path / "loads.csv") == []
    read = load_series(tmp_path / "loads.csv", network)
    np.testing.assert_allclose(read.p, series.p, rtol=1e-14)
    np.testing.assert_allclose(read.q, series.q, rtol=1e-14)
    with pytest.raises(GridveilError, match="exists"):
        export_series(folder, "csv", tmp_path / "loads.csv")


def test_pandapower_runs_every_hour(released, tmp_path):
    """Its time series solves the power flow of each hour: the released loads and voltages."""
    pandapower = pytest.importorskip("pandapower")
    from pandapower.timeseries import OutputWriter, run_timeseries

    network, series, folder = released
    export_series(folder, "pandapower", tmp_path / "pp")
    net = pandapower.from_json(str(tmp_path / "pp" / "net.json"))
    times = pd.read_csv(tmp_path / "pp" / "times.csv", parse_dates=["time"])
    assert times.time.dt.tz_localize(None).tolist() == series.times.tolist()
    writer = OutputWriter(net, log_variables=[])
    for table, variable in (("load", "p_mw"), ("load", "q_mvar"), ("bus", "vm_pu")):
        writer.log_variable(f"res_{table}", variable)
    run_timeseries(net, time_steps=times.step.tolist(), verbose=False, numba=False)
    for variable, values in (("p_mw", series.p), ("q_mvar", series.q)):
        np.testing.assert_allclose(
            writer.output[f"res_load.{variable}"], values * network.base_mva, rtol=1e-9, atol=1e-9
        )
    voltages = read_released_series(folder).v
    np.testing.assert_allclose(writer.output["res_bus.vm_pu"], voltages, atol=1e-6)


def test_what_pypsa_reads_back_is_the_release(released, tmp_path):
    """By our reader of PyPSA's folders; the real package does so where it is installed."""
    network, series, folder = released
    export_series(folder, "pypsa", tmp_path / "psa")
    read = load_series(tmp_path / "psa", network, time_zone="UTC")
    assert read.first_hour == series.first_hour
    np.testing.assert_allclose(read.p, series.p, rtol=1e-14)
    np.testing.assert_allclose(read.q, series.q, rtol=1e-14)


def test_pypsa_solves_the_same_power_flow(released, tmp_path):
    """PyPSA's power flow of every hour finds the voltages that were released with it."""
    pypsa = pytest.importorskip("pypsa")
    network, series, folder = released
    export_series(folder, "pypsa", tmp_path / "psa")
    theirs = pypsa.Network()
    theirs.import_from_csv_folder(str(tmp_path / "psa"))
    assert theirs.snapshots.tolist() == pd.DatetimeIndex(series.times).tolist()
    names = read_released_series(folder).load_names
    for what, values in (("p_set", series.p), ("q_set", series.q)):
        found = theirs.get_switchable_as_dense("Load", what)[names]
        np.testing.assert_allclose(found, values * network.base_mva, rtol=1e-12)
    read = load_series(theirs, network, time_zone="UTC")
    np.testing.assert_allclose(read.p, series.p, rtol=1e-12)

    theirs.pf()
    stated = pd.read_parquet(folder / "voltages.parquet")
    for what, column in (("v_mag_pu", "v"), ("v_ang", "angle_degrees")):
        found = theirs.buses_t[what]
        expected = stated.pivot(index="time", columns="bus", values=column)
        expected = expected[[int(name.split()[1]) for name in found.columns]].to_numpy()
        found = np.degrees(found) if what == "v_ang" else found
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_gridfm_has_a_row_for_each_hour_and_bus(released, tmp_path):
    network, series, folder = released
    export_series(folder, "gridfm", tmp_path / "gfm")
    frame = pd.read_parquet(tmp_path / "gfm" / "scenarios.parquet")
    buses = len(network.case.tables["bus"])
    assert frame.columns.tolist() == ["load_scenario", "load", "p_mw", "q_mvar"]
    assert frame.load.tolist() == list(range(buses)) * series.hours
    assert (tmp_path / "gfm" / "network.m").read_bytes() == (folder / "network.m").read_bytes()
    first = frame[frame.load_scenario == 0]
    case = parse_matpower((folder / "network.m").read_text(), "network.m", "case")
    np.testing.assert_allclose(first.p_mw, case.tables["bus"].column("Pd"), rtol=1e-12)
    total = frame.groupby("load_scenario").p_mw.sum()
    np.testing.assert_allclose(total, series.p.sum(axis=1) * network.base_mva, rtol=1e-12)


def test_gridfm_writes_the_same_table(released, tmp_path):
    """Its own function makes the same data frame of the same scenarios."""
    theirs = pytest.importorskip("gridfm_datakit.perturbations.load_perturbation")
    network, series, folder = released
    export_series(folder, "gridfm", tmp_path / "gfm")
    ours = pd.read_parquet(tmp_path / "gfm" / "scenarios.parquet")
    scenarios = np.zeros((len(network.case.tables["bus"]), series.hours, 2))
    for i, row in enumerate(network.loads.row):
        scenarios[row, :, 0] += series.p[:, i] * network.base_mva
        scenarios[row, :, 1] += series.q[:, i] * network.base_mva
    pd.testing.assert_frame_equal(theirs.load_scenarios_to_df(scenarios), ours)


def test_what_is_no_series(tmp_path):
    (tmp_path / "snapshot").mkdir()
    with pytest.raises(GridveilError, match="--into"):
        export_series(tmp_path / "snapshot", "pypsa", tmp_path / "x")
    with pytest.raises(GridveilError, match="none of pandapower, pypsa"):
        export_series(tmp_path / "snapshot", "excel", tmp_path / "x")
