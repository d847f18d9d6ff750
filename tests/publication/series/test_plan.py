"""Releases of series: what they promise, what stands in them, and what they do not depend on."""

import io
import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

from gridveil import BudgetExceededError, GridveilError, Ledger, load_case, using, verify
from gridveil.network.series.load_series import LoadSeries, hour_times
from gridveil.network.series.shapes import example_series
from gridveil.privacy.ratings import PublicRatings
from gridveil.privacy.series.mechanism import SeriesMechanism
from gridveil.publication.case_file import blank
from gridveil.publication.series import make
from gridveil.publication.series.plan import plan_series_release, release_series
from gridveil.publication.series.run import solve_series
from gridveil.publication.series.scan import refuse_series_matches
from gridveil.publication.series.state import NO_STATE
from gridveil.publication.verification.recompute import recompute
from gridveil.publication.verification.series.files import SeriesFiles
from gridveil.publication.verification.series.hours import case_at
from tests.publication.series.releases import (
    HOURS,
    case14,
    far,
    hourly,
    is_same,
    plan_of,
    released,
    series_of,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("series")


@pytest.fixture(scope="module")
def made(folder):
    """Return a release of 27 hours of case14, with its loads as CSV."""
    network, series, _ = case14()
    return released(network, series, folder, csv=True, consumers="all")


def times(made):
    """Return when each hour begins."""
    return hour_times(made.tables.first_hour, HOURS).astype("datetime64[ms]")


def checked(made, path):
    """Save a release and return what verification finds."""
    made.save(path)
    return verify(path)


def worst_violation(made):
    """Return the largest violation of any hour, by the verifier's formulas over the files."""
    from gridveil.publication.certificate_file import read_certificate

    files = SeriesFiles(read_certificate(made.files["certificate.json"]), made.files)
    hours = range(len(made.tables.released))
    return max(recompute(case_at(files, at)).largest_violation for at in hours)


def test_a_release_verifies_and_every_hour_works(made, tmp_path):
    found = checked(made, tmp_path / "out")
    assert found.ok, [one for one in found.claims if not one.ok]
    assert found.private_as_a_whole
    assert worst_violation(made) < 1e-6
    assert made.certificate.series.left_out == []
    assert "Any change of a load by up to 2 MVA in each of any 24 consecutive hours" in (
        found.statement
    )


def test_the_mechanism_of_the_certificate_is_that_of_the_promise(made):
    of = made.certificate.protection
    mechanism = SeriesMechanism.from_specification(of.parameters)
    assert (mechanism.hours, mechanism.loads) == (HOURS, 11)
    assert mechanism.promise.epsilon == Fraction(2)
    assert set(mechanism.alphas) == {Fraction(2, 100)}
    assert of.promise == mechanism.promise.sentence()
    assert "habits" in of.not_covered[0]


def test_the_certificate_names_what_solved_each_part(made, folder):
    """The first block is a batch of the interior-point method, the second too short for one."""
    solves = [(of.what, of.solver, of.device) for of in made.certificate.solves]
    assert solves[:2] == [("target", "interior-point", "cpu"), ("target", "ipopt", "cpu")]
    assert {what for what, _, _ in solves} <= {"target", "fidelity phase", "optimal cost"}
    software = made.certificate.software
    assert all(software[of.solver] == of.version for of in made.certificate.solves)
    assert "what was solved" in made.files["report.html"].decode()
    network, series, _ = case14()
    with using("ipopt"):
        other = released(network, series, folder, csv=True, consumers="all")
    assert {of.solver for of in other.certificate.solves} == {"ipopt"}
    assert far(other.tables.loads, made.tables.loads) < 1e-2  # MW


def test_the_tables_hold_each_hour_in_order(made):
    loads = pq.read_table(io.BytesIO(made.files["loads.parquet"]))
    assert loads.column_names == ["time", "load", "bus", "number", "p_mw", "q_mvar"]
    assert len(loads) == HOURS * 11
    assert np.array_equal(loads["time"].to_numpy(), np.repeat(times(made), 11))
    assert str(loads["time"].type) == "timestamp[ms, tz=UTC]"
    assert loads["load"].to_pylist()[:11] == list(range(1, 12))
    hours = pq.read_table(io.BytesIO(made.files["hours.parquet"]))
    assert len(hours) == HOURS
    assert max(hours["violation"].to_pylist()) < 1e-6


def test_the_csv_twin_has_the_same_numbers(made):
    lines = made.files["loads.csv"].decode().splitlines()
    assert lines[0] == "time,load,bus,number,p_mw,q_mvar"
    assert lines[1].startswith("2025-01-06T00:00Z,1,2,1,")
    numbers = np.array([line.split(",")[-2:] for line in lines[1:]], dtype=float)
    assert np.array_equal(numbers, made.tables.loads.reshape(-1, 2))


def test_the_case_file_is_the_hour_of_the_largest_load(made):
    total = made.tables.loads[..., 0].sum(axis=1)
    at = int(np.argmax(total))
    assert far(made.published.network.loads.p, hourly(made)[at, :, 0]) < 1e-12
    assert made.certificate.series.network_hour == str(times(made)[at])[:16] + "Z"


def test_after_the_draw_the_raw_series_does_not_matter(folder, made):
    """Other raw loads under the same release id: every byte is the same."""
    network, series, _ = case14()
    other = LoadSeries(series.first_hour, 3 * series.p[::-1], series.q[::-1] - 0.3, series.keys)
    heavier = network.with_loads(7 * network.loads.p, network.loads.q)
    again = released(heavier, other, folder, csv=True, consumers="all")
    assert is_same(again, made)


def test_no_byte_of_tables_or_texts_holds_a_raw_load(made):
    _, series, _ = case14()
    raw = 100 * np.stack([series.p, series.q], axis=2)
    for values in (made.tables.loads, made.tables.dispatch, made.tables.voltages):
        assert not np.isin(values, raw).any()
    text = made.files["loads.csv"] + made.files["network.m"] + made.files["certificate.json"]
    for number in raw.ravel().tolist():
        assert repr(number).encode() not in text


def test_the_last_look_finds_a_raw_load(made, folder):
    """A release whose table has raw loads is refused, by load and column, and shows no value."""
    network, series, _ = case14()
    loads = made.tables.loads.copy()
    loads[5, 3] = 100 * series.p[5, 3], 100 * series.q[5, 3]
    leaking = replace(made, tables=replace(made.tables, loads=loads))
    ledger = Ledger(folder / "ledger.sqlite")
    plan = plan_of(network, series, ledger, csv=True, consumers="all")
    private = make_private(plan, ledger)
    draft = make.without_distances(plan.draft()).to_bytes()
    refuse_series_matches(made, network, series, private, draft)
    with pytest.raises(GridveilError, match=r"loads.parquet: p_mw of load 4") as told:
        refuse_series_matches(leaking, network, series, private, draft)
    assert repr(float(100 * series.p[5, 3]))[:6] not in str(told.value)


def make_private(plan, ledger):
    from gridveil.privacy.series.phase import privatise_series

    return privatise_series(plan.network, plan.series, plan.mechanism, ledger, plan.release_id)


def test_consumers_never_feed_back(made):
    assert made.tables.loads[..., 0].min() >= -1e-4  # 1e-6 p.u. in MW
    assert made.certificate.post_processing.consumers == made.published.network.load_buses


def test_the_costs_of_each_hour_are_those_of_private_loads(made):
    """The optimum of each released hour is O*, which it was computed from."""
    figures = made.tables.figures
    assert np.abs(figures[:, 4] / figures[:, 2] - 1).max() < 1e-3
    assert made.certificate.costs.provenance == "private"
    assert made.certificate.fidelity.cost_target == pytest.approx(figures[:, 2].sum())


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("case5_pjm", {"promise": "energy", "hide": "2MVA"}),
        ("case5_pjm", {"promise": "window", "hide": "2MVA", "accept_useless": True}),
        ("case5_pjm", {"band": "dispatch", "beta": "0.05", "hide": "2MVA"}),
        ("case5_pjm", {"band": "none", "hide": "2MVA"}),
        ("case5_pjm", {"band": "total", "hide": "2MVA"}),
        ("case5_pjm", {"total_share": "0.2", "hide": "2MVA"}),
        ("case5_pjm", {"method": "bilevel", "hide": "2MVA"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values())),
)
def test_every_promise_and_band_verifies(tmp_path, name, choices):
    network = load_case(name)
    series = series_of(network, hours=4)
    made = released(network, series, tmp_path, **choices)
    found = checked(made, tmp_path / "out")
    assert found.ok, [one for one in found.claims if not one.ok]
    assert worst_violation(made) < 1e-6


