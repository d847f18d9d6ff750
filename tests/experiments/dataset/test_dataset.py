"""AC-OPF samples: what the tables say holds, they are the same however made, and from releases."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gridveil.errors import GridveilError
from gridveil.experiments.dataset import make
from gridveil.experiments.dataset.make import dataset
from gridveil.experiments.dataset.perturbations import Perturbations, scenario
from gridveil.experiments.dataset.samples import rate_prices
from gridveil.experiments.dataset.source import read_released_loads
from gridveil.network.library import load_case
from gridveil.opf.acopf import solve_acopf
from tests.publication.series.export.released_folder import write_released

NETWORK = load_case("case5_pjm")
BASE = NETWORK.base_mva
NAMES = ("scenarios", "loads", "generators", "buses", "lines")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The release of a series of five buses, and 12 samples of it."""
    folder = tmp_path_factory.mktemp("dataset")
    write_released(folder / "out", NETWORK, 24)
    dataset(folder / "samples", folder / "out", 12, seed=3, workers=1)
    return folder


def tables(folder):
    return {name: pd.read_parquet(folder / f"{name}.parquet") for name in NAMES}


def loads_of(frame, number):
    """P and Q of a scenario in p.u."""
    mine = frame[frame.scenario == number]
    return mine.p_mw.to_numpy() / BASE, mine.q_mvar.to_numpy() / BASE


def test_power_is_balanced_in_every_sample(made):
    """Generation is load plus losses, which are what enters lines and does not leave them."""
    found = tables(made / "samples")
    sums = {name: found[name].groupby("scenario").sum(numeric_only=True) for name in NAMES[1:]}
    for what in ("p_{}mw", "q_{}mvar"):
        into = sums["lines"][[what.format("from_"), what.format("to_")]].sum(axis=1)
        name = what.format("")
        np.testing.assert_allclose(sums["generators"][name], sums["loads"][name] + into, atol=1e-4)


def test_costs_and_limits(made):
    found, gens = tables(made / "samples"), NETWORK.generators
    costs = found["generators"].groupby("scenario").cost.sum()
    np.testing.assert_allclose(costs, found["scenarios"].cost, rtol=1e-9)
    assert (found["generators"].p_mw <= np.tile(gens.p_max * BASE, 12) + 1e-4).all()
    assert found["buses"].v.between(NETWORK.buses.v_min.min(), NETWORK.buses.v_max.max()).all()
    assert found["lines"].loading.max() <= 1 + 1e-6
    assert found["scenarios"].solved.all()
    assert found["scenarios"].max_violation.max() < 1e-6


def test_duals_are_what_costs_change_by(made):
    """By differences of costs: of one load, and of the limit of a line that binds."""
    found = tables(made / "samples")
    p, q = loads_of(found["loads"], 0)
    step = 1e-4
    up, down = (
        solve_acopf(NETWORK.with_loads(p + sign * step * np.array([0, 1, 0]), q)).cost
        for sign in (1, -1)
    )
    prices = found["buses"][found["buses"].scenario == 0].set_index("bus").active_price
    assert prices[NETWORK.load_buses[1]] == pytest.approx((up - down) / (2 * step * BASE), rel=1e-3)

    lines = found["lines"][found["lines"].rate_price > 1.0]
    assert len(lines)
    number, line = int(lines.scenario.iloc[0]), int(lines.line.iloc[0]) - 1
    p, q = loads_of(found["loads"], number)
    costs = []
    for sign in (1, -1):
        rate = NETWORK.lines.rate.copy()
        rate[line] += sign * step
        other = replace(NETWORK, lines=replace(NETWORK.lines, rate=rate))
        costs.append(solve_acopf(other.with_loads(p, q)).cost)
    saved = (costs[1] - costs[0]) / (2 * step * BASE)
    assert lines.rate_price.iloc[0] == pytest.approx(saved, rel=1e-2)


def test_solvers_agree_on_duals(made):
    found = tables(made / "samples")
    loads = loads_of(
        found["loads"], int(found["lines"].scenario[found["lines"].rate_price > 1].iloc[0])
    )
    both = [
        rate_prices(solve_acopf(NETWORK.with_loads(*loads), solver=solver))
        for solver in ("ipopt", "interior-point")
    ]
    assert both[0].max() > 1
    np.testing.assert_allclose(*both, atol=1e-3)


