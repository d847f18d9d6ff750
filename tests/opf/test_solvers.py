"""The choice of a solver: by name, by size, and Ipopt where the other one does not get there."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import (
    GridveilError,
    ProductLaplace,
    load_case,
    restore,
    simulate_loads,
    solve_acopf,
    using,
)
from gridveil.opf import ipopt, solvers
from gridveil.opf.interior_point import solve as interior_point
from gridveil.opf.solvers import Solver, chosen_for


def test_a_solver_is_chosen_by_name_for_one_solve_or_for_many():
    assert solve_acopf("case5_pjm", solver="ipopt").solver == ipopt.solver_version()
    assert solve_acopf("case5_pjm", solver=Solver.INTERIOR_POINT).solver.name == "interior-point"
    with using("interior-point"):
        assert solve_acopf("case5_pjm").solver.name == "interior-point"
        assert solve_acopf("case5_pjm", solver="ipopt").solver.name == "ipopt"
        with using(None):
            assert solve_acopf("case5_pjm").solver.name == "interior-point"
    with pytest.raises(GridveilError, match="'simplex' is none of ipopt, interior-point, auto"):
        solve_acopf("case5_pjm", solver="simplex")


def test_auto_goes_by_size():
    assert chosen_for(10) is Solver.IPOPT
    assert chosen_for(10_000) is Solver.INTERIOR_POINT
    with using("ipopt"):
        assert chosen_for(10_000) is Solver.IPOPT


def test_ipopt_steps_in_for_auto_and_says_so(monkeypatch):
    monkeypatch.setattr(solvers, "_FASTER_FROM", 0)
    whole = solve_acopf("case14_ieee")
    assert whole.solver.name == "interior-point"
    assert not whole.stepped_in

    def gives_up(*arguments, **named):
        return replace(interior_point.minimise_one(*arguments, **named), code=-1)

    monkeypatch.setattr(solvers, "minimise_one", gives_up)
    result = solve_acopf("case14_ieee")
    assert result.stepped_in
    assert result.solver == ipopt.solver_version()
    assert result.status.solved
    assert result.cost == pytest.approx(whole.cost, rel=1e-7)
    # Who asked for one solver gets what it found.
    assert not solve_acopf("case14_ieee", solver="interior-point").stepped_in


def test_infeasible_networks_are_diagnosed_alike():
    network = load_case("case5_pjm")
    loads = network.loads
    network = network.with_loads(loads.p * 2, loads.q * 2)
    theirs, ours = (solve_acopf(network, solver=name) for name in ("ipopt", "interior-point"))
    assert ours.status is theirs.status
    assert ours.diagnosis.lacks.keys() == theirs.diagnosis.lacks.keys()
    for lack, total in theirs.diagnosis.lacks.items():
        assert ours.diagnosis.lacks[lack] == pytest.approx(total, rel=1e-3)


def test_a_result_nearby_saves_iterations():
    network = load_case("case118_ieee")
    near = solve_acopf(network, solver="interior-point")
    loads = network.loads
    other = network.with_loads(loads.p * 1.002, loads.q)
    cold = solve_acopf(other, solver="interior-point")
    warm = solve_acopf(other, solver="interior-point", near=near)
    assert warm.cost == pytest.approx(cold.cost, rel=1e-7)
    assert 2 * warm.iterations < cold.iterations


@pytest.mark.parametrize("band", ["generator", "total"])
@pytest.mark.parametrize("method", ["central", "bilevel"])
def test_restored_loads_do_not_depend_on_the_solver(method, band):
    network = load_case("case30_ieee")
    costs = solve_acopf(network).generator_costs
    noisy = simulate_loads(network, ProductLaplace.of(1, 0.1), 2)
    found = []
    for name in ("ipopt", "interior-point"):
        with using(name):
            found.append(restore(network, noisy, costs, 0.01, method, band))
    theirs, ours = found
    assert ours.status.solved
    assert ours.max_violation < 1e-6
    assert np.abs(ours.network.loads.values - theirs.network.loads.values).max() < 1e-4