def test_agents_restore_a_series_too(tmp_path):
    network, series, _ = case14()
    made = released(network, series.between(0, 2), tmp_path, method="admm")
    assert checked(made, tmp_path / "out").ok
    assert made.certificate.fidelity.method == "admm"


def restored_as(plan, ledger, series):
    """Return the release of a plan as if these loads were its private ones."""
    basis = plan._basis(ledger.entry(plan.release_id))
    solved = solve_series(basis, series.p, series.q, NO_STATE, 1, lambda *_: None)
    return make.make_series(basis, solved)


def test_ramp_limits_are_kept_and_published(tmp_path):
    """Two generators change by more than they may; then they do not."""
    network, series = load_case("case5_pjm"), series_of(load_case("case5_pjm"), hours=26)
    ledger, path = Ledger(tmp_path / "ledger.sqlite"), tmp_path / "ramps.csv"
    plan = plan_of(network, series, ledger, release_id="one", band="none")
    plan.run(ledger, workers=1)
    plan = plan_of(network, series, ledger, release_id="one")
    free = restored_as(plan, ledger, series)
    assert np.abs(np.diff(free.tables.dispatch[:, [2, 4], 0], axis=0)).max() > 75
    path.write_text("generator,ramp_mw\n3,70\n5,70\n")
    plan = plan_of(network, series, ledger, release_id="one", ramps=path)
    made = restored_as(plan, ledger, series)
    assert np.abs(np.diff(made.tables.dispatch[:, [2, 4], 0], axis=0)).max() < 70 + 1e-4
    assert made.certificate.series.ramp_excess < 1e-6
    assert made.certificate.fidelity.cost_optimal <= made.certificate.fidelity.cost_dispatch
    assert made.files["ramps.csv"] == b"generator,ramp_mw\n3,70.0\n5,70.0\n"
    found = checked(made, tmp_path / "out")
    assert found.ok, [one for one in found.claims if not one.ok]