def test_loads_are_released_ones_within_the_factors(made):
    found, loads = tables(made / "samples"), read_released_loads(made / "out")
    for row in found["scenarios"].itertuples():
        hour = loads.times.index(f"{row.time:%Y-%m-%dT%H:%M}Z")
        p, q = loads_of(found["loads"], row.scenario)
        assert 0.9 <= row.common_factor <= 1.1
        for values, released in ((p, loads.p[hour]), (q, loads.q[hour])):
            factors = values / released / row.common_factor
            assert (np.abs(factors - 1) <= 0.1 + 1e-9).all()
            assert len(np.unique(factors)) == len(factors)
    assert found["scenarios"].time.nunique() > 3


def test_a_scenario_is_the_same_however_many_there_are(made):
    loads = read_released_loads(made / "out")
    drawn = Perturbations(seed=3, common=0.1, own=0.1)
    p, _ = loads_of(tables(made / "samples")["loads"], 7)
    np.testing.assert_allclose(scenario(7, loads, drawn).p, p, rtol=1e-14)
    assert scenario(7, loads, replace(drawn, seed=4)) != scenario(7, loads, drawn)


def test_stopped_and_started_again_it_makes_the_same_files(made, tmp_path, monkeypatch):
    """Stopped after two of four blocks; the other folder was made in one."""
    monkeypatch.setattr(make, "_MOST_OF_A_BLOCK", 3)

    def stop(done, of):
        if done == 6:
            raise KeyboardInterrupt

    arguments = (tmp_path / "again", made / "out", 12, 3)
    with pytest.raises(KeyboardInterrupt):
        dataset(*arguments, workers=1, progress=stop)
    assert not (tmp_path / "again" / "scenarios.parquet").exists()
    seen = []
    dataset(*arguments, workers=1, progress=lambda done, of: seen.append(done))
    assert seen[0] == 6
    for name in (*(f"{name}.parquet" for name in NAMES), "network.m", "dataset.json"):
        whole, again = ((folder / name).read_bytes() for folder in
                        (made / "samples", tmp_path / "again"))  # fmt: skip
        assert whole == again, name
    assert {path.name for path in (tmp_path / "again").iterdir()} == {
        *(f"{name}.parquet" for name in NAMES), "network.m", "dataset.json"
    }  # fmt: skip
    assert dataset(*arguments, workers=1).solved == 12
    with pytest.raises(GridveilError, match="choose another folder"):
        dataset(tmp_path / "again", made / "out", 12, 4)


def test_scenarios_without_a_solution_are_said_and_left_out(made, tmp_path):
    summary = dataset(tmp_path / "wild", made / "out", 8, common=0.95, own=0.9, workers=1)
    found = tables(tmp_path / "wild")
    unsolved = set(found["scenarios"][~found["scenarios"].solved].scenario)
    assert 0 < len(unsolved) == 8 - summary.solved < 8
    assert found["scenarios"].cost.isna().sum() == len(unsolved)
    for name in NAMES[1:]:
        assert not unsolved & set(found[name].scenario)


def test_nothing_but_a_release_is_taken(made, tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "network.m").write_text(NETWORK.case.text)
    with pytest.raises(GridveilError, match="no release"):
        dataset(tmp_path / "x", tmp_path / "raw", 3)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(GridveilError, match="holds something else"):
        dataset(tmp_path / "full", made / "out", 3)
    for wrong in ({"own": 1.0}, {"common": -0.1}, {"scenarios": 0}, {"workers": 0}):
        with pytest.raises(GridveilError):
            dataset(tmp_path / "y", made / "out", **{"scenarios": 3, **wrong})
    assert not (tmp_path / "y").exists()


def test_how_they_were_made_is_written_down(made):
    about = json.loads((made / "samples" / "dataset.json").read_text())
    assert about["perturbations"] == {"seed": 3, "common": 0.1, "own": 0.1}
    assert about["released_hours"] == 24
