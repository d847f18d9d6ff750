"""Whether a network can be used depends on which buses have a load, never on how large it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.from_case import network_from_case
from tests.cases import TINY, bus, line


def outcome(case, loads, load_buses):
    """The network with some loads, without their values, or what is said against it."""
    rows = [[*row[:2], *loads.get(row[0], row[2:4]), *row[4:]] for row in case.bus]
    file = parse_matpower(case.with_(bus=rows).text(), "tiny.m", "tiny")
    try:
        network = network_from_case(file, load_buses)
    except GridveilError as error:
        return str(error)
    nothing = np.zeros(len(network.loads))
    return network.with_loads(nothing, nothing)


LONE = TINY.with_(bus=[*TINY.bus, bus(9, 1)])
ISOLATED = TINY.with_(bus=[*TINY.bus, bus(9, 4)], branch=[*TINY.branch, line(7, 9)])
ISLAND = TINY.with_(bus=[*TINY.bus, bus(9, 3), bus(10, 1)], branch=[*TINY.branch, line(9, 10)])
CUT_OFF = TINY.with_(branch=TINY.branch[2:])
DECLARED = {
    "connected": (TINY, (1, 2, 7), None),
    "lone": (LONE, (2, 7, 9), "the load of bus 9 has no path to a generator"),
    "isolated, listed": (ISOLATED, (2, 7, 9), "load bus 9: there is no such bus in service"),
    "isolated, not listed": (ISOLATED, (2, 7), None),
    "island": (ISLAND, (2, 7, 10), "the load of bus 10 has no path to a generator"),
    "cut off": (CUT_OFF, (2, 7), "the load of bus 2 has no path to a generator"),
    "no such bus": (TINY, (2, 7, 8), "load bus 8: there is no such bus in service"),
}
mw = st.one_of(st.just(0.0), st.floats(allow_nan=False, allow_infinity=False))


@pytest.mark.parametrize("kind", DECLARED)
@given(st.lists(st.tuples(mw, mw), min_size=5, max_size=5))
def test_no_load_of_a_declared_bus_decides(kind, values):
    """Nor that of a bus out of service."""
    case, listed, says = DECLARED[kind]
    numbers = {*listed, *(row[0] for row in case.bus if row[1] == 4)}
    found = outcome(case, dict(zip(sorted(numbers), values, strict=False)), listed)
    assert found == outcome(case, dict.fromkeys(numbers, (1.0, 1.0)), listed)
    if says is not None:
        assert says in found


@given(st.lists(st.tuples(mw, mw).filter(any), min_size=2, max_size=2), st.tuples(mw, mw))
def test_without_a_list_the_buses_with_a_load_decide(values, out_of_service):
    loads = {**dict(zip((2, 7), values, strict=True)), 9: out_of_service}
    assert outcome(ISOLATED, loads, None) == outcome(ISOLATED, {}, None)


def test_a_load_that_is_not_on_the_list_is_refused():
    """That a bus has a load is public; the list says which have one."""
    for case in (LONE, ISLAND):
        said = outcome(case, {9: (0.0, 1.0)}, (2, 7))
        assert said == "bus 9 has a load but is not on the list of load buses"
