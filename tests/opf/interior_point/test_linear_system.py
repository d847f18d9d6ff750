"""Condensed systems against the whole Newton system, solved densely by NumPy."""

import numpy as np
import pytest
from scipy.sparse import coo_array

from gridveil import load_case
from gridveil.opf.acopf import acopf_program
from gridveil.opf.interior_point import linear_system
from gridveil.opf.interior_point import structure as patterns
from gridveil.opf.interior_point.cpu.backend import CPU
from gridveil.opf.interior_point.linear_system import Effort, LinearSystem, Matrices
from gridveil.opf.interior_point.structure import structure_of
from gridveil.opf.start import starting_point

RANDOM = np.random.default_rng(5)


@pytest.fixture(params=[128, 8], ids=["all sparse", "some dense"])
def system(request, monkeypatch):
    """The derivatives of case14 at its start, with rows of so many entries counted as dense."""
    monkeypatch.setattr(patterns, "_DENSE", request.param)
    network = load_case("case14_ieee")
    builder = acopf_program(network)
    program = builder.build()
    x = builder.start(program, starting_point(network))[None]
    rows, n = program.linear.shape
    backend = CPU()
    structure = structure_of(
        (rows, n), program.jacobian_structure(), program.hessian_structure(), backend.ordering
    )
    assert (len(structure.dense) > 0) == (request.param == 8)
    operations = backend.operations(structure)
    jacobian = operations.jacobian(program.jacobian(x))
    hessian = program.hessian(x, np.ones((1, 1)), 10 * RANDOM.normal(size=(1, rows)))
    moves = np.ones((1, n + rows), dtype=bool)
    moves[:, n:] = program.g_min < program.g_max
    return structure, operations, jacobian, hessian, moves


def dense(structure, jacobian, hessian):
    j = coo_array((jacobian[0], (structure.j_row, structure.j_column))).toarray()
    shape = (structure.variables, structure.variables)
    h = coo_array((hessian[0], (structure.h_row, structure.h_column)), shape=shape).toarray()
    return j, h + np.tril(h, -1).T


def solved(system, stiffest):
    """A step for a random right-hand side, that side, and the whole matrix."""
    structure, operations, jacobian, hessian, moves = system
    n, rows = structure.variables, structure.rows
    sigma = np.exp(RANDOM.uniform(0, np.log(stiffest), (1, n + rows)))
    sigma[:, :n] += 1e3  # so that K is positive definite by itself
    solver = LinearSystem(CPU(), structure, operations, 1, Effort())
    active = np.ones(1, dtype=bool)
    assert solver.factorise(Matrices(hessian, jacobian, sigma, moves), active).all()
    r1, r2 = RANDOM.normal(size=(1, n)), RANDOM.normal(size=(1, rows))
    step = np.concatenate(solver.solve(r1, r2, active), axis=1)[0]
    j, h = dense(structure, jacobian, hessian)
    flexible = np.where(moves[0, n:], 1 / sigma[0, n:], 0.0)
    whole = np.block([[h + np.diag(sigma[0, :n]), j.T], [j, -np.diag(flexible)]])
    return step, np.concatenate([r1[0], r2[0]]), whole


@pytest.mark.parametrize("stiffest", [1e2, 1e12])
def test_steps_solve_the_whole_system(system, stiffest, monkeypatch):
    monkeypatch.setattr(linear_system, "_FALL", 1e-10)
    monkeypatch.setattr(linear_system, "_SHARE", 1e-10)
    step, right, whole = solved(system, stiffest)
    expected = np.linalg.solve(whole, right)
    assert np.abs(step - expected).max() < 1e-7 * np.abs(expected).max()


@pytest.mark.parametrize("stiffest", [1e2, 1e12])
def test_conjugate_gradients_that_end_early_leave_little_and_of_the_rows_alone(system, stiffest):
    step, right, whole = solved(system, stiffest)
    n = system[0].variables
    left = right - whole @ step
    assert np.linalg.norm(left[:n]) < 1e-5 * np.linalg.norm(right)
    assert np.linalg.norm(left[n:]) < 1e-3 * np.linalg.norm(right[n:])
    expected = np.linalg.solve(whole, right)
    assert np.linalg.norm(step - expected) < 1e-2 * np.linalg.norm(expected)


def test_curvature_is_added_until_the_system_has_the_right_inertia(system):
    structure, operations, jacobian, hessian, moves = system
    n, rows = structure.variables, structure.rows
    hessian = -np.abs(hessian)
    sigma = np.full((1, n + rows), 1e-3)
    solver = LinearSystem(CPU(), structure, operations, 1, Effort())
    matrices = Matrices(hessian, jacobian, sigma, moves)
    assert solver.factorise(matrices, np.ones(1, dtype=bool)).all()
    delta = float(solver._delta[0])
    assert delta > 0
    j, h = dense(structure, jacobian, hessian)

    def negative(delta):
        flexible = np.where(moves[0, n:], 1 / (1e-3 + delta), 0.0)
        block = h + (1e-3 + delta) * np.eye(n)
        whole = np.block([[block, j.T], [j, -np.diag(flexible)]])
        return int((np.linalg.eigvalsh(whole) < 0).sum())

    assert negative(0.0) > rows
    assert negative(delta) == rows


def test_ldl_solves_and_counts_negative_pivots(system):
    structure, operations, jacobian, hessian, _ = system
    factors = operations.factorisation(2)
    shift = np.full((2, structure.variables), 1e6)
    shift[1, 0] = -1e9
    both = [np.repeat(array, 2, axis=0) for array in (hessian, jacobian)]
    values = operations.condensed(both[0], shift, both[1], np.ones((2, structure.rows)))
    negative = factors.factorise(values, np.array([True, True]), 3)
    assert negative.tolist() == [0, 1]
    b = RANDOM.normal(size=(2, structure.variables))
    j, h = dense(structure, jacobian, hessian)
    j[structure.dense] = 0.0
    for one in range(2):
        k = h + j.T @ j + np.diag(shift[one])
        assert factors.solve(b)[one] == pytest.approx(np.linalg.solve(k, b[one]), abs=1e-10)
    assert factors.factorise(values, np.array([True, True]), 0).tolist()[1] > 0
