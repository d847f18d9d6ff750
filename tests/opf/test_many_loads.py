"""AC-OPFs of many loads as one batch: each as by Ipopt alone."""

import numpy as np
import pytest

from gridveil import load_case, solve_acopf, using
from gridveil.opf.many_loads import solve_many_loads

FACTORS = np.array([1.0, 0.9, 3.0, 0.8])


@pytest.mark.parametrize("solver", ["ipopt", "interior-point"])
def test_each_is_as_alone(solver):
    network = load_case("case14_ieee")
    shares = np.random.default_rng(1).uniform(0.9, 1.0, (4, len(network.loads)))
    p, q = FACTORS[:, None] * shares * network.loads.p, FACTORS[:, None] * network.loads.q
    with using(solver):
        found = solve_many_loads(network, p, q, threads=1)
    assert found.solved.tolist() == [True, True, False, True]
    assert found.points[2] is None
    for k in (0, 1, 3):
        alone = solve_acopf(network.with_loads(p[k], q[k]), solver="ipopt")
        assert found.costs[k] == pytest.approx(alone.cost, rel=1e-6)
        assert found.points[k].p == pytest.approx(alone.point.p, abs=1e-4)
