"""The map of a network."""

import sys

import numpy as np
import pytest

from gridveil import load_case
from gridveil.errors import GridveilError
from gridveil.network.positions import positions
from tests.cases import TINY

pytest.importorskip("matplotlib", reason="Matplotlib is an extra")


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")


def marked(axes):
    """The buses that each entry of the legend marks, as places."""
    return {dots.get_label(): np.asarray(dots.get_offsets()) for dots in axes.collections}


def test_every_bus_is_drawn_once_and_generators_around_theirs():
    network = load_case("case39_epri")
    axes = network.plot()
    dots = marked(axes)
    assert len(dots["load"]) == 21
    assert len(dots["bus without a load"]) == 39 - 21
    assert len(dots["generator"]) == len(set(network.generators.bus.tolist()))
    place = positions(network.buses, network.lines)
    assert np.allclose(dots["load"], place[network.loads.bus])
    assert len(axes.lines) == len(network.lines)
    first = network.lines.from_bus[0], network.lines.to_bus[0]
    assert np.allclose(axes.lines[0].get_xydata(), place[list(first)])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["generator", "load", "bus without a load"]


def test_small_networks_have_numbers_and_large_ones_none():
    assert {text.get_text() for text in TINY.network().plot().texts} == {"1", "2", "7"}
    assert not load_case("case118_ieee").plot().texts


def test_it_draws_where_it_is_told_to():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert TINY.network().plot(ax=axes) is axes
    assert axes.get_aspect() == 1.0
    assert axes.get_title() == "tiny"


def test_no_size_of_a_load_is_drawn():
    network = load_case("case14_ieee")
    heavier = network.with_loads(network.loads.p * 3, network.loads.q)
    for one, two in zip(network.plot().collections, heavier.plot().collections, strict=True):
        assert np.array_equal(one.get_sizes(), two.get_sizes())
        assert np.array_equal(one.get_facecolors(), two.get_facecolors())


def test_a_missing_matplotlib_is_told_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(GridveilError, match=r"pip install 'gridveil\[notebook\]'"):
        TINY.network().plot()
