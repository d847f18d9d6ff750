"""Figures of how far loads are off."""

import numpy as np
import pytest

from gridveil.publication.forecast.errors import LoadErrors


def test_figures_of_one_release_by_hand():
    true = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])
    released = true + np.array([[[0.3, 0.4], [0.0, 1.0], [-4.0, 3.0]]])
    errors = LoadErrors.of(true, released, base_mva=100.0)
    assert errors.median_mva.median == pytest.approx(100)
    assert errors.median_relative.median == pytest.approx(0.5)
    assert errors.most_mva.median == pytest.approx(np.quantile([50, 100, 500], 0.9))
    assert errors.total_mw.median == pytest.approx(370)
    assert errors.total_relative.median == pytest.approx(3.7 / 4)
    assert errors.negative.median == 0.5  # of the two that draw power


def test_loads_of_zero_have_no_per_cent():
    errors = LoadErrors.of(np.zeros((2, 2)), np.ones((5, 2, 2)), base_mva=1.0)
    assert errors.median_relative is None
    assert errors.total_relative is None
    assert errors.negative is None
    assert errors.total_mw.median == 2
