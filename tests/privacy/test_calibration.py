from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.privacy.calibration import Calibration, default_step, double_at_least, exact


def test_numbers_are_taken_as_written():
    assert exact(0.1, "alpha") == exact("0.1", "alpha") == Fraction(1, 10)
    assert exact(1e-05, "alpha") == Fraction(1, 100_000)


def test_the_scale_has_the_two_steps_that_rounding_costs():
    calibration = Calibration.of(0.5, 0.1, 0.0001)
    assert calibration.steps == 1002
    assert calibration.scale == 2004.0


@given(st.fractions(Fraction(1, 10**6), 100))
def test_the_default_step_is_a_power_of_ten_just_fine_enough(alpha):
    step = default_step(alpha)
    assert step <= alpha / 1000 < 10 * step


@given(st.fractions(Fraction(1, 10**9), 10**9))
def test_scales_are_never_rounded_down(value):
    double = double_at_least(value)
    assert Fraction(double) >= value
    assert double == pytest.approx(float(value), rel=1e-15)


@pytest.mark.parametrize(
    ("epsilon", "alpha", "step", "says"),
    [
        (0, 0.1, None, "epsilon: 0 must be above 0"),
        (-1, 0.1, None, "epsilon: -1 must be above 0"),
        (float("nan"), 0.1, None, "epsilon: nan is not a finite number"),
        (float("inf"), 0.1, None, "epsilon: inf is not a finite number"),
        ("one", 0.1, None, "epsilon: one is not a finite number"),
        (1, 0, None, "alpha: 0 must be above 0"),
        (1, -0.1, None, "alpha: -0.1 must be above 0"),
        (1, float("nan"), None, "alpha: nan is not a finite number"),
        (1, 0.1, 0, "grid step: 0 must be above 0"),
        (1e-30, 0.1, None, "more than can be drawn; raise epsilon"),
        (1, 0.1, "1e-20", "grid step: 1e-20 p.u. is too fine, loads above 4.5036e-05 p.u."),
        (1, 1e-15, None, "grid step: 1e-18 p.u. is too fine"),
        (1, 0.1, 0.01, "grid step: 0.01 is too coarse for alpha = 0.1; use at most 0.0001"),
    ],
)
def test_bad_parameters_are_refused_with_what_to_do(epsilon, alpha, step, says):
    with pytest.raises(GridveilError) as error:
        Calibration.of(epsilon, alpha, step)
    assert says in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "1e999999999",
        "1e-999999999",
        "1E+0999999999",
        "1e1_000_000_000",
        "1e0_999999999",
        "1e٩٩٩٩٩٩٩٩٩",
        "1e-31",
        "1" * 1001,
        "1" * 10_000,
    ],
)
def test_endless_numbers_are_refused_at_once(text):
    with pytest.raises(GridveilError, match="beyond anything sensible") as error:
        exact(text, "epsilon")
    assert len(str(error.value)) < 120
