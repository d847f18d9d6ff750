"""Logarithms as whole steps: against exponentials in 400 digits, where rounding is closest."""

import math
import sys
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.privacy.sampling.chart import LARGEST_COORDINATE
from gridveil.privacy.sampling.logarithm import log_to_grid, nearest_step, size_from_grid

STEPS = (Fraction(1, 10_000), Fraction(3, 7000), Fraction(1, 10**12))
DIGITS = Context(prec=60)


def edge(whole, step):
    """Return e^((k + 1/2)·g), where rounding changes from one whole number to the next."""
    at = (2 * whole + 1) * step / 2
    return DIGITS.exp(DIGITS.divide(Decimal(at.numerator), Decimal(at.denominator)))


@settings(max_examples=150, deadline=None)
@given(st.floats(min_value=5e-324, max_value=sys.float_info.max), st.sampled_from(STEPS))
def test_every_double_is_between_the_edges_of_its_whole_number(value, step):
    whole = nearest_step(value, step)
    assert edge(whole - 1, step) < Decimal(value) < edge(whole, step)


@pytest.mark.parametrize("step", STEPS[:2])
def test_doubles_beside_an_edge_fall_on_their_own_side(step):
    rng = np.random.default_rng(3)
    for whole in rng.integers(-60_000, 60_000, 150).tolist():
        middle = edge(whole, step)
        near = float(middle)
        for value in (math.nextafter(near, 0), near, math.nextafter(near, math.inf)):
            assert nearest_step(value, step) == (whole if Decimal(value) < middle else whole + 1)


def test_one_has_no_steps_and_its_neighbours_terminate():
    assert nearest_step(1.0, STEPS[0]) == 0
    assert nearest_step(math.nextafter(1, 2), STEPS[2]) == 0


def test_sizes_beyond_the_grid_are_clamped_to_its_ends():
    most = LARGEST_COORDINATE * 10_000
    values = np.array([5e-324, sys.float_info.max, -1e200])
    assert log_to_grid(values, STEPS[0]).tolist() == [-most, most, most]
    sizes = size_from_grid(np.array([-(2**52), 0, 2**52]), STEPS[0])
    assert sizes == pytest.approx([math.exp(-300), 1.0, math.exp(300)], rel=1e-12)


def test_steps_of_sizes_are_the_steps_again():
    steps = np.random.default_rng(5).integers(-200_000, 200_000, 300)
    assert (log_to_grid(size_from_grid(steps, STEPS[0]), STEPS[0]) == steps).all()