def test_ramp_limits_that_cannot_be_kept_are_said(tmp_path):
    network, series = load_case("case5_pjm"), series_of(load_case("case5_pjm"), hours=12)
    path = tmp_path / "ramps.csv"
    path.write_text("".join(["generator,ramp_mw\n", *(f"{g},2\n" for g in range(1, 6))]))
    made = released(network, series, tmp_path, ramps=path)
    excess = np.abs(np.diff(made.tables.dispatch[..., 0], axis=0)).max() - 2
    assert made.certificate.series.ramp_excess == pytest.approx(excess / 100) != 0
    assert checked(made, tmp_path / "out").ok


def test_an_hour_that_cannot_be_restored_is_named_and_the_rest_is_whole(tmp_path, monkeypatch):
    """No hour of a real network was found that fails in every way; so one is made to fail."""
    from gridveil.publication.series import block

    network = load_case("case5_pjm")
    solve = block.hour_targets

    def failing(network, p, *others):
        found = solve(network, p, *others)
        values, points = found.values.copy(), found.points
        values[2] = np.nan
        return replace(found, values=values, points=points)

    monkeypatch.setattr(block, "hour_targets", failing)
    made = released(network, series_of(network, hours=4), tmp_path, hide="2MVA")
    assert made.certificate.series.left_out == ["2025-01-06T02:00Z"]
    assert len(made.tables.released) == 3
    found = checked(made, tmp_path / "out")
    assert found.ok, [one for one in found.claims if not one.ok]
    hours = pq.read_table(io.BytesIO(made.files["hours.parquet"])).to_pylist()
    assert hours[2]["ending"] == "left out"
    assert hours[2]["violation"] is None


