import numpy as np
import pytest

from gridveil.network.costs import CostFunctions
from tests.cases import TINY, polynomial

NO_SEGMENTS = (np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


def test_polynomial_of_any_order():
    costs = CostFunctions(np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 0.0, 0.0, 0.0]]), *NO_SEGMENTS)
    assert costs(np.array([2.0, 9.0])).tolist() == [1 + 4 + 12 + 32, 5.0]


def test_costs_of_a_file_are_in_dollars_for_megawatts():
    case = TINY.with_(gencost=[polynomial(0.5, 0.02, 10.0, 5.0), polynomial(7.0)])
    p_mw = np.array([30.0, 40.0])
    costs = case.network().generators.costs(p_mw / 100)
    assert costs == pytest.approx([0.5 * 30**3 + 0.02 * 30**2 + 10 * 30 + 5, 7.0], rel=1e-14)


def test_piecewise_linear_curve_goes_through_its_points_and_on():
    points = [0.0, 0.0, 100.0, 1000.0, 150.0, 2000.0]
    case = TINY.with_(gencost=[[1, 0, 0, 3, *points], polynomial(1.0, 0.0)])
    costs = case.network().generators.costs
    for mw, expected in [(0, 0), (100, 1000), (150, 2000), (50, 500), (125, 1500), (200, 3000)]:
        assert costs(np.array([mw / 100, 0.3])) == pytest.approx([expected, 30.0])
