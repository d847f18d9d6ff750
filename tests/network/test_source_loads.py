"""Loads are units: several at a bus stay several, and those out of service are kept apart."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil import solve_acopf
from gridveil.errors import GridveilError
from gridveil.network.conversion import changes
from gridveil.network.formats.matpower import saved_text
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.from_case import network_from_case, network_from_tables
from gridveil.network.source_loads import SourceLoad, numbers_at_buses, rounded_sum
from tests.cases import TINY, bus, line

LOADS = (
    SourceLoad(7, "load 0", 30.5, 4.0, name="Bakery"),
    SourceLoad(2, "load 1", 50.0, 15.0, rating_mva=60.0),
    SourceLoad(2, "load 2", 9.25, 1.5, in_service=False),
    SourceLoad(7, "load 3", 19.5, 6.0),
    SourceLoad(2, "load 4", 30.0, 5.0),
    SourceLoad(9, "load 5", 3.125, 0.5),
)
"""Two at each bus, one out of service, one at a bus that is."""
CASE = TINY.with_(
    bus=[bus(1, 3), bus(2, 1), bus(7, 2), bus(9, 4)], branch=[*TINY.branch, line(7, 9)]
)


def tables(case):
    parsed = parse_matpower(case.text(), "tiny.m", "tiny")
    return {name: parsed.tables[name].values for name in ("bus", "gen", "branch", "gencost")}


def network_of(loads=LOADS, load_buses=None):
    return network_from_tables(tables(CASE), 100.0, "tiny", load_buses, loads)


def test_several_loads_at_a_bus_stay_several():
    network = network_of()
    assert network.load_buses == [2, 2, 7, 7]
    assert network.loads.number.tolist() == [1, 2, 1, 2]
    assert [load.key for load in network.load_identities] == [
        "load 1",
        "load 4",
        "load 0",
        "load 3",
    ]
    assert network.loads.p.tolist() == [0.5, 0.3, 0.305, 0.195]
    assert network.load_identities[2].name == "Bakery"
    assert network.load_identities[0].rating_mva == 60.0


def test_their_sum_is_what_the_bus_draws():
    """TINY has the same sums, one load at each bus."""
    network = network_of()
    assert np.stack(network.bus_load()) == pytest.approx(np.stack(TINY.network().bus_load()))
    assert solve_acopf(network).cost == pytest.approx(solve_acopf(TINY.network()).cost, rel=1e-9)


def test_loads_out_of_service_are_idle_and_numbered_after_the_others():
    idle = network_of().idle_loads
    assert idle.bus.tolist() == [2, 9]
    assert idle.number.tolist() == [3, 1]
    assert idle.p.tolist() == [0.0925, 0.03125]
    assert [load.key for load in idle.identities] == ["load 2", "load 5"]


def test_no_text_form_shows_a_load_or_a_name():
    network = network_of()
    things = (network, network.loads, network.idle_loads, network.load_identities, LOADS)
    for text in map(repr, (*things, network.case, network.idle_loads.identities)):
        for secret in ("0925", "9.25", "9,25", "30.5", "19.5", "3.125", "Bakery"):
            assert secret not in text


def test_the_loads_of_a_case_file_are_known_by_their_buses():
    case = TINY.with_(bus=[*TINY.bus, bus(9, 4, 3.5, 1.0)])
    network = case.network()
    assert [load.key for load in network.load_identities] == ["bus 2", "bus 7"]
    assert network.loads.number.tolist() == [1, 1]
    assert [load.key for load in network.idle_loads.identities] == ["bus 9"]
    assert network.idle_loads.p.tolist() == [0.035]


def test_a_load_of_zero_is_a_load():
    """Which loads there are depends on no value."""
    nothing = [replace(load, p_mw=0.0, q_mvar=0.0) for load in LOADS]
    assert network_of(nothing).load_buses == network_of().load_buses


def test_a_list_of_load_buses_adds_loads_and_must_have_all():
    network = network_of(load_buses=[1, 2, 7])
    assert network.load_buses == [1, 2, 2, 7, 7]
    assert network.load_identities[0].key == "bus 1"
    assert network.loads.p[0] == 0.0
    with pytest.raises(GridveilError, match="bus 7 has a load but is not on the list"):
        network_of(load_buses=[2])
    for number in (8, 9):
        with pytest.raises(GridveilError, match=f"load bus {number}: there is no such bus"):
            network_of(load_buses=[2, 7, number])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"p_mw": math.nan}, "load 1: p_mw must be a finite number"),
        ({"q_mvar": math.inf}, "load 1: q_mvar must be a finite number"),
        ({"key": "load 4"}, "2 loads are called 'load 4'"),
        ({"bus": 8}, "load 1: there is no bus 8 in the bus table"),
    ],
)
def test_loads_that_cannot_be_are_refused_by_name(change, says):
    loads = [*LOADS[:1], replace(LOADS[1], **change), *LOADS[2:]]
    with pytest.raises(GridveilError, match=says):
        network_of(loads)


def test_loads_beside_those_given_one_by_one_are_refused():
    with pytest.raises(GridveilError, match="loads beside those given one by one"):
        network_from_tables(tables(TINY), 100.0, "tiny", None, LOADS)


def test_a_saved_network_has_their_sums():
    network = network_of()
    assert changes(network) == []
    p = np.array([0.1, 0.2, 0.3, -0.125])
    text = saved_text(network.with_loads(p, network.loads.q))
    again = network_from_case(parse_matpower(text, "tiny.m", "tiny"))
    column = again.case.tables["bus"].column("Pd").tolist()
    assert column == [0.0, float(Fraction(10.0) + Fraction(20.0)), 17.5, 0.0]
    assert again.case.tables["bus"].column("Qd").tolist() == [0.0, 20.0, 10.0, 0.0]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6))
def test_a_sum_is_rounded_once(values):
    exact = sum(map(Fraction, values))
    largest = Fraction(np.finfo(float).max)
    assert rounded_sum(values) == float(max(-largest, min(exact, largest)))


@given(st.lists(st.integers(1, 4)))
def test_numbers_count_the_loads_of_each_bus(buses):
    pairs = list(zip(buses, numbers_at_buses(buses), strict=True))
    assert len(set(pairs)) == len(pairs)
    assert all(number == 1 or (at, number - 1) in pairs for at, number in pairs)
