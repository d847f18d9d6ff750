"""Series from files: every form gives the same, and whatever is wrong is refused with its place."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from gridveil.errors import GridveilError
from gridveil.network.library import load_case
from gridveil.network.series.load_series import load_keys
from gridveil.network.series.reading import load_series
from gridveil.network.series.shapes import example_series
from gridveil.network.series.writing import long_table, save_series
from tests.cases import in_parts

NETWORK = load_case("case5_pjm")
"""Loads at the buses 2, 3 and 4."""
SERIES, _ = example_series(NETWORK, 48, 1)
BASE = NETWORK.base_mva
BUSES = (2, 3, 4)
SECRET = "123.4567"


def long_frame(series=SERIES):
    return long_table(NETWORK, series.times, series.p * BASE, series.q * BASE).to_pandas()


def wide_frame(series=SERIES, times=None):
    columns = {"time": pd.to_datetime(series.times).tz_localize("UTC") if times is None else times}
    for i, bus in enumerate(BUSES):
        columns[f"bus {bus}:p_mw"] = series.p[:, i] * BASE
        columns[f"bus {bus}:q_mvar"] = series.q[:, i] * BASE
    return pd.DataFrame(columns)


def assert_same(read, series=SERIES):
    assert (read.first_hour, read.keys) == (series.first_hour, series.keys)
    np.testing.assert_allclose(read.p, series.p, rtol=1e-14)
    np.testing.assert_allclose(read.q, series.q, rtol=1e-14)


def assert_refused(source, *says, **options):
    """Check that a source is refused with these words, and without a value of a load."""
    with pytest.raises(GridveilError) as error:
        load_series(source, NETWORK, **options)
    text = str(error.value)
    for words in says:
        assert words in text, text
    assert "123" not in text.replace("/pytest-", "")
    assert error.value.__context__ is None or isinstance(error.value.__context__, GridveilError)


def local_csv(path, times, tail=",1,2,3"):
    """A wide file of P alone at local times."""
    rows = [f"{time}{tail}" for time in times]
    path.write_text("\n".join(["time,bus 2:p_mw,bus 3:p_mw,bus 4:p_mw", *rows, ""]))
    return path


# What is read


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_what_is_saved_reads_back(tmp_path, suffix):
    path = tmp_path / f"series{suffix}"
    save_series(SERIES, NETWORK, path)
    assert path.stat().st_mode & 0o077 == 0
    assert_same(load_series(path, NETWORK))


@pytest.mark.parametrize("form", [long_frame, wide_frame])
def test_long_and_wide_forms_in_any_order_of_rows(form, tmp_path):
    frame = form().sample(frac=1, random_state=1)
    assert_same(load_series(frame, NETWORK))
    frame.to_csv(tmp_path / "shuffled.csv", index=False)
    assert_same(load_series(tmp_path / "shuffled.csv", NETWORK))
    assert_same(load_series(frame.set_index("time"), NETWORK))


def test_a_bus_and_a_number_count_more_than_the_place_of_a_load(tmp_path):
    """As in a release, whose loads are numbered 1, 2, 3 and stand at the buses 2, 3, 4."""
    path = tmp_path / "loads.parquet"
    long_frame().to_parquet(path)
    assert_same(load_series(path, NETWORK))


@pytest.mark.parametrize("name", ["bus 3", "3"])
def test_loads_by_their_names(name):
    frame = wide_frame().rename(columns=lambda column: column.replace("bus 3", name))
    assert_same(load_series(frame, NETWORK))


def test_kilowatts(tmp_path):
    frame = long_frame()
    frame["p_kw"], frame["q_kvar"] = 1000 * frame.pop("p_mw"), 1000 * frame.pop("q_mvar")
    assert_same(load_series(frame, NETWORK))


def test_reactive_power_from_a_public_power_factor():
    frame = long_frame().drop(columns="q_mvar")
    assert_refused(frame, "no reactive power", "--profile-power-factor")
    read = load_series(frame, NETWORK, power_factor=0.8)
    np.testing.assert_allclose(read.q, 0.75 * SERIES.p, rtol=1e-12)
    assert any("0.8" in note for note in read.notes)


def test_quarters_of_an_hour_are_averaged_on_request():
    times = pd.date_range("2025-01-06", periods=8, freq="15min", tz="UTC")
    frame = pd.DataFrame({"time": times, **{f"bus {bus}": np.arange(8.0) for bus in BUSES}})
    assert_refused(frame, "every 15 minutes", "--average", power_factor=1.0)
    read = load_series(frame, NETWORK, power_factor=1.0, average=True)
    np.testing.assert_allclose(read.p[:, 0] * BASE, [1.5, 5.5])
    assert any("P in MW" in note for note in read.notes)
    assert_refused(frame[1:], "no whole hours", power_factor=1.0, average=True)


def test_steps_by_number():
    frame = wide_frame(times=np.arange(48))
    assert_refused(frame, "start=")
    assert_same(load_series(frame, NETWORK, start="2025-01-06T01:00+01:00"))
    assert_refused(frame, "time_zone", start="2025-01-06")


def test_profiles_of_no_load_are_said():
    frame = wide_frame()
    frame["wind farm"] = 1.0
    assert "wind farm" in " ".join(load_series(frame, NETWORK).notes)


# Clocks


def test_a_day_of_25_hours_and_one_of_23(tmp_path):
    """26 October 2025 and 30 March 2025 in Berlin, against what pandas makes of them."""
    for day, hours in (("2025-10-26", 25), ("2025-03-30", 23)):
        clock = pd.date_range(day, periods=hours, freq="h", tz="Europe/Berlin")
        path = local_csv(tmp_path / f"{day}.csv", clock.tz_localize(None))
        read = load_series(path, NETWORK, time_zone="Europe/Berlin", power_factor=1.0)
        assert read.hours == hours
        assert pd.Timestamp(read.times[0], tz="UTC") == clock[0]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
def test_a_year_of_a_clock_against_pandas(tmp_path, zone):
    clock = pd.date_range("2025-01-01", periods=8760, freq="h", tz="UTC").tz_convert(zone)
    path = local_csv(tmp_path / "year.csv", clock.tz_localize(None))
    read = load_series(path, NETWORK, time_zone=zone, power_factor=1.0)
    assert (read.first_hour, read.hours) == (482136, 8760)


def test_long_rows_of_an_hour_that_comes_twice(tmp_path):
    """For each load the first row is the earlier, whatever order loads are in."""
    hours = ["2025-10-26 01:00", "2025-10-26 02:00", "2025-10-26 02:00", "2025-10-26 03:00"]
    rows = [f"{time},{bus},{10 * bus + i}" for bus in BUSES for i, time in enumerate(hours)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["time,bus,p_mw", *rows]))
    read = load_series(path, NETWORK, time_zone="Europe/Berlin", power_factor=1.0)
    np.testing.assert_allclose(read.p[:, 1] * BASE, [30, 31, 32, 33])
    path.write_text(path.read_text().replace(f"{hours[2]},3,32\n", ""))
    assert_refused(
        path, "no row for bus 3 at 2025-10-26T01:00Z", time_zone="Europe/Berlin", power_factor=1.0
    )


def test_offsets_of_a_clock(tmp_path):
    times = ["2025-10-26T02:00+02:00", "2025-10-26T02:00+01:00", "2025-10-26T02:00Z"]
    read = load_series(local_csv(tmp_path / "a.csv", times), NETWORK, power_factor=1.0)
    assert (str(read.times[0]), read.hours) == ("2025-10-26T00:00:00", 3)


@pytest.mark.parametrize(
    ("times", "zone", "says"),
    [
        (["2025-01-01 00:00", "2025-01-01 01:00"], None, ["a.csv:2", "--time-zone"]),
        (["2025-03-30 01:00", "2025-03-30 02:00"], "Europe/Berlin", ["a.csv:3", "does not exist"]),
        (["2025-10-26 02:00"] * 3, "Europe/Berlin", ["a.csv:4", "comes twice"]),
        (["2025-10-26 01:00", "2025-10-26 02:00", "2025-10-26 03:00"], "Europe/Berlin",
         ["no row for 2025-10-26T01:00Z", "Both"]),
        (["2025-01-01 00:00", "2025-01-01 00:00"], "UTC", ["a.csv:3", "comes twice"]),
        (["2025-01-01T00:00Z", "2025-01-01 01:00"], "UTC", ["a.csv:3", "some do not"]),
        (["2025-01-01T00:00Z", "01.01.2025 01:00"], None, ["a.csv:3", "cannot be understood"]),
        (["2025-01-01T00:00Z", ""], None, ["a.csv:3"]),
        (["2025-01-01T00:00Z", "2025-01-01T01:00Z", "2025-01-01T03:00Z"], None,
         ["no row for 2025-01-01T02:00Z"]),
        (["2025-01-01T00:00Z", "2025-01-01T03:00Z"], None, ["every 3 hours"]),
        (["2025-01-01T00:30Z", "2025-01-01T01:30Z"], None, ["do not begin with those of UTC"]),
        (["2025-01-01T00:00Z", "2025-01-01T00:50Z"], None, ["steps of 50 minutes"]),
        (["2025-01-01T00:00Z", "2025-01-01T01:00Z", "2025-01-01T02:30Z"], None, ["irregular"]),
        (["2025-01-01 00:00"], "Europe/Bärlin", ["time zone"]),
    ],
)  # fmt: skip
def test_times_that_cannot_be_meant(tmp_path, times, zone, says):
    path = local_csv(tmp_path / "a.csv", times, tail=f",{SECRET},1,1")
    assert_refused(path, *says, time_zone=zone, power_factor=1.0)


# What is refused


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(f",{SECRET},", ",,"), ["a.csv:3", "bus 3", "missing"]),
        (lambda text: text.replace(SECRET, "nan"), ["a.csv:3", "bus 3", "missing"]),
        (lambda text: text.replace(SECRET, "inf"), ["a.csv:3", "not finite"]),
        (lambda text: text.replace(SECRET, f"{SECRET} MW"), ["a.csv:3", "not a number"]),
        (lambda text: text.replace(SECRET, f"1,{SECRET}"), ["a.csv:3", "fields"]),
        (lambda text: text.replace("time", "when"), ["no column time"]),
        (lambda text: text.replace("p_mw", "p"), ["unit", "p_mw"]),
        (lambda text: text.replace("bus,", "place,"), ["no column load", "no column bus"]),
        (lambda text: text.replace(",3,", ",7,"), ["no profile for bus 3", "bus 7"]),
        (lambda text: text.replace("q_mvar", "p_mw"), ["twice"]),
        (lambda text: text.replace(",", ";"), ["semicolons"]),
        (lambda text: text + text.splitlines()[2] + "\n", ["a.csv:5", "bus 3", "comes twice"]),
        (lambda text: text.splitlines()[0], ["a row of data"]),
        (lambda text: "", ["a.csv:1"]),
    ],
)
def test_long_files_with_something_wrong(tmp_path, change, says):
    text = "time,bus,p_mw,q_mvar\n" + "".join(
        f"2025-01-01T00:00Z,{bus},{SECRET if bus == 3 else 1},0\n" for bus in BUSES
    )
    path = tmp_path / "a.csv"
    path.write_text(change(text))
    assert_refused(path, *says)


def test_a_load_at_the_wrong_hour_is_named(tmp_path):
    frame = long_frame()
    gone = frame[(frame.bus == 4) & (frame.time == frame.time[9])].index
    assert_refused(frame.drop(gone), "no row for bus 4 at 2025-01-06T03:00Z")


def test_a_parquet_file_that_is_none(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    assert_refused(path, "no Parquet file")
    parquet.write_table(pa.table({"time": [SECRET], "bus": [2], "p_mw": [SECRET]}), path)
    assert_refused(path, "no profile")
    parquet.write_table(pa.table({"time": ["x"] * 3, "bus": [2, 3, 4], "p_mw": ["x"] * 3}), path)
    assert_refused(path, "row 1")


def test_two_loads_at_a_bus_need_their_numbers():
    network = in_parts(NETWORK)
    loads = [(bus, number) for bus in BUSES for number in (1, 2)]
    frame = pd.DataFrame(loads, columns=["bus", "number"]).assign(
        time="2025-01-01T00:00Z", p_mw=range(6)
    )
    with pytest.raises(GridveilError, match="bus 2 has several loads"):
        load_series(frame.drop(columns="number"), network, power_factor=1.0)
    by_key = frame.drop(columns=["bus", "number"]).assign(load=load_keys(network))
    for source in (frame.sample(frac=1, random_state=2), by_key):
        read = load_series(source, network, power_factor=1.0)
        np.testing.assert_allclose(read.p[0] * network.base_mva, range(6))


def test_every_message_of_many_broken_files_is_clean(tmp_path):
    """Cut, shift and swap a file in many ways: only our errors, never a value."""
    text = "time,bus,p_mw,q_mvar\n" + "".join(
        f"2025-01-01T0{hour}:00Z,{bus},{SECRET},-{SECRET}\n" for hour in (0, 1) for bus in BUSES
    )
    random = np.random.default_rng(1)
    path = tmp_path / "a.csv"
    for _ in range(150):
        at, length = random.integers(0, len(text)), random.integers(1, 30)
        put = random.choice(["", ",", '"', "\n", ";", "x", "\x00", "1e999"])
        path.write_text(text[:at] + str(put) + text[at + length :])
        told = ""
        try:
            load_series(path, NETWORK)
        except GridveilError as error:
            told = re.sub(r"/\S*/", "", str(error))
        assert "123" not in told, (at, length, put)


def test_a_network_without_loads():
    empty = replace(NETWORK, loads=replace(NETWORK.loads, **{
        name: getattr(NETWORK.loads, name)[:0] for name in ("bus", "number", "p", "q", "row")
    }), load_identities=())  # fmt: skip
    with pytest.raises(GridveilError, match="no load in service"):
        load_series(long_frame(), empty)
