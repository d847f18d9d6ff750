"""The proof of the series mechanism against enumeration, SciPy's chances, and draws."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gridveil.errors import GridveilError
from gridveil.privacy.audit.series import worst_change
from gridveil.privacy.calibration import WIDEST
from gridveil.privacy.series.basis import Basis
from gridveil.privacy.series.mechanism import (
    MOST_HOURS,
    SeriesMechanism,
    scales_of,
)
from gridveil.privacy.series.promise import SeriesPromise
from tests.privacy.series.small import loss_of, mechanism, worst_within

EPSILON = 1.0


# The worst loss of all neighbours.


@pytest.mark.parametrize(
    ("hours", "frequencies"), [(1, (0,)), (2, (0, 1)), (3, (0, 1)), (4, (0,)), (4, (0, 1))]
)
def test_window_loses_what_it_claims_and_no_more(hours, frequencies):
    made = mechanism("window", hours, frequencies)
    worst = worst_within(made, range(hours))
    assert 0.85 * EPSILON <= worst <= EPSILON


@pytest.mark.parametrize("hours", [1, 2, 4])
def test_energy_loses_what_it_claims_and_no_more(hours):
    """All ways to share out α among hours, P and Q, in quarters."""
    made = mechanism("energy", hours)
    quarter = made.alpha_steps // 4
    cells = 2 * hours
    shares = [s for s in np.ndindex(*(5,) * cells) if sum(s) == 4]
    found = [loss_of(made, np.reshape(share, (2, hours)) * quarter) for share in shares]
    assert 0.85 * EPSILON <= max(found) <= EPSILON


@pytest.mark.parametrize("frequencies", [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)])
def test_any_24_hours_lose_no_more_than_claimed_also_over_two_blocks(frequencies):
    """Exactly: over the signs of all coefficients, each hour moves what loses more, P or Q."""
    made = mechanism("day", 48, frequencies)
    worst = [
        loss_of(made, worst_change(made, range(offset, offset + 24)) * made.alpha_steps)
        for offset in range(25)
    ]
    assert max(worst) <= EPSILON
    assert max(worst[1:24]) >= 0.95 * EPSILON  # over two blocks
    rule = np.array([float(loss) for loss in made.hourly_losses().losses])
    for offset, loss in enumerate(worst):
        assert loss <= rule[offset : offset + 24].sum() * (1 + 1e-12)


def test_the_worst_change_is_that_of_an_enumeration():
    made = mechanism("window", 4, (0, 1))
    change = worst_change(made, range(4)) * made.alpha_steps
    assert loss_of(made, change) == pytest.approx(worst_within(made, range(4)), rel=1e-12)


@pytest.mark.parametrize(("kind", "frequencies"), [("window", (0, 1)), ("energy", None)])
def test_outputs_tell_what_the_loss_says(kind, frequencies):
    """SciPy has the chances of every output near two neighbours."""
    made = mechanism(kind, 2, frequencies, epsilon=2)
    random = np.random.default_rng(3)
    one = random.integers(-5000, 5000, (1, 2, 2))
    other = one + random.integers(-400, 400, one.shape)
    mean, far = made.coefficients(one), made.coefficients(other)
    rates = 1 / np.array(made.scales)
    for _ in range(20):
        output = mean + random.integers(-(10**6), 10**6, mean.shape)
        chances = (
            stats.dlaplace.logpmf(output - mean, rates).sum()
            - stats.dlaplace.logpmf(output - far, rates).sum()
        )
        assert made.loss(output, one, other) == pytest.approx(chances, rel=1e-6, abs=1e-9)


# Rounding.

EDGES = st.sampled_from([-0.5, -0.5 + 1e-9, 0.0, 0.5 - 1e-9, 0.5])
WHOLE = st.integers(-9000, 9000)
VALUES = st.lists(st.tuples(WHOLE, EDGES, WHOLE, EDGES), min_size=2, max_size=2)


@settings(max_examples=60)
@given(VALUES, st.sampled_from(["day", "energy"]))
def test_rounding_adds_at_most_two_steps_an_hour(values, kind):
    """Of any two values of an hour, at the edges where rounding costs most."""
    made = mechanism(kind, 1, None if kind == "energy" else (0,))
    step = made.steps[0]
    p = np.array([float((v[0] + Fraction(v[1])) * step) for v in values])
    q = np.array([float((v[2] + Fraction(v[3])) * step) for v in values])
    grid = [made.to_grid(p[[i]][:, None], q[[i]][:, None]) for i in (0, 1)]
    apart = sum(abs(Fraction(x[0]) - Fraction(x[1])) for x in (p.tolist(), q.tolist()))
    assert int(np.abs(grid[0] - grid[1]).sum()) <= apart / step + 2
    for x, found in ((p, [g[0, 0, 0] for g in grid]), (q, [g[0, 1, 0] for g in grid])):
        assert all(
            abs(Fraction(v) / step - int(n)) <= Fraction(1, 2)
            for v, n in zip(x.tolist(), found, strict=True)
        )


def test_distances_in_steps_leave_room_for_rounding():
    assert mechanism("day", 24).distance_steps == mechanism("day", 24).alpha_steps + 2
    made = mechanism("energy", 8)
    assert made.distance_steps == made.alpha_steps + 2 * MOST_HOURS


def test_scales_are_never_below_what_the_proof_asks_for():
    promise = SeriesPromise.of("day", "1/3", "5MVA")
    basis = Basis(24, (0, 1, 5), (7, 2, 1))
    for scale, rate in zip(scales_of(promise, basis), basis.rates, strict=True):
        assert Fraction(scale) >= Fraction(1002) * 3 / rate
        assert scale == pytest.approx(float(1002 * 3 / rate), rel=1e-15)


# Nothing overflows.


@pytest.mark.parametrize("kind", ["energy", "day", "window"])
def test_the_largest_loads_stay_within_64_bits(kind):
    hours = 48 if kind != "window" else 8736
    made = mechanism(kind, hours, None if kind == "energy" else (0, 1, 2), hide="0.01MVA")
    huge = np.full((hours, 1), 1e300)
    for p, q in ((huge, -huge), (np.full_like(huge, -np.inf), np.full_like(huge, np.inf))):
        steps = made.to_grid(p, q)
        assert np.abs(steps).max() == made.largest
        exact = [
            sum(int(b) * int(n) for b, n in zip(row, block, strict=True))
            for block in steps[0, 0, : made.basis.length * (hours // made.basis.length)].reshape(
                -1, made.basis.length
            )[:2]
            for row in made.basis.rows
        ]
        found = made.coefficients(steps)[0, 0, :2].ravel().tolist()
        assert found == exact
        assert max(map(abs, exact)) <= 2**52


def test_noise_too_wide_to_be_drawn_is_refused():
    with pytest.raises(GridveilError, match="wider noise than can be drawn"):
        mechanism("window", 8736, range(40), epsilon="0.1")
    assert max(mechanism("window", 8736, range(40), epsilon=4).scales) <= WIDEST


# The sampler.


@pytest.mark.parametrize(("kind", "frequencies"), [("day", (0, 1, 2)), ("energy", None)])
def test_noise_on_every_coefficient_has_the_distribution_of_the_proof(kind, frequencies):
    """χ² with 20 cells of equal chance; a draw in a thousand million would fail."""
    made = mechanism(kind, 24, frequencies, epsilon=2)
    many = np.zeros((8000 if kind == "day" else 800, 2, 24), dtype=np.int64)
    drawn = made.release(many)
    for j, scale in enumerate(made.scales):
        noise = drawn[..., j].ravel()
        cells = stats.laplace.cdf(noise, scale=scale) * 20  # a step is 1e-6 of the scale
        counts = np.bincount(np.minimum(cells.astype(int), 19), minlength=20)
        assert stats.chisquare(counts).pvalue > 1e-9
    flat = drawn.reshape(len(drawn), -1).astype(float) / made.scales[0]
    correlation = np.corrcoef(flat[:, : min(flat.shape[1], 6)].T) - np.eye(6)
    assert np.abs(correlation).max() < 7 / np.sqrt(len(drawn))


def test_draws_differ_and_centre_on_the_coefficients():
    made = mechanism("day", 24, (0, 1), epsilon=50)
    steps = np.full((1, 2, 24), 20_000)
    first, second = made.release(steps), made.release(steps)
    assert (first != second).any()
    assert (np.abs(first - made.coefficients(steps)) < 60 * np.array(made.scales)).all()


# From coefficients to loads.


@pytest.mark.parametrize("hours", [24, 30, 48])
def test_all_coefficients_give_the_series_back(hours):
    made = mechanism("day", hours, range(24), loads=2, epsilon=1)
    random = np.random.default_rng(1)
    p, q = random.normal(0.3, 0.2, (2, hours, 2))
    found = made.reconstruct(made.coefficients(made.to_grid(p, q)))
    for one, other in zip(found, (p, q), strict=True):
        assert np.abs(one - other).max() < float(made.steps[0])


def test_measured_noise_has_the_stated_variance():
    made = mechanism("day", 24, (0, 3), loads=2, hide="2MVA")
    drawn = made.simulate(np.zeros((2, 2, 24), dtype=np.int64), np.random.default_rng(1))
    assert drawn.shape == made.shape
    many = replace(made, alphas=made.alphas * 20_000)
    noise = many.measured(
        many.simulate(np.zeros((40_000, 2, 24), np.int64), np.random.default_rng(2))
    )
    for j in range(2):
        found = noise[..., j].var()
        assert found == pytest.approx(made.noise_covariance(0)[j, j], rel=0.05)


# Its parameters.


@pytest.mark.parametrize("kind", ["energy", "day", "window"])
def test_a_specification_makes_the_same_mechanism(kind):
    made = mechanism(kind, 30, None if kind == "energy" else (0, 2), hide="5MVA", loads=2)
    assert SeriesMechanism.from_specification(made.specification()) == made


@pytest.mark.parametrize(
    "change",
    [
        {"basis_digest": "0" * 64},
        {"shares": "[1, 0]"},
        {"hours": "x"},
        {"epsilon": "1.0"},
        {"promise": "week"},
        {"frequencies": "[[[["},
    ],
)
def test_a_specification_that_is_none_is_refused(change):
    told = {**mechanism("day", 30, (0, 2)).specification(), **change}
    with pytest.raises(GridveilError):
        SeriesMechanism.from_specification(told)


def test_hourly_losses_are_those_of_the_hours_there_are():
    made = mechanism("day", 30, (0, 1), first_hour=7)
    hours = made.hourly_losses()
    assert (hours.first, len(hours.losses)) == (7, 30)
    assert sum(hours.losses[:24]) == 1
    assert hours.losses[24:] == hours.losses[:6]
    assert set(mechanism("energy", 3).hourly_losses().losses) == {Fraction(1)}
