"""Series of programs of one structure: each ends as alone, whoever solves it."""

import numpy as np
import pytest

from gridveil import load_case, using
from gridveil.opf import batches, ipopt
from gridveil.opf.acopf import acopf_program
from gridveil.opf.batches import minimise_many
from gridveil.opf.interior_point.solve import INFEASIBLE, minimise_one
from gridveil.opf.program import batch_of
from gridveil.opf.start import starting_point

FACTORS = (1.0, 0.9, 3.0, 0.95)


@pytest.fixture(scope="module")
def series():
    network = load_case("case14_ieee")
    programs = []
    for factor in FACTORS:
        loads = network.loads
        programs.append(acopf_program(network.with_loads(loads.p * factor, loads.q * factor)))
    with using("interior-point"):
        point = starting_point(network)
    built = [builder.build() for builder in programs]
    starts = [builder.start(one, point) for builder, one in zip(programs, built, strict=True)]
    return built, np.stack(starts)


@pytest.mark.parametrize("solver", ["ipopt", "interior-point"])
def test_each_ends_as_alone(series, solver):
    programs, starts = series
    alone = minimise_one if solver == "interior-point" else ipopt.minimise
    done = []
    with using(solver):
        found = minimise_many(batch_of(programs), starts, progress=done.append)
    assert done[-1] == len(FACTORS)
    for program, start, one in zip(programs, starts, found, strict=True):
        expected = alone(program, start)
        assert one.solver.name == solver
        assert (one.code, one.iterations) == (expected.code, expected.iterations)
        if expected.converged:
            assert one.x == pytest.approx(expected.x, abs=1e-8)
    assert [one.code for one in found] == [0, 0, INFEASIBLE, 0]


def test_cores_share_a_series(series, monkeypatch):
    programs, starts = series
    monkeypatch.setattr(batches, "_ON_A_CORE", 14)
    done = []
    with using("interior-point"):
        apart = minimise_many(batch_of(programs), starts, threads=2, progress=done.append)
        monkeypatch.undo()
        together = minimise_many(batch_of(programs), starts)
    assert done == [1, 2, 3, 4]
    assert [one.iterations for one in apart] == [one.iterations for one in together]


def test_ctrl_c_ends_a_series(series, monkeypatch):
    programs, starts = series
    monkeypatch.setattr(batches, "_ON_A_CORE", 14)

    def interrupt(done):
        raise KeyboardInterrupt

    with using("interior-point"), pytest.raises(KeyboardInterrupt):
        minimise_many(
            batch_of(programs * 20), np.tile(starts, (20, 1)), threads=2, progress=interrupt
        )


def test_solutions_nearby_save_iterations(series):
    programs, starts = series
    feasible = [0, 1, 3]
    batch = batch_of([programs[k] for k in feasible])
    with using("interior-point"):
        cold = minimise_many(batch, starts[feasible])
        warm = minimise_many(batch, starts[feasible], near=cold)
    assert all(one.code == 0 and 2 * one.iterations < old.iterations
               for one, old in zip(warm, cold, strict=True))  # fmt: skip


def test_ipopt_steps_in_for_those_that_did_not_get_there(series, monkeypatch):
    programs, starts = series
    monkeypatch.setattr("gridveil.opf.solvers._FASTER_FROM", 1)
    solve = batches.minimise_batch

    def lost(program, start, *arguments, **options):
        result = solve(program, start, *arguments, **options)
        result.code[0] = -1
        return result

    monkeypatch.setattr(batches, "minimise_batch", lost)
    found = minimise_many(batch_of(programs), starts)
    assert [one.solver.name for one in found] == ["ipopt", *["interior-point"] * 3]
    assert [one.stepped_in for one in found] == [True, False, False, False]
    assert found[0].x == pytest.approx(ipopt.minimise(programs[0], starts[0]).x, abs=1e-9)
    with using("interior-point"):
        assert minimise_many(batch_of(programs), starts)[0].code == -1
