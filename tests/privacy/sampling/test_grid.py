from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.privacy.sampling.grid import from_grid, to_grid

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


def test_a_step_too_fine_for_the_loads_is_refused():
    with pytest.raises(GridveilError, match="too fine for loads of this size"):
        to_grid(np.array([1.0]), Fraction(1, 10**300))
