"""Where buses are drawn."""

import numpy as np
import pytest

from gridveil import load_case
from gridveil.network.positions import positions


def test_neighbours_are_drawn_near_each_other():
    network = load_case("case118_ieee")
    place = positions(network.buses, network.lines)
    assert place.shape == (118, 2)
    assert np.array_equal(place, positions(network.buses, network.lines))
    lines = network.lines
    along = np.linalg.norm(place[lines.from_bus] - place[lines.to_bus], axis=1)
    random = np.random.default_rng(0)
    across = np.linalg.norm(place - place[random.permutation(118)], axis=1)
    assert np.median(along) < 0.35 * np.median(across)
    apart = np.linalg.norm(place[:, None] - place[None], axis=2) + np.eye(118)
    assert apart.min() > 1e-3


@pytest.mark.parametrize("name", ["case5_pjm", "case30_ieee", "case118_ieee"])
def test_places_do_not_depend_on_signs_that_differ_between_machines(name, monkeypatch):
    network = load_case(name)
    place = positions(network.buses, network.lines)
    svd = np.linalg.svd

    def mirrored(values, full_matrices):
        left, sizes, right = svd(values, full_matrices=full_matrices)
        return -left, sizes, -right

    monkeypatch.setattr(np.linalg, "svd", mirrored)
    assert np.array_equal(place, positions(network.buses, network.lines))


@pytest.mark.parametrize("name", ["case3_lmbd", "case1354_pegase"])
def test_small_and_large_networks_have_a_place(name):
    network = load_case(name)
    place = positions(network.buses, network.lines)
    assert np.isfinite(place).all()
    assert place.min() >= 0.0
    assert place.max() <= 1.0 + 1e-9
