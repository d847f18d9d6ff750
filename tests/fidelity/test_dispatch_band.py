"""Bands on the dispatch, and none: what is kept, by whom, and who refuses."""

import numpy as np
import pytest

from gridveil import (
    AgentOptions,
    BandKind,
    GridveilError,
    ProductLaplace,
    load_case,
    restore,
    restore_many,
    simulate_loads,
    solve_acopf,
)
from gridveil.fidelity.bands import dispatch_bands, largest_deviation
from gridveil.fidelity.registry import METHODS, band_kind, make_method
from tests.cases import TINY, gen, network_without_costs

NETWORK = network_without_costs("case14_ieee")
NOISY = simulate_loads(NETWORK, ProductLaplace.of(1, 0.1), seed=1)
TRUE = solve_acopf(NETWORK).point.p
BETA = 0.01


def deviations(outputs, target, network=NETWORK):
    """By a formula of our own: how far each is off, as a share of its range."""
    gens = network.generators
    width = gens.p_max - gens.p_min
    return np.abs(outputs - target)[width > 0] / width[width > 0]


@pytest.mark.parametrize("method", ["central", "admm"])
def test_every_output_stays_within_its_share_of_the_range(method):
    agents = AgentOptions(polish=True) if method == "admm" else None
    found = restore(
        NETWORK, NOISY, beta=BETA, method=method, band="dispatch", dispatch=TRUE, agents=agents
    )
    assert found.status.solved
    assert found.max_violation < 1e-6
    off = deviations(found.point.p, TRUE)
    assert off.max() <= BETA + 1e-6
    assert off.max() > 0.9 * BETA  # the noise moved the total, and the band is what holds it
    assert found.largest_deviation == pytest.approx(off.max(), abs=1e-5)
    assert found.displacement > 0.01
    assert found.costs.size == 0
    assert found.figures()["cost_gap_optimal"] is None


def test_agents_find_what_the_central_solver_finds():
    central = restore(NETWORK, NOISY, beta=BETA, band="dispatch", dispatch=TRUE)
    agents = restore(NETWORK, NOISY, beta=BETA, band="dispatch", dispatch=TRUE, method="admm")
    assert central.method == "central"
    assert agents.agents is not None
    assert agents.agents.status.solved
    assert agents.distance_to(central) < 2e-2 * central.displacement


def test_without_a_band_loads_that_work_are_kept():
    found = restore(NETWORK, NOISY, band="none")
    noisy = solve_acopf(NETWORK.with_loads(NOISY.p, NOISY.q))
    assert noisy.status.solved
    assert found.status.solved
    assert found.displacement < 1e-5
    narrow = restore(NETWORK, NOISY, beta=BETA, band="dispatch", dispatch=TRUE)
    assert found.displacement < narrow.displacement


def test_a_network_with_costs_may_have_a_band_on_its_dispatch():
    network = load_case("case5_pjm")
    noisy = simulate_loads(network, ProductLaplace.of(1, 0.1), seed=2)
    cheapest = solve_acopf(network).point.p
    found = restore(network, noisy, beta=BETA, band="dispatch", dispatch=cheapest)
    assert found.status.solved
    assert deviations(found.point.p, cheapest, network).max() <= BETA + 1e-6


def test_many_draws_at_once():
    draws = [NOISY, simulate_loads(NETWORK, ProductLaplace.of(1, 0.1), seed=3)]
    found = restore_many(
        NETWORK, draws, beta=BETA, band="dispatch", dispatch=TRUE, method="admm", threads=1
    )
    for one, noisy in zip(found, draws, strict=True):
        alone = restore(NETWORK, noisy, beta=BETA, band="dispatch", dispatch=TRUE, method="admm")
        assert one.network.loads == alone.network.loads


def test_bilevel_is_about_costs_and_says_so():
    for band in ("dispatch", "none"):
        with pytest.raises(GridveilError, match=f"the band '{band}' says nothing of costs"):
            make_method("bilevel").check(band_kind(band))
        assert make_method(None, band=band_kind(band)).name == "central"
        for method in ("central", "admm"):
            make_method(method).check(band_kind(band))
    assert make_method(None).name == "bilevel"
    assert set(METHODS.names) >= {"bilevel", "central", "admm"}


def test_the_name_of_former_versions_is_understood():
    assert band_kind("generator") is BandKind.COST
    assert BandKind.GENERATOR is BandKind.COST
    assert [band.value for band in BandKind] == ["cost", "total", "dispatch", "none"]
    with pytest.raises(GridveilError, match="is none of cost, total, dispatch, none"):
        band_kind("generators")


@pytest.mark.parametrize(
    ("band", "given", "says"),
    [
        ("dispatch", {}, "band 'dispatch' needs dispatch"),
        ("dispatch", {"costs": TRUE}, "has no use for costs"),
        ("none", {"dispatch": TRUE}, "has no use for dispatch"),
        ("cost", {"dispatch": TRUE}, "needs costs"),
        ("cost", {"costs": TRUE}, "has no generator costs"),
        ("dispatch", {"dispatch": TRUE[1:]}, "one finite number for each of the 5 generators"),
        ("dispatch", {"dispatch": TRUE * np.nan}, "one finite number"),
        ("dispatch", {"dispatch": TRUE + 10}, r"generator 1 \(bus 1\) \(and 4 more\)"),
    ],
)
def test_what_does_not_fit_is_refused(band, given, says):
    with pytest.raises(GridveilError, match=says):
        restore(NETWORK, NOISY, beta=BETA, band=band, **given)


def test_bands_end_at_limits_and_a_unit_without_limits_is_free():
    network = TINY.with_(gen=[gen(1, 200.0), gen(7, np.inf, p_min=-np.inf)]).network()
    first, second = dispatch_bands(network, np.array([1.99, 5.0]), 0.01)
    assert first.hull == pytest.approx((1.97, 2.0))
    assert second.intervals == ((-np.inf, np.inf),)
    assert dispatch_bands(network, np.array([1.0, 5.0]), 0.0)[0].intervals == ((1.0, 1.0),)
    assert largest_deviation(network.generators, np.array([1.0, 9.0]), np.array([1.1, 0.0])) == (
        pytest.approx(0.05, abs=1e-6)
    )
