"""The chart's whole numbers are within 3/4 of a step, for every double there is."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.privacy.sampling import chart
from gridveil.privacy.sampling.chart import (
    FINEST_STEP,
    LARGEST_COORDINATE,
    certified,
    chart_from_grid,
    chart_to_grid,
)
from tests.privacy.sampling.hyperbolic import coordinates

FLOORS = (Fraction(1, 100), Fraction(1), Fraction(1, 3), Fraction(1, 10**30), Fraction(10**30))
STEPS = (Fraction(1, 10**3), Fraction(1, 10**4), Fraction(3, 7 * 10**8), FINEST_STEP)
LARGEST = sys.float_info.max
HOSTILE = (
    0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-30, 0.01, -0.01, math.nextafter(0.01, 0), 1.0, 1e16,
    1e128, 1e154, 1e155, 1e308, LARGEST, -LARGEST, math.inf, -math.inf,
)  # fmt: skip
doubles = st.floats(allow_nan=False) | st.sampled_from(HOSTILE)


def is_within_reach(steps, load, floor, step):
    """Whether whole steps are what the proof says, by arithmetic in 80 digits."""
    most = math.floor(LARGEST_COORDINATE / step)
    finite = [max(-LARGEST, min(LARGEST, value)) for value in load]
    for whole, coordinate in zip(steps, coordinates(*finite, floor), strict=True):
        exact = Fraction(coordinate) / step
        if whole == most:
            exact = min(exact, Fraction(most))
        if whole == -most:
            exact = max(exact, Fraction(-most))
        if abs(int(whole)) > most or abs(int(whole) - exact) > Fraction(3, 4):
            return False
    return True


@settings(max_examples=300)
@given(doubles, doubles, st.sampled_from(FLOORS), st.sampled_from(STEPS))
@pytest.mark.filterwarnings("error")
def test_every_double_is_within_three_quarters_of_a_step(p, q, floor, step):
    (steps,) = chart_to_grid(np.array([[p, q]]), floor, step)
    assert is_within_reach(steps, (p, q), floor, step)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.filterwarnings("error")
def test_all_pairs_of_hostile_doubles_have_a_place(floor, step):
    loads = np.array([[p, q] for p in HOSTILE for q in HOSTILE])
    steps = chart_to_grid(loads, floor, step)
    assert steps.dtype == np.int64
    assert all(is_within_reach(*pair, floor, step) for pair in zip(steps, loads, strict=True))
    decoded = chart_from_grid(steps, floor, step)
    assert np.isfinite(decoded).all()


@pytest.mark.parametrize("step", STEPS)
def test_usual_loads_are_within_three_quarters_of_a_step(step):
    random, floor = np.random.default_rng(1), FLOORS[0]
    loads = np.exp(random.normal(-2, 4, (400, 2))) * random.choice([-1, 1], (400, 2))
    steps = chart_to_grid(loads, floor, step)
    assert all(is_within_reach(*pair, floor, step) for pair in zip(steps, loads, strict=True))


@settings(max_examples=200)
@given(
    st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40), st.integers(-3, 3),
    st.sampled_from(STEPS[:3]),
)  # fmt: skip
def test_loads_at_the_edges_of_rounding_are_within_three_quarters_of_a_step(k, m, ulps, step):
    """Half a step is where doubles may round either way."""
    floor, most = FLOORS[0], int(LARGEST_COORDINATE / step)
    u, tau = ((n % most + 0.5) * float(step) * (1 if n > 0 else -1) for n in (k, m))
    p = min(float(floor) * math.sinh(u), LARGEST)
    q = min(max(math.hypot(p, float(floor)) * math.sinh(tau / 2), -LARGEST), LARGEST)
    for _ in range(abs(ulps)):
        p = math.nextafter(p, math.copysign(math.inf, ulps))
    (steps,) = chart_to_grid(np.array([[p, q]]), floor, step)
    assert is_within_reach(steps, (p, q), floor, step)


@pytest.mark.filterwarnings("error")
def test_the_certificate_refuses_whatever_is_further_away():
    """Of steps around the right ones, all that it accepts are within 3/4, and no other."""
    random, step = np.random.default_rng(2), Fraction(1, 10**4)
    ratios = np.sinh(random.uniform(-20, 20, 2_000))
    exact = np.arcsinh(ratios) / float(step)
    for shift in range(-2, 3):
        steps = np.rint(exact).astype(np.int64) + shift
        reach = np.abs(steps - exact)
        found = certified(ratios, steps, step)
        assert not found[reach > 0.75].any()
        assert found[reach < 0.75 - 1e-6].all()


def test_where_doubles_do_not_prove_it_digits_decide(monkeypatch):
    """On the finest grid, on which the certificate has no room, and wherever it is refused."""
    loads, floor, step = np.array([[0.3, -0.1], [-2.0, 1e-9]]), FLOORS[0], Fraction(1, 10**6)
    usual = chart_to_grid(loads, floor, step)
    monkeypatch.setattr(chart, "certified", lambda ratio, *_: np.zeros(ratio.shape, bool))
    assert chart_to_grid(loads, floor, step).tolist() == usual.tolist()
    monkeypatch.undo()
    monkeypatch.setattr(np, "arcsinh", lambda ratio: ratio + 1.0)  # a library that is wrong
    assert chart_to_grid(loads, floor, step).tolist() == usual.tolist()


@given(st.integers(-3_000_000, 3_000_000), st.integers(-3_000_000, 3_000_000))
def test_steps_survive_a_trip(u, tau):
    steps, step = np.array([[u, tau]]), Fraction(1, 10**4)
    loads = chart_from_grid(steps, FLOORS[0], step)
    assert np.isfinite(loads).all()
    assert chart_to_grid(loads, FLOORS[0], step).tolist() == steps.tolist()


def test_steps_beyond_the_largest_are_clamped_on_the_way_back():
    step, floor = Fraction(1, 10**4), FLOORS[0]
    far, most = np.array([[2**53, -(2**53)]]), np.array([[3_000_000, -3_000_000]])
    loads = chart_from_grid(far, floor, step)
    assert np.isfinite(loads).all()
    assert loads.tolist() == chart_from_grid(most, floor, step).tolist()


def test_loads_return_to_within_their_rounding():
    random, step, floor = np.random.default_rng(3), Fraction(1, 10**5), FLOORS[0]
    loads = random.normal(0, 1, (2_000, 2))
    back = chart_from_grid(chart_to_grid(loads, floor, step), floor, step)
    size = np.hypot(np.hypot(*loads.T), float(floor))
    assert (np.abs(back - loads).max(axis=1) <= 2e-5 * size).all()


def test_the_arithmetic_of_the_proof_is_as_good_as_it_says():
    for size in (np.linspace(1e-9, 1.0, 500), np.linspace(1.0, 301.0, 500)):
        for x, found in zip(size, chart._sinh(size), strict=True):
            exact = _sinh_exactly(x)
            assert abs(Fraction(float(found)) / exact - 1) < Fraction(1, 2**49)


def _sinh_exactly(x):
    digits = chart._CONTEXT
    power = digits.exp(digits.create_decimal_from_float(float(x)))
    return (Fraction(power) - 1 / Fraction(power)) / 2


def test_no_load_is_an_empty_array():
    assert chart_to_grid(np.zeros((0, 2)), FLOORS[0], STEPS[0]).shape == (0, 2)
