"""A federation says, iteration for iteration and to the bit, what one process says."""

import random
from dataclasses import replace

import numpy as np
import pytest

from gridveil import load_case
from gridveil.federation.partition.ownership import Partition, partition
from tests.cases import ISOLATED_LOADS, NESTA, NESTA_FILES, in_parts, needs_nesta
from tests.federation.in_process import federated, joined, problem, together
from tests.relative_noise import relative_loads

ITERATIONS = 120
CASES = [path.stem for path in NESTA_FILES if path != ISOLATED_LOADS]
"""All but the largest, which one process starts from a power flow and a federation flat."""


def assert_same(case, cut, folder, noise=None, **options):
    network, costs, noisy, beta = problem(case)
    noisy = noisy if noise is None else noise(network)
    one = together(network, costs, noisy, beta, **options)
    found, parts, members, logged = federated(
        network, costs, noisy, beta, cut(network), folder, **options
    )
    for name, result in found.items():
        assert not isinstance(result, BaseException), (name, result)
    values = joined(network, found, parts)
    point = one.point
    expected = (one.p, one.q, point.p, point.q, point.v, point.theta)
    for mine, theirs in zip(values.values(), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    run = one.agents
    decision = found["coordinator"]
    assert (decision.stop, decision.status) == (run.iterations, run.status)
    history = members["coordinator"].history(decision.stop)
    np.testing.assert_array_equal(history[:, 0], run.history.primal)
    np.testing.assert_array_equal(history[:, 1], run.history.dual)
    assert logged == []


@needs_nesta
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", [2, 5, 10])
def test_nesta(case, count, tmp_path):
    def cut(network):
        return partition(network, min(count, len(network.buses)))

    assert_same(str(NESTA / f"{case}.m"), cut, tmp_path, max_iterations=ITERATIONS)


@pytest.mark.parametrize("policy", ["fast", "paper"])
def test_to_the_end(policy, tmp_path):
    most = 5000 if policy == "fast" else 333
    options = {"policy": policy, "max_iterations": most}
    assert_same("case14_ieee", lambda network: partition(network, 4), tmp_path, **options)


@pytest.mark.parametrize("seed", range(6))
def test_however_components_are_owned(seed, tmp_path):
    """Loads and generators at others' buses, lines between two others, parties without a bus."""
    choose = random.Random(seed)

    def scattered(network):
        names = [f"party-{i}" for i in range(choose.choice([2, 3, 6]))]

        def some(count):
            return tuple(choose.choice(names) for _ in range(count))

        counts = (network.buses, network.loads, network.generators, network.lines)
        return Partition(*(some(len(parts)) for parts in counts))

    case = choose.choice(["case14_ieee", "case30_ieee", "case5_pjm", "case39_epri"])
    assert_same(case, scattered, tmp_path, max_iterations=choose.choice([57, 80, 111]))


@pytest.mark.parametrize(("case", "count"), [("case14_ieee", 4), ("case30_ieee", 3)])
def test_every_party_weighs_its_own_loads(case, count, tmp_path):
    """A relative promise: weights follow from private loads that only their owners have."""
    assert_same(
        case,
        lambda network: partition(network, count),
        tmp_path,
        lambda network: relative_loads(network, 1),
        max_iterations=ITERATIONS,
    )


def test_several_loads_at_a_bus_that_parties_share(tmp_path):
    def shared(network):
        found = partition(network, 3)
        others = {"party-1": "party-2", "party-2": "party-3", "party-3": "party-1"}
        pairs = zip(found.loads, network.loads.number.tolist(), strict=True)
        loads = tuple(others[owner] if number == 2 else owner for owner, number in pairs)
        return replace(found, loads=loads)

    assert_same(in_parts(load_case("case14_ieee")), shared, tmp_path, max_iterations=80)


def test_one_party_is_a_federation_too(tmp_path):
    assert_same("case5_pjm", lambda n: partition(n, 1), tmp_path, max_iterations=50)
