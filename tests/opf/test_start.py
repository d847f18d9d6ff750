"""The start of central problems follows the phase shifts of transformers."""

from dataclasses import replace

import numpy as np
import pytest

from gridveil import load_case
from gridveil.opf.operating_point import OperatingPoint, complex_flows
from gridveil.opf.start import flat_start, shift_angles
from tests.cases import TINY, bus, line


def unlimited(*args, **values):
    return [*line(*args, **values)[:11], 0.0, 0.0]


CHAIN = TINY.with_(branch=[unlimited(1, 2, shift=150.0, b=0.0), unlimited(7, 2, shift=-30, b=0.0)])


def test_no_power_flows_where_a_chain_of_transformers_starts():
    network = CHAIN.network()
    start = flat_start(network, np.zeros(2))
    assert np.degrees(start.theta) == pytest.approx([0.0, -150.0, -180.0])
    assert np.abs(np.concatenate(complex_flows(network, start))).max() < 1e-12


def test_without_angles_they_would_carry_many_times_their_load():
    network = CHAIN.network()
    ones, zeros = np.ones(3), np.zeros(3)
    flows = complex_flows(network, OperatingPoint(ones, zeros, zeros[:2], zeros[:2]))
    assert np.abs(np.concatenate(flows)).max() > 10


def test_in_a_loop_the_angles_are_the_least_squares():
    branch = [
        unlimited(1, 2, x=0.1, shift=30.0),
        unlimited(2, 7, x=0.3, shift=-10.0),
        unlimited(1, 7, x=0.2),
    ]
    network = TINY.with_(branch=branch).network()
    lines = network.lines
    incidence = np.zeros((3, 3))
    incidence[np.arange(3), lines.from_bus] = 1
    incidence[np.arange(3), lines.to_bus] -= 1
    root = np.sqrt(np.abs(lines.y))
    best = np.linalg.lstsq(root[:, None] * incidence[:, 1:], root * lines.shift)[0]
    assert shift_angles(network) == pytest.approx(np.concatenate([[0.0], best]))


@pytest.mark.parametrize("turns", [-1, 1])
def test_whole_turns_do_not_count(turns):
    """One of two parallel transformers says 150°, the other the same a turn further."""
    branch = [unlimited(1, 2, shift=150.0), unlimited(1, 2, shift=150.0 + 360 * turns)]
    network = TINY.with_(branch=[*branch, unlimited(2, 7)]).network()
    assert np.degrees(shift_angles(network)) == pytest.approx([0.0, -150.0, -150.0])


def test_the_start_is_within_limits_that_the_file_gives_a_turn_away():
    low, high = 270.0, 390.0
    row = [*line(1, 2, shift=-30.0)[:11], low, high]
    network = TINY.with_(branch=[row, line(2, 7)]).network()
    assert np.degrees(shift_angles(network))[:2] == pytest.approx([0.0, -330.0])


def test_without_shifts_and_without_ends_of_limits_there_are_no_angles():
    network = load_case("case14_ieee")
    assert not shift_angles(network).any()
    free = np.full(len(network.lines), np.inf)
    shift = np.zeros(len(network.lines))
    shift[0] = 0.5
    lines = replace(network.lines, angle_min=-free, angle_max=free, shift=shift)
    assert np.isfinite(shift_angles(replace(network, lines=lines))).all()


def test_each_island_has_angles_from_its_reference():
    case = TINY.with_(
        bus=[*TINY.bus, bus(10, 3), bus(11, 1, 10.0)],
        branch=[*TINY.branch, unlimited(11, 10, shift=150.0)],
        gen=[*TINY.gen, [10, *TINY.gen[0][1:]]],
        gencost=[*TINY.gencost, TINY.gencost[0]],
    )
    assert np.degrees(shift_angles(case.network())) == pytest.approx([0, 0, 0, 0, 150.0])
