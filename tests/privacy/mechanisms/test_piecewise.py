from decimal import Context, Decimal

import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds
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


@pytest.mark.parametrize("kind", ["sound", "paper"])
def test_a_load_outside_its_bounds_is_refused_without_showing_it(kind):
    mechanism = Piecewise.of(1, 0.1, BOUNDS, kind)
    loads = np.array([[0.5, 0.5], [1.2345, 0.5]])
    for attempt in (
        lambda: mechanism.release(np.rint(loads * 10_000).astype(np.int64)),
        lambda: mechanism.simulate(loads, np.random.default_rng(1)),
    ):
        with pytest.raises(GridveilError, match=r"load 2 .* outside its public bounds") as error:
            attempt()
        assert "234" not in str(error.value)


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
