from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds
from gridveil.privacy.mechanisms.base import checked_draw
from gridveil.privacy.mechanisms.piecewise import Piecewise
from gridveil.privacy.sampling.grid import to_grid

BOUNDS = PublicBounds(np.array([[0.0, -1.0]]), np.array([[1.0, 2.0]]), "a published rating")
SOUND = Piecewise.of(1, 0.1, BOUNDS)
PAPER = Piecewise.of(1, 0.1, BOUNDS, "paper")


def probability(mechanism, load, axis):
    """The chance of every output on one axis, straight from the window."""
    lower, upper = (
        side[0, axis : axis + 1] for side in mechanism.bounds.on_grid(mechanism.step, 1)
    )
    window = mechanism._window(np.array([load]), lower, upper)
    first, total = int(window.first[0]), int(window.total[0])
    weights = np.ones(total)
    start = int(window.start[0]) - first
    weights[start : start + int(window.width[0])] = np.exp(float(mechanism.axis_epsilon))
    return first, weights / weights.sum()


@pytest.mark.parametrize("axis", [0, 1])
def test_sound_ratios_stay_within_half_of_epsilon_for_any_two_loads(axis):
    lower, upper = (side[0, axis] for side in BOUNDS.on_grid(SOUND.step, 1))
    loads = np.linspace(lower, upper, 9).astype(int)
    chances = [probability(SOUND, load, axis)[1] for load in loads]
    assert len({len(chance) for chance in chances}) == 1, "the outputs are the same for every load"
    for one in chances:
        for other in chances:
            assert np.log(one / other).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("mechanism", [SOUND, PAPER])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_outputs_have_the_load_as_their_mean(mechanism, share):
    for axis in (0, 1):
        lower, upper = (int(side[0, axis]) for side in BOUNDS.on_grid(mechanism.step, 1))
        load = round(lower + share * (upper - lower))
        first, chance = probability(mechanism, load, axis)
        mean = (chance * (first + np.arange(len(chance)))).sum()
        assert mean == pytest.approx(load, abs=1.0)


def test_the_papers_promise_is_not_kept_and_that_is_said():
    one, other = (probability(PAPER, load, 0)[1] for load in (3000, 3200))
    assert np.log(one / other).max() == pytest.approx(10.0)
    guarantee = PAPER.guarantee()
    assert guarantee.epsilon == 20.0
    assert "does not keep" in guarantee.caution
    assert "does not keep" in guarantee.sentence(100)
    assert SOUND.guarantee().epsilon == 1.0
    assert SOUND.guarantee().distance is None
    assert SOUND.guarantee().caution == ""


def test_at_a_hundredth_the_papers_mechanism_in_doubles_returns_the_raw_load():
    mechanism = Piecewise.of(1, 0.01, BOUNDS, "paper")
    loads = np.full((10_000, 2), 0.375)
    outputs = mechanism.simulate(loads, np.random.default_rng(1))
    assert np.abs(outputs - loads).max() < 1e-9


@pytest.mark.parametrize("mechanism", [SOUND, PAPER])
def test_loads_outside_their_bounds_are_drawn_as_loads_at_them(mechanism):
    at = np.array([[0.0, 2.0], [1.0, -1.0]])
    beyond = np.array([[-1e300, 1e300], [1.2345, -7.0]])
    one, other = (to_grid(loads, mechanism.step) for loads in (at, beyond))
    window, same = (window_of(mechanism, loads) for loads in (one, other))
    assert window == same
    assert mechanism.release(other).shape == (2, 2)
    output = mechanism.release(one)
    assert mechanism.loss(output, one, other).tolist() == [0.0, 0.0]
    drawn = [mechanism.simulate(loads, np.random.default_rng(1)) for loads in (at, beyond)]
    assert drawn[0].tolist() == drawn[1].tolist()


def window_of(mechanism, loads):
    bounds = (side.ravel() for side in mechanism.bounds.on_grid(mechanism.step, len(loads)))
    window = mechanism._window(loads.ravel(), *bounds)
    parts = (window.start, window.width, window.first, window.total)
    return [part.tolist() for part in parts]


def test_the_ratio_is_kept_for_two_loads_far_outside_the_bounds():
    chances = [probability(SOUND, load, 0)[1] for load in (-(2**52), 0, 10_000, 2**52)]
    for one in chances:
        for other in chances:
            assert np.log(one / other).max() <= 0.5 + 1e-9


NUMBERS = st.builds(lambda power, digits: f"{digits}e{power}", st.integers(-31, 30), st.just(3))


@settings(max_examples=300)
@given(
    NUMBERS,
    NUMBERS,
    st.lists(
        st.floats(-1e3, 1e3) | st.floats(allow_nan=False, allow_infinity=False),
        min_size=2,
        max_size=2,
        unique=True,
    ),
    st.sampled_from(["sound", "paper"]),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
)
@pytest.mark.filterwarnings("error")
def test_whatever_is_allowed_can_be_drawn(epsilon, alpha, sides, kind, load):
    """Parameters are refused when the mechanism is made, or work for every load."""
    low, high = sorted(sides)
    bounds = PublicBounds(np.array([[low, low]]), np.array([[high, high]]), "ratings")
    try:
        mechanism = Piecewise.of(epsilon, alpha, bounds, kind)
    except GridveilError:
        return
    loads = np.array([load])
    steps = to_grid(loads, mechanism.step)
    assert checked_draw(mechanism, steps).shape == (1, 2)
    assert np.isfinite(mechanism.simulate(loads, np.random.default_rng(1))).all()
    assert np.isfinite(mechanism.loss(steps, steps, -steps)).all()
    assert mechanism.guarantee().epsilon > 0


@pytest.mark.parametrize(("epsilon", "width"), [("1e-9", 1e6), (1, 1e300), (1, 1.7e308)])
def test_outputs_that_do_not_fit_are_refused_before_any_load_is_seen(epsilon, width):
    bounds = PublicBounds(np.array([[-width] * 2]), np.array([[width] * 2]), "ratings")
    with pytest.raises(GridveilError, match="raise epsilon or the grid step"):
        Piecewise.of(epsilon, "0.1", bounds)


def test_an_unknown_calibration_is_refused():
    with pytest.raises(GridveilError, match="'best' is none of sound, paper"):
        Piecewise.of(1, 0.1, BOUNDS, "best")  # type: ignore[arg-type]


def test_a_load_at_its_bound_is_within_it_on_the_grid_too():
    bounds = PublicBounds(np.array([[0.0, 0.0]]), np.array([[0.50006, 1.0]]), "a published rating")
    mechanism = Piecewise.of(1, 0.1, bounds)
    mechanism.release(to_grid(np.array([[0.50006, 0.5]]), mechanism.step))


def test_the_chance_of_the_window_is_exact_to_any_number_of_digits():
    mechanism = Piecewise.of("2/3", 0.1, BOUNDS)
    lower, upper = (side[0, :1] for side in BOUNDS.on_grid(mechanism.step, 1))
    window = mechanism._window(np.array([3000]), lower, upper)
    fine, finer = (window.exactly(0, Context(prec=digits)) for digits in (80, 160))
    assert abs(fine - finer) < Decimal(10) ** -79
