from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil import PolarLaplace, ProductLaplace
from gridveil.privacy.mechanisms.base import checked_draw
from gridveil.privacy.sampling.grid import LARGEST_LOAD, from_grid, to_grid, total_on_grid

STEP = Fraction(1, 10_000)
loads = st.floats(-100, 100)


@given(loads)
def test_rounding_moves_a_load_by_at_most_half_a_step(load):
    (steps,) = to_grid(np.array([load]), STEP)
    assert abs(int(steps) * STEP - Fraction(load)) <= STEP / 2


@given(loads, st.floats(-0.1, 0.1), st.floats(0, 1))
def test_two_loads_alpha_apart_are_at_most_two_steps_more_apart_on_the_grid(load, change, share):
    """|ΔP| + |ΔQ| grows by at most two steps: what the calibration allows for."""
    one = np.array([load, -load])
    other = one + np.array([change * share, change * (1 - share)])
    apart = sum(
        abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(one, other, strict=True)
    )
    steps = np.abs(to_grid(one, STEP) - to_grid(other, STEP)).sum()
    assert int(steps) <= apart / STEP + 2


@given(st.integers(-(10**6), 10**6))
def test_grid_points_survive_a_trip(steps):
    values = from_grid(np.array([steps]), STEP)
    assert to_grid(values, STEP).tolist() == [steps]


any_load = st.floats(allow_nan=False, allow_infinity=False)


@given(any_load, any_load)
def test_every_load_has_a_place_and_clamping_brings_no_two_further_apart(one, other):
    (a,), (b,) = (to_grid(np.array([load]), STEP) for load in (one, other))
    assert max(abs(int(a)), abs(int(b))) <= LARGEST_LOAD
    assert abs(int(a) - int(b)) <= abs(Fraction(one) - Fraction(other)) / STEP + 1
    assert (a <= b) == (one <= other) or a == b or abs(one - other) <= STEP


def test_loads_beyond_the_largest_are_clamped():
    loads = np.array([[1.0, -1.0], [1e308, 0.0]])
    steps = to_grid(loads, Fraction(1, 10**300)).tolist()
    assert steps == [[LARGEST_LOAD, -LARGEST_LOAD], [LARGEST_LOAD, 0]]
    assert to_grid(np.array([np.inf, -np.inf]), STEP).tolist() == [LARGEST_LOAD, -LARGEST_LOAD]


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_the_total_of_many_large_loads_does_not_overflow(count):
    steps = np.full((count, 2), LARGEST_LOAD, dtype=np.int64)
    steps[:, 1] = -3
    assert total_on_grid(steps).tolist() == [[LARGEST_LOAD if count else 0, -3 * count]]


@pytest.mark.parametrize("kind", [PolarLaplace, ProductLaplace])
@pytest.mark.parametrize("load", [1e300, -1e300, 0.0])
def test_no_load_is_too_large_for_the_widest_noise(kind, load):
    mechanism = kind.of("1e-9", 1, "0.001")  # just below what can be drawn
    steps = to_grid(np.full((100, 2), load), mechanism.step)
    released = checked_draw(mechanism, steps)
    assert np.abs(released - steps).max() < 2**48
    assert np.isfinite(mechanism.loss(released, steps, -steps)).all()
