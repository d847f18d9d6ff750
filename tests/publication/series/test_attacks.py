"""What an outsider gets depends on raw loads through the private draw alone: tried by attacks."""

import shutil
import warnings

import numpy as np
import pytest

from gridveil import BudgetExceededError, GridveilError, Ledger, load_case, load_series, verify
from gridveil.network.series.load_series import LoadSeries
from gridveil.privacy.ratings import PublicRatings
from gridveil.privacy.series.mechanism import series_mechanism
from gridveil.privacy.series.phase import privatise_series
from gridveil.privacy.series.promise import SeriesPromise
from gridveil.privacy.series.total import split, total_on_grid
from tests.publication.series.releases import is_same, plan_of, released, series_of

HOURS = 3


@pytest.fixture(scope="module")
def network():
    return load_case("case14_ieee")


@pytest.fixture(scope="module")
def series(network):
    return series_of(network, hours=HOURS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("draw")


@pytest.fixture(scope="module")
def made(network, series, folder):
    return released(network, series, folder)


def with_total(series, megawatts):
    """Return raw loads whose total of the first hour is a number of MW, but for the last bits."""
    p = series.p.copy()
    for _ in range(20):
        p[0, 0] += megawatts / 100 - p[0].sum()
    return LoadSeries(series.first_hour, p, series.q, series.keys)


def of_the_same_draw(network, series, folder, path):
    """Return what comes of other raw loads under the id that was drawn in a folder."""
    shutil.copy(folder / "ledger.sqlite", path / "ledger.sqlite")
    ledger = Ledger(path / "ledger.sqlite")
    return plan_of(network, series, ledger).run(ledger, workers=1)


@pytest.mark.parametrize("unit", [1, 1000])
def test_a_raw_total_that_is_a_rounded_target_stops_no_release(
    network, series, folder, made, tmp_path, unit
):
    """Targets have four digits: whoever misses the folder would know a total to all its digits."""
    target = made.tables.dispatch[0, :, 2].max()
    assert target == float(f"{target:.3e}")
    other = with_total(series, target / unit)
    assert is_same(of_the_same_draw(network, other, folder, tmp_path), made)


def test_a_raw_total_that_is_a_limit_stops_no_release(network, series, folder, made, tmp_path):
    """Outputs and voltages may stand at public limits."""
    from gridveil.publication.series.scan import _matches

    limit = 100 * network.buses.v_max[0]
    voltages = made.tables.voltages.copy()
    voltages[0, 0, 0] = network.buses.v_max[0]
    at_limit = made.__class__(
        made.certificate,
        made.files,
        made.tables.__class__(**{**vars(made.tables), "voltages": voltages}),
        made.published,
        made.solved,
    )
    assert list(_matches(at_limit, network, with_total(series, limit))) == []
    output = float(made.tables.dispatch[0, 0, 0])  # but a total where no public number explains it
    found = list(_matches(made, network, with_total(series, output)))
    assert found == ["dispatch.parquet: p_mw and a total of raw loads"]


@pytest.mark.parametrize("size", [0.0, -7.0, 1e12, 1.7e308], ids=str)
def test_raw_loads_of_any_size_have_the_same_bytes_and_messages(
    network, series, folder, made, tmp_path, size
):
    other = LoadSeries(series.first_hour, size + 0 * series.p, size + 0 * series.q, series.keys)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # one that speaks of an overflow speaks of a load
        assert is_same(of_the_same_draw(network, other, folder, tmp_path), made)


def test_ratings_are_compared_with_raw_loads_before_the_draw_alone(tmp_path):
    """A run that goes on with other raw loads told whether a peak is the rating."""
    network, ledger = load_case("case5_pjm"), Ledger(tmp_path / "ledger.sqlite")
    series = series_of(network, hours=2)
    ratings = PublicRatings.of(["300", "310.7", "400"], "a grid map")
    choices = {"hide": "5%rating", "ratings": ratings, "band": "none"}
    one = plan_of(network, series, ledger, **choices).run(ledger, workers=1)
    p, q = series.p.copy(), series.q.copy()
    p[0, 1], q[0, 1] = 3.107, 0
    other = LoadSeries(series.first_hour, p, q, series.keys)
    assert is_same(plan_of(network, other, ledger, **choices).run(ledger, workers=1), one)
    with pytest.raises(GridveilError, match="agree with raw loads"):
        plan_of(network, other, ledger, **choices, release_id="another")


def test_huge_loads_are_planned_without_a_warning(tmp_path):
    network, series = load_case("case5_pjm"), series_of(load_case("case5_pjm"), hours=2)
    huge = LoadSeries(series.first_hour, 1e308 + 0 * series.p, 1.7e308 + 0 * series.q, series.keys)
    ratings = PublicRatings.of(["300", "310.7", "400"], "a grid map")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan_of(network, huge, tmp_path / "ledger.sqlite", hide="5%rating", ratings=ratings)


@pytest.mark.parametrize("loads", [2047, 2048, 4097])
def test_the_total_of_many_huge_loads_does_not_wrap_around(loads):
    """One load more moved it from one end of the grid to the other."""
    promise = SeriesPromise.of("energy", 1, "5MVA")
    whole = series_mechanism(promise, 100, promise.alphas(loads, 100), first_hour=0, hours=1)
    _, of_total = split(whole, whole.promise.epsilon / 5)
    huge = np.full((1, loads), 1e30)
    keys = tuple(f"load {i}" for i in range(loads))
    total = total_on_grid(LoadSeries(0, huge, -huge, keys), of_total)
    assert total.ravel().tolist() == [of_total.largest, -of_total.largest]


def drawn(network, ledger, promise, epsilon, hours):
    """Draw and charge a release, and return what the ledger says that was spent."""
    plan = plan_of(
        network,
        series_of(network, hours),
        ledger,
        promise=promise,
        epsilon=epsilon,
        hide="20MVA",
        release_id=f"{promise} {epsilon} {hours}",
    )
    privatise_series(plan.network, plan.series, plan.mechanism, ledger, plan.release_id)
    return ledger.entry(plan.release_id).cumulative


@pytest.mark.parametrize(
    ("first", "second"),
    [(("window", 1, 1), ("day", 20, 24)), (("day", 1, 24), ("window", 20, 240))],
    ids=str,
)
def test_no_cap_is_passed_by_counting_in_fewer_hours_than_are_promised(first, second, tmp_path):
    """A register counted within one hour took 20 for a promise of a day as 1.2, its cap being 3."""
    network, ledger = load_case("case5_pjm"), Ledger(tmp_path / "ledger.sqlite")
    drawn(network, ledger, *first)
    with pytest.raises(BudgetExceededError):
        drawn(network, ledger, *second)
    assert ledger.inspect().ok


@pytest.mark.parametrize(("promise", "hours"), [("day", 24), ("window", 72)])
def test_no_release_says_less_spent_than_its_own_promise(promise, hours, tmp_path):
    network, ledger = load_case("case5_pjm"), Ledger(tmp_path / "ledger.sqlite")
    drawn(network, ledger, "window" if promise == "day" else "day", "0.5", 1)
    assert drawn(network, ledger, promise, 2, hours) >= 2


def test_a_window_of_more_than_a_day_verifies(tmp_path):
    """Its first row in a ledger seemed to have spent too much."""
    network = load_case("case5_pjm")
    made = released(network, series_of(network, 30), tmp_path, promise="window", band="none")
    made.save(tmp_path / "out")
    found = verify(tmp_path / "out")
    assert found.ok, [one for one in found.claims if not one.ok]


@pytest.mark.parametrize(
    "lines",
    [
        ["time,load,p_mw,q_mvar", "2025-01-06T00:00Z,77.31415,2,1"],
        ["time,bus,p_mw,q_mvar", "2025-01-06T00:00Z,77.31415,2,1"],
        ["time,bus,number,p_mw,q_mvar", "2025-01-06T00:00Z,2,77.31415,2,1"],
        ["time,77.31415,7.731415e1", "2025-01-06T00:00Z,2,1"],
        ["time,77.31415,77.31415", "2025-01-06T00:00Z,2,1"],
    ],
    ids=["load", "bus", "number", "names of columns", "columns twice"],
)
def test_a_load_where_a_name_should_be_is_not_shown(lines, tmp_path):
    """Columns that were swapped, and names of columns that are missing."""
    path = tmp_path / "loads.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(GridveilError) as told:
        load_series(path, "case5_pjm")
    assert "7731415" not in str(told.value).replace(".", "")
