"""The interior-point method against Ipopt, published costs and conditions of optimality."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array

from gridveil import load_case
from gridveil.opf import ipopt
from gridveil.opf.acopf import acopf_program
from gridveil.opf.interior_point.method import Options
from gridveil.opf.interior_point.solve import INFEASIBLE, minimise_batch, minimise_one
from gridveil.opf.program import batch_of
from gridveil.opf.solvers import Solver, using
from gridveil.opf.start import starting_point


def problem(name, factor=1.0):
    """The AC-OPF of a case with its loads times a factor, and where the method starts."""
    network = load_case(name)
    network = network.with_loads(network.loads.p * factor, network.loads.q * factor)
    builder = acopf_program(network)
    program = builder.build()
    with using(Solver.INTERIOR_POINT):
        return program, builder.start(program, starting_point(network))


def jacobian(program, x):
    shape = (len(program.g_min), len(x))
    return coo_array((program.jacobian(x), program.jacobian_structure()), shape=shape).tocsr()


# Piecewise costs, phase shifters, tight angles, and 240_pserc__api: it needs the restoration.
CASES = (
    "case3_lmbd", "case5_pjm", "case14_ieee__api", "case30_as__sad", "case39_epri",
    "case89_pegase__api", "case118_ieee", "case179_goc__api", "case300_ieee__sad",
    "case240_pserc__api",
)  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_optimum_is_that_of_ipopt(name):
    program, start = problem(name)
    ours, theirs = minimise_one(program, start), ipopt.minimise(program, start)
    assert ours.code == 0
    assert ours.objective == pytest.approx(theirs.objective, rel=2e-7)


@pytest.mark.parametrize("name", ["case5_pjm", "case118_ieee"])
def test_multipliers_are_those_of_ipopt(name):
    program, start = problem(name)
    ours, theirs = minimise_one(program, start), ipopt.minimise(program, start)
    scale = np.abs(theirs.g_multipliers).max()
    assert np.abs(ours.g_multipliers - theirs.g_multipliers).max() < 1e-5 * scale


@pytest.mark.parametrize("name", ["case14_ieee", "case300_ieee"])
def test_solutions_keep_the_conditions_of_optimality(name):
    program, start = problem(name)
    found = minimise_one(program, start)
    x, y, g = found.x, found.g_multipliers, program.constraints(found.x)
    assert np.all((x >= program.x_min - 1e-8) & (x <= program.x_max + 1e-8))
    assert np.maximum(program.g_min - g, g - program.g_max).max() < 1e-7
    # Where no bound of x is near, the gradient of the Lagrangian vanishes.
    gradient = program.gradient(x) + jacobian(program, x).T @ y
    free = np.minimum(x - program.x_min, program.x_max - x) > 1e-3
    assert np.abs(gradient[free]).max() < 1e-4 * np.abs(program.gradient(x)).max()
    # A row pushes only where it is at a limit, and inwards.
    at_most, at_least = program.g_max - g < 1e-4, g - program.g_min < 1e-4
    scale = np.abs(y).max()
    assert np.all(y[~at_most] < 1e-5 * scale)
    assert np.all(y[~at_least] > -1e-5 * scale)


@pytest.mark.parametrize(
    ("name", "factor"),
    [("case5_pjm", 2.0), ("case14_ieee", 3.0), ("case30_ieee", 2.0), ("case118_ieee", 1.5)],
)
def test_infeasible_networks_are_called_so(name, factor):
    program, start = problem(name, factor)
    assert ipopt.minimise(program, start).code == INFEASIBLE
    found = minimise_one(program, start)
    assert found.code == INFEASIBLE
    assert found.iterations < 80


def test_infeasibility_may_stay_high_while_steps_are_long():
    program, start = problem("case240_pserc")
    seen = []
    found = minimise_one(program, start, lambda now: seen.append(now) or True)
    assert found.code == 0
    assert min(now.infeasibility for now in seen[:35]) == seen[0].infeasibility
    barriers = [now.barrier for now in seen]
    assert barriers == sorted(barriers, reverse=True)  # a restoration would begin with the first


def test_what_short_steps_block_is_restored_early():
    program, start = problem("case240_pserc__api")
    seen = []
    assert minimise_one(program, start, lambda now: seen.append(now) or True).code == 0
    falls = np.diff([now.objective for now in seen])
    assert np.flatnonzero(falls < -1e6)[0] < 20  # from costs to the sum of violations


def test_a_solution_nearby_saves_most_iterations():
    program, start = problem("case300_ieee")
    known = minimise_one(program, start)
    other, start = problem("case300_ieee", 0.995)
    cold = minimise_one(other, start)
    warm = minimise_one(other, known.x, multipliers=known.g_multipliers)
    assert warm.code == 0
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    assert 2 * warm.iterations < cold.iterations


def test_a_batch_ends_as_its_instances_do_alone():
    # One instance is infeasible, and each has its own number of iterations.
    factors = (1.0, 0.9, 3.0, 1.02, 0.7)
    problems = [problem("case14_ieee", factor) for factor in factors]
    alone = [minimise_one(*one) for one in problems]
    programs, starts = zip(*problems, strict=True)
    together = minimise_batch(batch_of(programs), np.stack(starts))
    assert together.code.tolist() == [one.code for one in alone] == [0, 0, INFEASIBLE, 0, 0]
    assert together.iterations.tolist() == [one.iterations for one in alone]
    assert len(set(together.iterations.tolist())) > 1
    for k in (0, 1, 3, 4):
        assert together.x[k] == pytest.approx(alone[k].x, abs=1e-8)
        assert together.multipliers[k] == pytest.approx(alone[k].g_multipliers, rel=1e-6, abs=1e-4)


def test_iterations_can_be_watched_and_stopped():
    program, start = problem("case14_ieee")
    seen = []

    def watch(iteration):
        seen.append(iteration.number)
        return iteration.number < 3

    assert not minimise_one(program, start, watch).converged
    assert seen == [0, 1, 2, 3]


def test_iterations_go_on_counting_through_a_restoration():
    program, start = problem("case5_pjm", 2.0)
    seen = []
    found = minimise_one(program, start, lambda now: seen.append(now.number) or True)
    assert sorted(seen) == seen
    assert seen[-1] == found.iterations


def test_the_limit_of_iterations_is_kept():
    program, start = problem("case118_ieee")
    found = minimise_one(program, start, options=Options(iterations=5))
    assert (found.code, found.iterations) == (-1, 5)


def test_fixed_variables_stay_where_they_are():
    program, start = problem("case14_ieee")
    fixed = np.flatnonzero(program.x_min == program.x_max)
    assert len(fixed)  # the angle of the reference bus, and outputs without range
    v = program.physics.buses + 3
    x_min, x_max = program.x_min.copy(), program.x_max.copy()
    x_min[v] = x_max[v] = 1.01
    found = minimise_one(replace(program, x_min=x_min, x_max=x_max), start)
    assert found.code == 0
    assert np.array_equal(found.x[fixed], program.x_min[fixed])
    assert found.x[v] == 1.01
