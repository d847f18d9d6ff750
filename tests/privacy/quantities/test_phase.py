"""Private quantities: what they depend on, what is left of raw values, and what is refused."""

import numpy as np
import pytest

from gridveil import (
    QUANTITIES,
    GridveilError,
    Ledger,
    load_case,
    privatise_quantities,
    protect,
    simulate_quantities,
    solve_acopf,
)
from gridveil.network.conversion import build_network
from gridveil.privacy.phase import Origin
from tests.cases import TINY, polynomial
from tests.privacy.quantities.hard_case import hard_case

ALL = [protect(name, 1, "10%") for name in QUANTITIES.names]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def test_nothing_released_depends_on_raw_values_but_through_the_draw(ledger):
    """Two sources with other raw values of every quantity, and one draw: the same bytes."""
    one, other = hard_case().network(), hard_case(1.7, comment="").network()
    drawn = [privatise_quantities(n, ALL, ledger, "id") for n in (one, other)]
    for name in QUANTITIES.names:
        kind = QUANTITIES.get(name)
        assert not np.array_equal(kind.values(one), kind.values(other))
        assert np.array_equal(*(of[name].values for of in drawn))
    networks = [of.network(n) for of, n in zip(drawn, (one, other), strict=True)]
    assert networks[0].case.text == networks[1].case.text


def test_no_raw_number_stands_in_the_private_case(ledger):
    case = hard_case()
    network = case.network()
    text = privatise_quantities(network, ALL, ledger, "id").network(network).case.text
    words = set(text.replace(";", " ").replace("\t", " ").split())
    secret = (
        {
            f"{value:.12g}"
            for name, columns in {"branch": (2, 3, 4, 5, 6, 7), "gen": (*range(1, 5), 6, 8)}.items()
            for row in getattr(case, name)
            for value in (row[column] for column in columns)
        }
        | {f"{value:.12g}" for row in case.gencost for value in row[4:]}
        | {"1234.5", "567.25"}
    )
    assert len(secret) > 30
    # 0, 1 and −1 stand for what is public or cleared
    assert words & secret <= {"0", "1", "-1"}
    assert "SECRET" not in text
    assert "notes" not in text


def test_the_private_case_is_read_back_as_the_private_network(ledger):
    network = hard_case().network()
    private = privatise_quantities(network, ALL, ledger, "id").network(network)
    read = build_network(private.case)
    for name in ("r", "x", "b", "tap", "shift", "angle_min"):
        assert np.array_equal(getattr(read.lines, name), getattr(private.lines, name))
    assert read.lines.rate == pytest.approx(private.lines.rate, rel=1e-15)
    assert read.generators.p_max == pytest.approx(private.generators.p_max, rel=1e-15)
    coefficients = (n.generators.costs.coefficients for n in (read, private))
    np.testing.assert_allclose(*coefficients, rtol=1e-14)
    assert read.loads == network.loads
    assert (private.lines.x < 0).tolist() == [False, False, False, True, False]
    assert private.lines.rate[[2, 4]].tolist() == [np.inf, np.inf]


def test_elements_are_named_by_buses_whatever_is_switched_off():
    network = hard_case().network()
    assert QUANTITIES.get("impedances").keys(network) == (
        "1-2-1", "1-2-2", "2-7-1", "1-7-1", "1-7-3",
    )  # fmt: skip
    assert QUANTITIES.get("costs").keys(network) == ("1-1", "7-1")


def test_other_signs_or_zeros_under_the_same_id_are_refused(ledger):
    promises = [protect("impedances", 1, "10%")]
    privatise_quantities(hard_case().network(), promises, ledger, "id")
    changed = hard_case().with_cell("branch", 2, 4, 0.5).network()
    with pytest.raises(GridveilError, match="private values cannot be drawn again"):
        privatise_quantities(changed, promises, ledger, "id")


def test_limits_that_noise_has_turned_around_are_in_order(ledger):
    tight = [[at, 0, 0, 50, 49.9, 1, 100, 1, 90, 89.9] for at in (1, 7)]
    network = TINY.with_(gen=tight).network()
    promises = [protect("limits", 1, "20%")]
    for seed in range(20):
        gens = simulate_quantities(network, promises, seed).network(network).generators
        assert (gens.p_min <= gens.p_max).all()
        assert (gens.q_min <= gens.q_max).all()


def test_a_simulation_is_marked_and_repeats_itself():
    network = load_case("case5_pjm")
    one, other = (simulate_quantities(network, ALL, seed=3) for _ in range(2))
    assert np.array_equal(one["ratings"].values, other["ratings"].values)
    assert one.origin is Origin.SIMULATION
    with pytest.raises(GridveilError, match="simulation"):
        one.require_private()
    with pytest.raises(GridveilError, match="seed"):
        simulate_quantities(network, ALL, seed=-1)


def test_private_costs_alone_leave_a_network_that_works(ledger):
    network = load_case("case5_pjm")
    noisy = privatise_quantities(network, [protect("costs", 1, "10%")], ledger, "id")
    noisy.require_private()
    result = solve_acopf(noisy.network(network))
    assert result.status.solved
    assert result.cost != pytest.approx(17551.89, rel=1e-3)


def test_costs_that_cannot_be_protected_are_refused_by_name(ledger):
    curve = [[1, 0, 0, 2, 0, 0, 100, 1000], polynomial(0.01, 20.0, 0.0)]
    promises = [protect("costs", 1, "10%")]
    with pytest.raises(GridveilError, match=r"generator 1 \(bus 1\) has a piecewise-linear cost"):
        privatise_quantities(TINY.with_(gencost=curve).network(), promises, ledger, "id")
    cubic = [polynomial(1e-4, 0.01, 20.0, 0.0)] * 2
    with pytest.raises(GridveilError, match="order 3"):
        privatise_quantities(TINY.with_(gencost=cubic).network(), promises, ledger, "id")
    assert ledger.is_empty


@pytest.mark.parametrize("promises", [[], [ALL[0], ALL[0]]])
def test_one_promise_for_each_quantity_is_needed(ledger, promises):
    with pytest.raises(GridveilError, match="one for each quantity"):
        privatise_quantities(TINY.network(), promises, ledger, "id")


def test_a_network_without_ratings_has_none_to_protect(ledger):
    network = TINY.with_cell("branch", 0, 5, 0.0).network()
    with pytest.raises(GridveilError, match="no ratings to protect"):
        privatise_quantities(network, [protect("ratings", 1, "10%")], ledger, "id")
    drawn = simulate_quantities(network, [protect("costs", 1, "10%")], 1)
    with pytest.raises(GridveilError, match="'ratings' is none of the quantities drawn: costs"):
        drawn["ratings"]
