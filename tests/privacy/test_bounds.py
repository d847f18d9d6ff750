import numpy as np
import pytest

from gridveil.errors import GridveilError
from gridveil.privacy.bounds import PublicBounds, read_bounds, simulation_bounds
from gridveil.privacy.mechanisms.clamp import Clamped
from gridveil.privacy.mechanisms.polar_laplace import PolarLaplace
from tests.cases import TINY

NETWORK = TINY.network()
ONE, TWO = np.array([[0.0, 0.0]]), np.array([[1.0, 2.0]])


def test_bounds_need_a_public_source():
    with pytest.raises(GridveilError, match="say where they were published"):
        PublicBounds(ONE, TWO, " ")


def test_crossed_and_infinite_bounds_are_refused():
    with pytest.raises(GridveilError, match="crossed for load 1"):
        PublicBounds(TWO, ONE, "rating")
    with pytest.raises(GridveilError, match="finite"):
        PublicBounds(ONE, np.array([[np.inf, 1.0]]), "rating")


def test_bounds_are_read_in_megawatts(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("bus,p_min,p_max,q_min,q_max\n7,0,60,-5,20\n2,0,100,0,50\n1,0,1,0,1\n")
    bounds = read_bounds(path, NETWORK)
    assert bounds.lower.tolist() == [[0.0, 0.0], [0.0, -0.05]]
    assert bounds.upper.tolist() == [[1.0, 0.5], [0.6, 0.2]]
    assert bounds.source == "ratings.csv", "a release publishes it, and no path of a machine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bus,p_min,p_max,q_min\n2,0,1,0\n", ":1: no column q_max"),
        ("bus,p_min,p_max,q_min,q_max\n2,0,x,0,1\n7,0,1,0,1\n", ":2: five numbers expected"),
        ("bus,p_min,p_max,q_min,q_max\n2,0,1,0,1\n", "no bounds for bus 7"),
        ("", ":1: no column bus"),
    ],
)
def test_broken_files_are_refused_with_their_line(tmp_path, text, says):
    path = tmp_path / "ratings.csv"
    path.write_text(text)
    with pytest.raises(GridveilError) as error:
        read_bounds(path, NETWORK)
    assert says in str(error.value)


def test_clamping_keeps_to_the_bounds_and_changes_no_promise():
    bounds = PublicBounds(ONE, TWO, "rating")
    plain = PolarLaplace.of(1, 0.1)
    clamped = Clamped(plain, bounds)
    outputs = clamped.release(np.zeros((5_000, 2), dtype=np.int64))
    assert outputs.min() == 0
    assert np.all(outputs <= [10_000, 20_000])
    assert clamped.guarantee() == plain.guarantee()
    assert clamped.specification() != plain.specification()
    simulated = clamped.simulate(np.zeros((5_000, 2)), np.random.default_rng(1))
    assert simulated.min() == 0.0


def test_bounds_taken_from_loads_do_not_show_them():
    bounds = simulation_bounds(NETWORK)
    assert repr(bounds) == "PublicBounds(simulation only, of 1 loads, from 'the loads themselves')"
    assert repr(bounds) in repr(Clamped(PolarLaplace.of(1, 0.1), bounds))