def test_a_plan_draws_and_spends_nothing(tmp_path):
    network, series, ratings = case14()
    path = tmp_path / "ledger.sqlite"
    plan = plan_series_release(
        network,
        series,
        hide="5%rating",
        epsilon=2,
        ratings=PublicRatings(tuple(ratings), "made up"),
        ledger=path,
    )
    assert not path.exists()
    text = repr(plan)
    assert "nothing is drawn, nothing is spent" in text
    assert "each of 11 loads would be charged ε = 2" in text
    assert "On made-up loads, half of the loads will be off by" in text
    assert "habits" in text
    assert plan.figures()["hours"] == HOURS


def test_a_release_is_charged_once_and_then_goes_on_for_free(folder, made):
    network, series, _ = case14()
    ledger = Ledger(folder / "ledger.sqlite")
    plan = plan_of(network, series, ledger, csv=True, consumers="all")
    assert plan.charge.is_drawn
    assert plan.charge.epsilon == 0
    assert made.certificate.protection.cumulative_epsilon == 2
    with pytest.raises(BudgetExceededError):  # the cap of 3 leaves 1
        plan_of(network, series, ledger, release_id="another")
    later = LoadSeries(series.first_hour + 24 * 30, series.p, series.q, series.keys)
    planned = plan_of(network, later, ledger, release_id="later")  # of other days
    assert (planned.charge.epsilon, planned.charge.is_drawn) == (0, False)
    assert "no load would have spent more" in repr(planned)


def test_a_useless_promise_is_refused_unless_it_is_accepted(tmp_path):
    network, series, _ = case14()
    ledger = tmp_path / "ledger.sqlite"
    choices = {"promise": "window", "hide": "300MVA", "epsilon": "0.01", "ledger": ledger}
    with pytest.raises(GridveilError, match="would make the release useless"):
        plan_series_release(network, series, **choices)
    assert plan_series_release(network, series, accept_useless=True, **choices).promise


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"hide": "10%"}, "changes from hour to hour"),
        ({"hide": "5%rating"}, "needs? them"),
        ({"promise": "month"}, "there are energy, day, window"),
        ({"band": "costs"}, "band"),
        ({"power_factor": 0.9}, "means something with --consumers only"),
        ({"total_share": 1}, "total share"),
        ({"release_id": " "}, "a release needs an id"),
        ({"hide": "1e-9MVA"}, "protects next to nothing"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_drawn(tmp_path, choices, says):
    network, series, _ = case14()
    path = tmp_path / "ledger.sqlite"
    with pytest.raises(GridveilError, match=says):
        plan_series_release(network, series, **{"hide": "5MVA", "ledger": path, **choices})
    assert not path.exists()


def test_ratings_that_are_the_peaks_themselves_are_refused(tmp_path):
    network, series, _ = case14()
    peaks = 100 * np.hypot(series.p, series.q).max(axis=0)
    ratings = PublicRatings.of([f"{peak:.6f}" for peak in peaks], "a grid map")
    with pytest.raises(GridveilError, match="agree with raw loads") as told:
        plan_of(network, series, tmp_path / "l.sqlite", hide="5%rating", ratings=ratings)
    assert f"{peaks[0]:.3f}" not in str(told.value)


def test_a_series_of_other_loads_is_refused(tmp_path):
    _, series, _ = case14()
    with pytest.raises(GridveilError, match="has other loads than"):
        plan_of(load_case("case5_pjm"), series, tmp_path / "l.sqlite")


def test_release_series_plans_and_runs(tmp_path):
    network = load_case("case5_pjm")
    series, _ = example_series(network, hours=2, seed=1)
    made = release_series(
        network, series, tmp_path / "l.sqlite", hide="2MVA", accept_useless=True, workers=1
    )
    assert made.certificate.series.hours == 2
    assert repr(made).startswith("SeriesRelease(")
    assert os.fspath(tmp_path)[:4] not in repr(made)


def test_a_blank_network_is_all_that_blocks_see(folder, made):
    network, series, _ = case14()
    plan = plan_of(network, series, Ledger(folder / "other.sqlite"))
    assert made.certificate.release_id == plan.release_id
    basis = plan._basis(Ledger(folder / "ledger.sqlite").entry(plan.release_id))
    assert np.array_equal(basis.network.loads.p, np.zeros(11))
    assert basis.network.case.text == blank(network).case.text
