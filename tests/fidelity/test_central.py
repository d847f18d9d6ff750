"""P_RBL of many draws at once: each ends as alone."""

import numpy as np
import pytest

from gridveil import (
    PolarLaplace,
    ProductLaplace,
    load_case,
    restore,
    restore_many,
    simulate_loads,
    solve_acopf,
    using,
)
from gridveil.errors import GridveilError
from gridveil.fidelity.load_limits import LoadLimits
from tests.cases import TINY, gen, polynomial

NETWORK = load_case("case30_ieee")
SEEDS = (1, 2, 3)
DRAWS = [simulate_loads(NETWORK, ProductLaplace.of(1, 0.02), seed) for seed in SEEDS]


@pytest.fixture(scope="module")
def hours():
    """Solutions of three hours, each with loads of its own."""
    p, q = NETWORK.loads.p, NETWORK.loads.q
    return [solve_acopf(NETWORK.with_loads(p * f, q * f)) for f in (1.0, 0.9, 0.8)]


def limits(power_factor):
    return LoadLimits(np.ones(len(NETWORK.loads), bool), power_factor)


@pytest.mark.parametrize("solver", ["ipopt", "interior-point"])
@pytest.mark.parametrize(
    ("band", "options"),
    [("cost", {}), ("total", {}), ("dispatch", {}), ("none", {}),
     ("cost", {"limits": limits(None)}), ("cost", {"limits": limits(0.8)})],
)  # fmt: skip
def test_each_draw_has_its_own_band_and_ends_as_alone(hours, solver, band, options):
    costs = np.stack([hour.generator_costs for hour in hours])
    outputs = np.stack([hour.point.p for hour in hours])
    target = {"costs": costs} if band in ("cost", "total") else {"dispatch": outputs}
    target = {} if band == "none" else target
    with using(solver):
        many = restore_many(
            NETWORK, DRAWS, beta=0.05, method="central", band=band, **target, **options
        )
        for k, (noisy, found) in enumerate(zip(DRAWS, many, strict=True)):
            own = {name: rows[k] for name, rows in target.items()}
            alone = restore(
                NETWORK, noisy, beta=0.05, method="central", band=band, **own, **options
            )
            assert found.status.solved
            assert found.iterations == alone.iterations
            assert found.distance_to(alone) < 1e-9
            assert found.max_violation < 1e-6


@pytest.mark.parametrize("solver", ["ipopt", "interior-point"])
def test_bands_of_two_intervals_are_kept_in_each(solver):
    valley = polynomial(0.01, -1.0, 30.0)  # least, 5 $/h, at 50 MW
    case = TINY.with_(gen=[gen(1, 200.0), gen(7, 100.0)], gencost=[polynomial(10.0, 0.0), valley])
    network, costs = case.network(), np.array([900.0, 14.0])
    draws = [simulate_loads(network, PolarLaplace.of(1, 0.3), seed) for seed in range(6)]
    with using(solver):
        many = restore_many(network, draws, costs, 0.05, "central")
        for noisy, found in zip(draws, many, strict=True):
            alone = restore(network, noisy, costs, 0.05, "central")
            assert found.status == alone.status
            assert (found.solves, found.iterations) == (alone.solves, alone.iterations)
            assert found.band_slack.min() >= -1e-7 or not found.status.solved
    assert {found.solves for found in many} == {1, 2}  # some were between the intervals


def test_rows_of_costs_must_fit():
    with pytest.raises(GridveilError, match="costs: 2 rows for 3 draws"):
        restore_many(NETWORK, DRAWS, np.ones((2, len(NETWORK.generators))), method="central")
