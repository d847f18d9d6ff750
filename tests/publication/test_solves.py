"""What a release solves: each from the one before, none twice, each named in the certificate."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import (
    Ledger,
    PolarLaplace,
    load_case,
    release,
    simulate_loads,
    solve_acopf,
    using,
    verify,
)
from gridveil.fidelity.central import Central
from gridveil.fidelity.phase import fidelity_problems, solve
from gridveil.opf.ipopt import solver_version
from gridveil.opf.record import recorded_solves
from gridveil.privacy.mechanisms.relative_laplace import RelativeLaplace
from gridveil.publication.certificate import StatedSolve
from gridveil.publication.certificate_file import read_certificate
from gridveil.publication.plan import ReleasePlan
from gridveil.publication.verification.protection import named_claim

NETWORK = load_case("case14_ieee")
CHOICES = {"hide": "1%", "epsilon": 3}
"""So little noise that the private loads work, whatever is drawn."""


@pytest.fixture(scope="module", params=["central", "bilevel"])
def made(request, tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    with recorded_solves() as record:
        done = release(
            NETWORK, ledger, solver="interior-point", beta=0.05, **CHOICES, method=request.param
        )
    return request.param, done, record


def test_none_is_solved_twice(made):
    method, done, record = made
    # Bilevel's own AC-OPF started near another one with the interior-point method: not with Ipopt.
    same = method == "bilevel" and done.opf.solver.name == "ipopt"
    target, last = 1, 0 if same else 1
    assert len(record.solves) == target + done.restored.solves + last
    fresh = solve_acopf(done.published.network, solver="ipopt")
    assert done.certificate.fidelity.cost_optimal == pytest.approx(fresh.cost, rel=1e-7)
    assert done.opf.network == done.published.network
    assert done.opf.max_violation < 1e-6


def test_every_solve_is_named(made, tmp_path):
    _, done, _ = made
    stated = done.certificate
    parts = ["target", "fidelity phase", "optimal cost"]
    assert [one.what for one in stated.solves] == parts
    assert {(one.solver, one.device) for one in stated.solves} == {("interior-point", "cpu")}
    assert stated.software["interior-point"] == stated.solves[0].version
    done.save(tmp_path / "out")
    assert verify(tmp_path / "out", solver="ipopt").ok  # of another solver than the producer's


def test_a_solver_that_is_not_among_the_software_is_found(made):
    _, done, _ = made
    assert named_claim(done.certificate).ok
    for solver, version in (("another", "1.0"), ("ipopt", solver_version().version)):
        forged = StatedSolve(what="target", solver=solver, version=version, device="gpu")
        assert not named_claim(done.certificate.model_copy(update={"solves": [forged]})).ok


def test_certificates_of_before_name_none(made):
    _, done, _ = made
    before = done.certificate.model_copy(update={"solves": None}).sealed()
    data = before.to_bytes()
    assert b'"solves"' not in data
    read = read_certificate(data)
    assert read.certificate.solves is None
    assert read.computed_digest == before.digest


@pytest.mark.parametrize("solver", ["ipopt", "interior-point"])
def test_starts_save_iterations_and_end_at_the_same_loads(solver):
    network = load_case("case118_ieee")
    noisy = simulate_loads(network, RelativeLaplace.of(1, 0.1, floor=0.01), seed=1)
    with using(solver):
        near = solve_acopf(network.with_loads(noisy.p, noisy.q))
        costs = near.generator_costs * 1.03
        (problem,) = fidelity_problems(network, [noisy], costs, 0.05, Central(), "cost")
        cold, warm = solve(Central(), problem), solve(Central(), replace(problem, near=near))
    assert warm.status.solved
    assert warm.iterations < cold.iterations
    assert warm.distance_to(cold) < 1e-5


def test_a_start_that_leads_nowhere_costs_a_solve_and_no_solution():
    near = solve_acopf(NETWORK)
    noisy = simulate_loads(NETWORK, PolarLaplace.of(1, 0.01), seed=1)
    args = (NETWORK, [noisy], near.generator_costs, 0.05, Central(), "cost")
    (problem,) = fidelity_problems(*args)
    broken = replace(near, point=replace(near.point, v=np.full_like(near.point.v, np.nan)))
    with using("interior-point"):
        cold, warm = solve(Central(), problem), solve(Central(), replace(problem, near=broken))
    assert cold.status.solved
    assert warm.network.loads == cold.network.loads
    assert warm.solves == cold.solves + 1


def test_nothing_starts_from_raw_loads(tmp_path, monkeypatch):
    met = []

    def watched(self, problem):
        met.append(problem)
        return solve(self.method, problem)

    monkeypatch.setattr(ReleasePlan, "_solved", watched)
    choices = {"costs": "derived", "declare_public": "costs", "method": "central", **CHOICES}
    release(NETWORK, tmp_path / "ledger.sqlite", beta=0.05, **choices)
    assert [problem.near for problem in met] == [None]


def test_the_optimum_of_bilevel_is_not_solved_again_by_ipopt(tmp_path):
    with recorded_solves() as record:
        made = release(NETWORK, tmp_path / "l.sqlite", beta=0.05, **CHOICES, solver="ipopt")
    assert len(record.solves) == 1 + made.restored.solves
    fresh = solve_acopf(made.published.network, solver="ipopt")
    assert made.opf.cost == pytest.approx(fresh.cost, rel=1e-9)
