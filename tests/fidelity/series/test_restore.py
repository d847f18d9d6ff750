"""Restoration hour by hour: each hour as good as alone, blocks alike on any number of cores."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import GridveilError, PolarLaplace, load_case, restore, solve_acopf, using
from gridveil.device import Device
from gridveil.fidelity.base import BandKind
from gridveil.fidelity.central import Central, bands_of
from gridveil.fidelity.registry import make_method
from gridveil.fidelity.series import restore as restore_module
from gridveil.fidelity.series.hour import hour_method
from gridveil.fidelity.series.restore import (
    blocks_of,
    device_of,
    hours_problem,
    restore_series,
    workers_on,
)
from gridveil.fidelity.series.result import Ending
from gridveil.network.series.shapes import example_series
from gridveil.opf.operating_point import violations
from gridveil.opf.point_series import PointSeries
from gridveil.opf.status import Status
from gridveil.privacy.phase import NoisyLoads, Origin

BETA = 0.02


@pytest.fixture(scope="module")
def network():
    return load_case("case14_ieee")


@pytest.fixture(scope="module")
def hours(network):
    """Return noisy loads of 27 hours, and the costs of the loads they come from."""
    series, _ = example_series(network, hours=27, seed=3)
    noise = 1 + np.random.default_rng(1).normal(0, 0.1, (2, *series.p.shape))
    solved = [solve_acopf(network.with_loads(*series.at(hour))) for hour in range(27)]
    costs = np.array([one.generator_costs for one in solved])
    return series.p * noise[0], series.q * noise[1], costs


@pytest.fixture(scope="module")
def restored(network, hours):
    return restore_series(network, *hours, BETA, workers=1)


def test_every_hour_works_within_its_band(network, hours, restored):
    for hour in range(27):
        at = network.with_loads(restored.p[hour], restored.q[hour])
        point = restored.points.at(hour)
        assert violations(at, point).largest == restored.violations[hour] < 1e-6
        bands, _ = bands_of(network, hours[2][hour], BETA, BandKind.COST)
        assert all(band.slack(p) > -1e-6 for band, p in zip(bands, point.p, strict=True))


def test_a_block_is_one_batch_where_the_solver_makes_batches(restored):
    """The last three hours are too few for `auto` to take the interior-point method."""
    counts = restored.counts()
    assert (counts["together"], counts["cold"], counts["warm"]) == (24, 1, 2)


def test_hours_start_from_the_one_before_and_blocks_anew(network, hours, monkeypatch):
    few = [values[:12] for values in hours]
    with using("ipopt"):
        monkeypatch.setattr(restore_module, "BLOCK_HOURS", 8)
        found = restore_series(network, *few, BETA, workers=1)
        monkeypatch.setattr(restore_module, "BLOCK_HOURS", 1)
        cold = restore_series(network, *few, BETA, workers=1)
    assert np.flatnonzero(found.endings == Ending.COLD).tolist() == [0, 8]
    assert found.counts()["warm"] == 10
    assert cold.counts()["cold"] == 12
    assert found.iterations.mean() < 0.95 * cold.iterations.mean()


def test_hours_that_a_batch_does_not_get_start_from_the_one_before(network, hours, monkeypatch):
    """No hour was found that a batch alone fails at; so one is made to fail."""
    solve = Central.solve_many

    def lossy(self, problems, threads=None, progress=None):
        found = solve(self, problems, threads, progress)
        return [replace(found[0], status=Status.INFEASIBLE), *found[1:4],
                replace(found[4], p=found[4].p + 0.1), *found[5:]]  # fmt: skip

    few = [values[:9] for values in hours]
    whole = restore_series(network, *few, BETA, workers=1)
    monkeypatch.setattr(Central, "solve_many", lossy)
    found = restore_series(network, *few, BETA, workers=1)
    assert found.endings[[0, 4]].tolist() == [Ending.COLD, Ending.WARM]
    assert found.counts()["together"] == 7
    assert found.displacement == pytest.approx(whole.displacement, rel=1e-3, abs=1e-5)
    others = [1, 2, 3, 5, 6, 7, 8]
    assert np.array_equal(found.p[others], whole.p[others])


def test_a_gpu_takes_six_weeks_as_a_block_and_ipopt_none(network):
    assert [len(block) for block in blocks_of(24 * 50, Device.GPU)] == [24 * 42, 24 * 8]
    with using("ipopt", "gpu"):
        assert device_of(network, 24 * 50) is Device.CPU
    assert (workers_on(Device.GPU, 4), workers_on(Device.CPU, 4)) == (1, 4)


@pytest.mark.parametrize("hour", [0, 13, 26])
def test_an_hour_is_as_near_as_alone(network, hours, restored, hour):
    """The same problem from a cold start moves the loads as far."""
    p, q, costs = (values[hour] for values in hours)
    guarantee = PolarLaplace.of(1, 0.1).guarantee()
    noisy = NoisyLoads(p, q, guarantee, Origin.SIMULATION, None)
    alone = restore(network, noisy, costs, BETA, method="central")
    assert restored.displacement[hour] == pytest.approx(alone.displacement, rel=1e-3, abs=1e-5)


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("p", "q", "endings", "violations", "displacement", "iterations")
    ) and np.array_equal(one.points.v, other.points.v, equal_nan=True)


def test_processes_and_known_blocks_change_no_bit(network, hours, restored):
    kept = {}
    parallel = restore_series(network, *hours, BETA, workers=2, on_block=kept.__setitem__)
    assert same(parallel, restored)
    resumed = restore_series(
        network, *hours, BETA, workers=1, done={1: kept[1]}, on_block=kept.__setitem__
    )
    assert same(resumed, restored)
    assert sorted(kept) == [0, 1] == list(range(len(blocks_of(27))))


def test_an_hour_without_a_target_is_left_out_and_the_rest_is_whole(network, hours):
    p, q, costs = (values[:3] for values in hours)
    costs = costs.copy()
    costs[1] = np.nan
    found = restore_series(network, p, q, costs, BETA, workers=1)
    assert found.left_out.tolist() == [1]
    assert np.isnan(found.p[1]).all()
    assert np.isnan(found.points.v[1]).all()
    alone = restore_series(network, p[:1], q[:1], costs[:1], BETA, workers=1)
    assert np.array_equal(found.p[0], alone.p[0])
    assert found.violations[2] < 1e-6


def test_loads_beyond_every_generator_are_projected(network, hours):
    p, q, _ = (values[:2] for values in hours)
    found = restore_series(network, 8 * p, q, band="none", workers=1)
    assert (found.violations < 1e-6).all()
    assert (found.p.sum(axis=1) < network.generators.p_max.sum()).all()


def test_loads_that_work_at_a_known_point_are_kept(network):
    series, _ = example_series(network, hours=2, seed=3)
    solved = [solve_acopf(network.with_loads(*series.at(hour))) for hour in range(2)]
    costs = np.array([one.generator_costs for one in solved])
    points = PointSeries.of([solved[0].point, None], network)
    found = restore_series(network, series.p, series.q, costs, BETA, starts=points, workers=1)
    assert found.endings[0] == Ending.KEPT
    assert found.displacement[0] == 0
    assert np.array_equal(found.p[0], series.p[0])
    assert found.endings[1] != Ending.KEPT
    wrong = PointSeries.of([solved[1].point, None], network)  # of another hour: it is not believed
    again = restore_series(network, series.p, series.q, costs, BETA, starts=wrong, workers=1)
    assert again.endings[0] != Ending.KEPT
    assert again.violations[0] < 1e-6


def test_agents_go_on_from_the_hour_before(network, hours):
    p, q, costs = (values[:2] for values in hours)
    method = make_method("admm", None, BandKind.COST).for_release()
    problem = hours_problem(network, p, q, costs, 0.05, method, "cost")
    agents = hour_method(method)
    method.prepare(problem.at(0))
    first = agents.solve(problem.at(0), None)
    warm, cold = agents.solve(problem.at(1), first), agents.solve(problem.at(1), None)
    assert warm.iterations < 0.8 * cold.iterations
    assert np.abs(warm.attempt.loads - cold.attempt.loads).max() < 1e-6
    found = restore_series(network, p, q, costs, 0.05, "admm", workers=1)
    assert (found.violations < 1e-6).all()
    assert found.counts()["warm"] == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p, q, c: (p[:, :-1], q, c), "p, q: arrays of shape"),
        (lambda p, q, c: (p * np.nan, q, c), "every load must be a finite number"),
        (lambda p, q, c: (p, q, c[:2]), "targets: a row for each of the 3 hours"),
    ],
)
def test_what_does_not_fit_is_refused(network, hours, change, says):
    with pytest.raises(GridveilError, match=says):
        restore_series(network, *change(*(values[:3] for values in hours)), BETA, workers=1)
