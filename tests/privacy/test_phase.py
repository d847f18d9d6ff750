"""The privacy phase of a network: drawn once, not from a simulation, not by an unsound one."""

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds, simulation_bounds
from gridveil.privacy.ledger.ledger import Ledger
from gridveil.privacy.mechanisms.piecewise import Piecewise
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.phase import Origin, privatise, simulate_loads
from tests.cases import TINY

NETWORK = TINY.network()
MECHANISM = PolarLaplace.of(1, 0.1)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def test_a_release_is_drawn_once(ledger):
    first = privatise(NETWORK, MECHANISM, ledger, "spring")
    again = privatise(NETWORK, MECHANISM, ledger, "spring")
    other = privatise(NETWORK, MECHANISM, ledger, "autumn")
    assert first == again
    assert not np.array_equal(first.p, other.p)
    assert [account.spent for account in ledger.accounts()] == [2, 2]
    first.require_private()


def test_after_the_draw_the_true_loads_do_not_matter(ledger):
    before = privatise(NETWORK, MECHANISM, ledger, "spring")
    swapped = NETWORK.with_loads(NETWORK.loads.p * 3, NETWORK.loads.q - 1)
    assert privatise(swapped, MECHANISM, ledger, "spring") == before


def test_values_are_on_the_grid(ledger):
    noisy = privatise(NETWORK, MECHANISM, ledger, "spring")
    assert np.allclose(noisy.p * 10_000, np.rint(noisy.p * 10_000), atol=1e-9)


def test_the_same_id_with_other_parameters_is_refused(ledger):
    privatise(NETWORK, MECHANISM, ledger, "spring")
    with pytest.raises(GridveilError, match="with other parameters"):
        privatise(NETWORK, PolarLaplace.of(0.5, 0.1), ledger, "spring")


def test_simulations_are_repeatable_and_may_not_be_released(ledger):
    one, two = (simulate_loads(NETWORK, MECHANISM, seed=7) for _ in range(2))
    assert one == two
    assert one.origin is Origin.SIMULATION
    with pytest.raises(GridveilError, match="come from a simulation"):
        one.require_private()
    assert ledger.accounts() == [], "a simulation touches no budget"


def test_the_papers_piecewise_needs_an_explicit_yes(ledger):
    bounds = PublicBounds(np.array([[0.0, 0.0]]), np.array([[2.0, 2.0]]), "rating")
    paper = Piecewise.of(1, 0.1, bounds, "paper")
    with pytest.raises(GridveilError, match="refused for a release"):
        privatise(NETWORK, paper, ledger, "spring")
    ledger.set_cap(20)
    accepted = privatise(NETWORK, paper, ledger, "spring", accept_unsound=True)
    assert accepted.guarantee.epsilon == 20.0
    assert [account.spent for account in ledger.accounts()] == [20, 20], "its true cost is charged"


def test_a_network_without_loads_has_nothing_to_protect(ledger):
    empty = TINY.with_(bus=[[*row[:2], 0.0, 0.0, *row[4:]] for row in TINY.bus]).network()
    for attempt in (
        lambda: privatise(empty, MECHANISM, ledger, "spring"),
        lambda: simulate_loads(empty, MECHANISM, seed=1),
    ):
        with pytest.raises(GridveilError, match="nothing to protect"):
            attempt()
    assert ledger.accounts() == []


def test_budgets_are_kept_in_mva(ledger):
    """The same α in p.u. on a tenth of the base is a tenth of the distance: ten times the cost."""
    ledger.set_cap(100)
    privatise(TINY.with_(base_mva=1000.0).network(), MECHANISM, ledger, "coarse")
    privatise(NETWORK, MECHANISM, ledger, "fine")
    assert [account.spent for account in ledger.accounts()] == [11, 11]
    with pytest.raises(GridveilError, match="with other parameters"):
        privatise(NETWORK, MECHANISM, ledger, "coarse")


def test_bounds_taken_from_the_loads_are_for_simulation_only(ledger):
    mechanism = Piecewise.of(1, 0.1, simulation_bounds(NETWORK))
    simulate_loads(NETWORK, mechanism, seed=1)
    with pytest.raises(GridveilError, match="for simulation only"):
        privatise(NETWORK, mechanism, ledger, "spring")
    assert ledger.accounts() == []


def test_other_bounds_are_another_release(ledger):
    low = np.array([[0.0, 0.0]])
    for upper in (2.0, 3.0):
        bounds = PublicBounds(low, np.full((1, 2), upper), "ratings.csv")
        if upper == 2.0:
            privatise(NETWORK, Piecewise.of(1, 0.1, bounds), ledger, "spring")
        else:
            with pytest.raises(GridveilError, match="with other parameters"):
                privatise(NETWORK, Piecewise.of(1, 0.1, bounds), ledger, "spring")


def test_a_seed_must_not_be_negative():
    with pytest.raises(GridveilError, match="seed: -1"):
        simulate_loads(NETWORK, MECHANISM, seed=-1)
