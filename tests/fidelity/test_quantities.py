"""Lines and loads restored together: against closed forms, the raw network, and each other."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from gridveil import (
    GridveilError,
    RelativeLaplace,
    load_case,
    protect,
    restore_quantities,
    simulate_loads,
    simulate_quantities,
    solve_acopf,
)
from gridveil.network.conversion import build_network
from gridveil.opf.operating_point import violations
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from gridveil.privacy.quantities.base import is_protected
from tests.cases import TINY, Case, bus, gen, line, polynomial

BETA = 0.01
X, P = 0.1, 1.0
RATE = 1.002
"""Of a line without losses whose far end draws P = 1: |S_f|² = 1 + (x/v²)² at v = 1.1."""


def one_line(rate):
    sender, receiver = bus(1, 3), bus(2, 1, 100.0 * P)
    sender[11] = 1.3
    return Case(
        bus=[sender, receiver],
        gen=[gen(1, 300.0)],
        branch=[line(1, 2, r=0.0, x=X, b=0.0, rate=100 * rate)],
        gencost=[polynomial(0.0, 10.0, 0.0)],
    ).network()


def unmoved(network, promises):
    """Return private quantities that noise has not moved: a simulation of next to none."""
    noisy = simulate_quantities(network, promises, seed=1)
    parts = tuple(replace(part, values=part.quantity.values(network)) for part in noisy.parts)
    return replace(noisy, parts=parts)


def test_an_impedance_moves_as_far_as_the_rating_asks_for():
    network, promises = one_line(RATE), [protect("impedances", 1, "10%")]
    restored = restore_quantities(network, unmoved(network, promises))
    x = 1.21 * np.sqrt(RATE**2 - P)
    assert restored.status.solved
    assert restored.network.lines.x == pytest.approx([x], rel=1e-6)
    distance = promises[0].guarantee().distance
    assert restored.displacement == pytest.approx(np.log(X / x) / distance, rel=1e-6)
    assert restored.network.lines.r[0] == restored.network.lines.b[0] == 0


def test_a_rating_moves_as_far_as_the_flow_asks_for():
    network, promises = one_line(0.8), [protect("ratings", 1, "10%")]
    restored = restore_quantities(network, unmoved(network, promises))
    square = 1 + (X / 1.21) ** 2
    assert restored.network.lines.rate**2 == pytest.approx([square], rel=1e-6)
    distance = promises[0].guarantee().distance
    assert restored.displacement == pytest.approx((square / 0.64 - 1) / 2 / distance, rel=1e-6)


def test_both_share_what_is_asked_for_by_their_promises():
    network = one_line(RATE)
    promises = [protect("impedances", 1, "10%"), protect("ratings", 1, "10%")]
    z, rate = (promise.guarantee().distance for promise in promises)

    def square(t):
        s = (1 + (X * np.exp(t) / 1.21) ** 2) / RATE**2 - 1
        return (t / z) ** 2 + max(s, 0) ** 2 / 4 / rate**2

    best = minimize_scalar(square, bounds=(-1, 0), method="bounded", options={"xatol": 1e-10})
    restored = restore_quantities(network, unmoved(network, promises))
    assert restored.displacement == pytest.approx(np.sqrt(best.fun), rel=1e-4)
    assert np.log(restored.network.lines.x / X) == pytest.approx([best.x], rel=1e-2)


@pytest.fixture(scope="module", params=["case30_ieee", "case57_ieee"])
def grid(request):
    network = load_case(request.param)
    return network, solve_acopf(network).cost


def band(cost):
    return (1 - BETA) * cost, (1 + BETA) * cost


def kinds(network, *names):
    has_ratings = np.isfinite(network.lines.rate).any()
    return [protect(name, 1, "10%") for name in names if has_ratings or name != "ratings"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_restored_networks_work_and_are_closer_than_the_raw_one(grid, seed):
    network, cost = grid
    noisy = simulate_quantities(network, kinds(network, "impedances", "ratings"), seed)
    restored = restore_quantities(network, noisy, total=band(cost))
    assert restored.status.solved
    assert violations(restored.network, restored.point).largest < 1e-6
    spent = float(network.generators.costs(restored.point.p).sum())
    assert band(cost)[0] - 1e-3 <= spent <= band(cost)[1] + 1e-3
    raw = 0.0
    for part in noisy.parts:
        values = part.quantity.values(network)
        which = is_protected(values)
        moved = np.log(values[which] / part.values[which])
        raw += float((moved**2).sum()) / part.guarantee.distance**2
    assert restored.displacement < 0.5 * np.sqrt(raw)


@pytest.mark.parametrize("seed", [1, 2])
def test_lines_and_loads_together_move_less_than_lines_alone(grid, seed):
    """A dispatch that costs a tenth less: lines can hardly bring it about, loads can."""
    network, cost = grid
    noisy = simulate_quantities(network, kinds(network, "impedances"), seed)
    loads = simulate_loads(network, RelativeLaplace.of(1, "0.1"), seed)
    total = band(0.9 * cost)
    together = restore_quantities(network, noisy, loads=loads, total=total)
    lines = restore_quantities(network.with_loads(loads.p, loads.q), noisy, total=total)
    assert together.status.solved
    assert violations(together.network, together.point).largest < 1e-6
    assert together.displacement > 0.1
    assert not lines.status.solved or together.displacement < 0.8 * lines.displacement


def test_nothing_depends_on_raw_values(grid):
    network, cost = grid
    noisy = simulate_quantities(network, kinds(network, "impedances", "ratings"), 3)
    loads = simulate_loads(network, PolarLaplace.of(1, 0.1), 3)
    lines = network.lines
    other = replace(
        network.with_loads(0.5 * network.loads.p, 0.7 * network.loads.q),
        lines=replace(lines, r=1.3 * lines.r, x=0.8 * lines.x, b=2 * lines.b, rate=3 * lines.rate),
    )
    one, two = (
        restore_quantities(of, noisy, loads=loads, total=band(cost)) for of in (network, other)
    )
    assert one.network.lines == two.network.lines
    assert one.network.loads == two.network.loads
    assert one.point == two.point
    case = two.network.case
    assert one.network.case.text == case.text
    assert one.network.case.loads == case.loads
    for column in ("Pd", "Qd"):
        raw, told = (of.tables["bus"].column(column) for of in (network.case, case))
        assert not np.isin(told, raw[raw != 0]).any()
        assert ((told != 0) == np.isin(np.arange(len(told)), network.loads.row)).all()
    read = build_network(case)
    assert read.loads.p == pytest.approx(one.network.loads.p, rel=1e-14)


def test_a_limit_of_a_generator_moves_as_far_as_the_load_asks_for():
    """Two units that the noise has left a tenth short of the load: both grow by the same part."""
    network = TINY.with_(
        bus=[bus(1, 3), bus(2, 1, 0.0), bus(7, 2, 100.0)],
        gen=[gen(7, 45.0), gen(7, 45.0, q=np.inf)],
    ).network()
    promises = [protect("limits", 1, "10%")]
    restored = restore_quantities(network, unmoved(network, promises))
    assert restored.status.solved
    gens = restored.network.generators
    assert gens.p_max == pytest.approx([0.5, 0.5], rel=1e-4)
    assert np.isinf(gens.q_max).tolist() == [False, True]
    assert (gens.p_min == 0).all()
    distance = promises[0].guarantee().distance
    assert restored.displacement == pytest.approx(np.sqrt(2) / 9 / distance, rel=1e-3)


@pytest.mark.parametrize("seed", [1, 2])
def test_all_that_can_move_moves_together(grid, seed):
    network, cost = grid
    names = "impedances", "ratings", "limits"
    noisy = simulate_quantities(network, kinds(network, *names), seed)
    loads = simulate_loads(network, RelativeLaplace.of(1, "0.1"), seed)
    restored = restore_quantities(network, noisy, loads=loads, total=band(cost))
    assert restored.status.solved
    assert violations(restored.network, restored.point).largest < 1e-6
    gens, private = restored.network.generators, noisy["limits"].values
    assert (np.sign(gens.p_max) == np.sign(private[:, 1])).all()


def test_what_cannot_be_restored_is_refused_by_name():
    network = load_case("case5_pjm")
    noisy = simulate_quantities(network, [protect("costs", 1, "10%")], 1)
    with pytest.raises(GridveilError, match="costs: only impedances, ratings, limits"):
        restore_quantities(network, noisy)
