"""Profiles of pandapower nets: what pandapower's own time series sets, hour by hour."""

import numpy as np
import pandas as pd
import pytest

from gridveil.errors import GridveilError
from gridveil.network.formats.pandapower_reader import network_from_net
from gridveil.network.series.reading import load_series

pandapower = pytest.importorskip("pandapower")

from pandapower.control import ConstControl  # noqa: E402
from pandapower.timeseries import DFData, run_timeseries  # noqa: E402

START = {"start": "2025-01-06T00:00Z"}


def net_with_profiles(hours=5):
    """A feeder with two loads, one of them scaled, and a static generator; P of all is set."""
    net = pandapower.create_empty_network(sn_mva=10.0)
    buses = pandapower.create_buses(net, 3, vn_kv=20.0)
    pandapower.create_ext_grid(net, buses[0])
    for i in (0, 1):
        pandapower.create_line(net, buses[i], buses[i + 1], 1.0, "NAYY 4x150 SE")
    pandapower.create_load(net, buses[1], p_mw=0.5, q_mvar=0.1, scaling=0.8)
    pandapower.create_load(net, buses[2], p_mw=0.4, q_mvar=0.2)
    pandapower.create_sgen(net, buses[2], p_mw=0.3, q_mvar=0.05)
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.uniform(0.1, 0.6, (hours, 4)), columns=["a", "b", "sun", "q"])
    data = DFData(frame)
    ConstControl(net, "load", "p_mw", [0, 1], profile_name=["a", "b"], data_source=data)
    ConstControl(net, "load", "q_mvar", 1, profile_name="q", data_source=data, scale_factor=0.5)
    ConstControl(net, "sgen", "p_mw", 0, profile_name="sun", data_source=data)
    return net, frame


def read(net, **options):
    network = network_from_net(net, "feeder")
    return network, load_series(net, network, **(START | options))


def test_every_hour_is_the_one_that_pandapower_computes():
    """The power flow of each hour, run by pandapower, has these loads."""
    net, frame = net_with_profiles()
    network, series = read(net)
    drawn = {"load": [], "sgen": []}
    from pandapower.timeseries import OutputWriter

    writer = OutputWriter(net, log_variables=[])
    for table in drawn:
        for variable in ("p_mw", "q_mvar"):
            writer.log_variable(f"res_{table}", variable)
    run_timeseries(net, time_steps=frame.index, verbose=False, numba=False)
    for variable, values in (("p_mw", series.p), ("q_mvar", series.q)):
        loads, sgens = (writer.output[f"res_{table}.{variable}"] for table in ("load", "sgen"))
        expected = np.column_stack([loads, -sgens.to_numpy()])
        np.testing.assert_allclose(values * network.base_mva, expected, atol=1e-12)
    assert series.keys == ("load 0", "load 1", "sgen 0")
    assert "load 0, sgen 0" in " ".join(series.notes)


def test_a_net_saved_with_its_controllers(tmp_path):
    net, _ = net_with_profiles()
    network, series = read(net)
    pandapower.to_json(net, str(tmp_path / "net.json"))
    saved = load_series(tmp_path / "net.json", network, **START)
    np.testing.assert_allclose(saved.p, series.p, rtol=1e-9)  # as many digits as it writes
    np.testing.assert_allclose(saved.q, series.q, rtol=1e-9)


def test_reactive_power_by_a_power_factor_where_only_p_is_set():
    net, frame = net_with_profiles()
    network, series = read(net, power_factor=0.8)
    np.testing.assert_allclose(series.q[:, 0], 0.75 * series.p[:, 0])
    np.testing.assert_allclose(series.q[:, 1] * network.base_mva, 0.5 * frame.q)


def test_data_alone():
    net, frame = net_with_profiles()
    network = network_from_net(net, "feeder", public_injections=["sgen"])
    alone = DFData(frame[["a", "b"]].rename(columns={"a": 0, "b": 1}))
    series = load_series(alone, network, power_factor=1.0, **START)
    np.testing.assert_allclose(series.p * network.base_mva, frame[["a", "b"]])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda net: net.controller.drop(net.controller.index, inplace=True), "no ConstControl"),
        (lambda net: net.load.drop(1, inplace=True), "there is no load 1"),
        (lambda net: net.controller.object[0].data_source.df.rename(
            columns={"b": "c"}, inplace=True), "no column for load 1"),
        (lambda net: setattr(net.controller.object[2], "data_source",
                             DFData(pd.DataFrame({"sun": [0.1]}))), "other times"),
    ],
)  # fmt: skip
def test_controllers_that_do_not_fit(change, says):
    net, _ = net_with_profiles()
    network = network_from_net(net, "feeder")
    change(net)
    with pytest.raises(GridveilError, match=says):
        load_series(net, network, **START)


def test_indices_without_a_start():
    net, _ = net_with_profiles()
    with pytest.raises(GridveilError, match="start="):
        load_series(net, network_from_net(net, "feeder"))
