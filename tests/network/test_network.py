"""The network as users meet it: text forms, data frames, other loads."""

import numpy as np
import pytest

from gridveil import load_case
from gridveil.errors import GridveilError
from tests.cases import TINY, bus

SECRET = TINY.with_(bus=[TINY.bus[0], bus(2, 1, 12.3456, 6.54321), bus(7, 2, 78.9012, 1.23456)])
"""Loads whose digits can be looked for."""


def test_the_text_form_is_one_line():
    assert repr(load_case("case39_epri")) == (
        "Network('pglib_opf_case39_epri': 39 buses, 21 loads, 10 generators, 46 lines, "
        "base 100 MVA)"
    )


def test_components_show_how_many_they_are():
    network = TINY.network()
    parts = (network.buses, network.loads, network.generators, network.lines)
    assert [repr(part) for part in parts] == ["Buses(3)", "Loads(2)", "Generators(2)", "Lines(3)"]
    assert [len(part) for part in parts] == [3, 2, 2, 3]


def test_no_text_form_shows_a_load():
    network = SECRET.network()
    for thing in (network, network.loads, network.buses, network.generators, network.lines):
        for text in (repr(thing), str(thing), f"{thing!r:s}", thing._repr_html_()):
            for digits in ("1234", "123", "6543", "7890", "789"):
                assert digits not in text
    assert "<td>2</td>" in network._repr_html_()


def test_the_html_of_components_shows_ranges():
    html = TINY.network().generators._repr_html_()
    assert "<tr><td>p_max</td><td>1</td><td>2</td></tr>" in html


def test_frames_are_in_megawatts_with_bus_numbers():
    pytest.importorskip("pandas", reason="pandas is an extra")
    network = TINY.network()
    loads = network.to_frame("loads")
    assert loads.columns.tolist() == ["bus", "number", "p_mw", "q_mvar"]
    assert loads.bus.tolist() == [2, 7]
    assert loads.p_mw.tolist() == pytest.approx([80.0, 50.0])
    generators = network.to_frame("generators")
    assert generators.bus.tolist() == [1, 7]
    assert generators.generator.tolist() == [1, 2]
    assert generators.p_max_mw.tolist() == pytest.approx([200.0, 100.0])
    lines = network.to_frame("lines")
    assert lines[["from_bus", "to_bus"]].to_numpy().tolist() == [[1, 2], [2, 7], [1, 7]]
    assert lines.rate_mva.tolist() == pytest.approx([150.0, np.inf, np.inf])
    assert lines.angle_max_degrees.tolist() == pytest.approx([30.0] * 3)
    buses = network.to_frame("buses")
    assert buses.bus.tolist() == [1, 2, 7]
    assert buses.reference.tolist() == [True, False, False]


def test_an_unknown_kind_of_component_is_told():
    expected = "'trafos' is none of buses, loads, idle_loads, generators, lines"
    with pytest.raises(GridveilError, match=expected):
        TINY.network().to_frame("trafos")


def test_wrong_loads_are_refused():
    network = TINY.network()
    with pytest.raises(GridveilError, match="2 loads expected"):
        network.with_loads(np.ones(3), np.ones(3))
    with pytest.raises(GridveilError, match="finite"):
        network.with_loads(np.array([1.0, np.nan]), np.ones(2))
