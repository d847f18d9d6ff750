"""What of a case file becomes the network, and how a changed network goes back into the file."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import GridveilError
from gridveil.network.conversion import build_network, changes
from gridveil.network.formats.matpower import saved_text
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.formats.matpower_writer import edited_text
from tests.cases import TINY, bus, gen, line, polynomial


def saved(network):
    """The network after a trip through its file's text."""
    return build_network(parse_matpower(saved_text(network), "tiny.m", "tiny"), network.loads.row)


def test_units_are_per_unit_and_radians():
    case = TINY.with_(
        bus=[bus(1, 3, g=10.0, b=-20.0), *TINY.bus[1:]],
        branch=[line(1, 2, rate=150.0, tap=0.95, shift=10.0), *TINY.branch[1:]],
    )
    network = case.network()
    assert network.buses.number.tolist() == [1, 2, 7]
    assert network.buses.shunt_g[0] == 0.1
    assert network.buses.shunt_b[0] == -0.2
    assert network.loads.bus.tolist() == [1, 2]
    assert network.loads.p.tolist() == [0.8, 0.5]
    assert network.generators.bus.tolist() == [0, 2]
    assert network.generators.p_max.tolist() == [2.0, 1.0]
    assert network.lines.tap.tolist() == [0.95, 1.0, 1.0]
    assert network.lines.shift[0] == np.radians(10.0)
    assert network.lines.rate.tolist() == [1.5, np.inf, np.inf]
    assert network.lines.angle_max[0] == np.radians(30.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mw", [1e307, -1.7e308, 1e300])
def test_no_load_is_too_large_to_be_read(mw):
    """Nor is it when the file is saved without a change."""
    network = TINY.with_(base_mva=0.01).with_cell("bus", 1, 2, mw).network()
    assert np.isfinite(network.loads.values).all()
    assert network.loads.p[0] == pytest.approx(np.sign(mw) * min(abs(mw) / 0.01, 1.7976931e308))
    assert changes(network) == []


@pytest.mark.parametrize("limits", [(0.0, 0.0), (-360.0, 360.0), (0.0, 360.0)])
def test_a_line_without_angle_limits_gets_sixty_degrees(limits):
    row = [*line(1, 2)[:11], *limits]
    network = TINY.with_(branch=[row, *TINY.branch[1:]]).network()
    assert network.lines.angle_min[0] == pytest.approx(-np.pi / 3)
    assert network.lines.angle_max[0] == pytest.approx(np.pi / 3)


@pytest.mark.parametrize(
    ("shift", "low"), [(30.0, -30.0), (150.0, 90.0), (-150.0, -210.0), (330.0, -90.0), (390, -30.0)]
)
def test_without_limits_sixty_degrees_count_from_the_phase_shift(shift, low):
    """Whole turns aside: 330° are −30°."""
    row = [*line(1, 2, shift=shift)[:11], 0.0, 0.0]
    case = TINY.with_(branch=[row, *TINY.branch[1:]])
    network = case.network()
    assert np.degrees(network.lines.angle_min[0]) == pytest.approx(low)
    assert np.degrees(network.lines.angle_max[0]) == pytest.approx(low + 120)
    assert edited_text(network.case, changes(network)) == case.text()
    assert saved(network) == network


def test_limits_of_the_file_do_not_count_from_the_phase_shift():
    network = TINY.with_(branch=[line(1, 2, shift=150.0), *TINY.branch[1:]]).network()
    assert np.degrees(network.lines.angle_max[0]) == pytest.approx(30.0)


def test_another_phase_shift_leaves_limits_where_they_were():
    """Limits that the file does not give would otherwise move with the shift."""
    row = [*line(1, 2, shift=150.0)[:11], 0.0, 0.0]
    network = TINY.with_(branch=[row, *TINY.branch[1:]]).network()
    shift = network.lines.shift.copy()
    shift[0] = np.radians(120.0)
    changed = replace(network, lines=replace(network.lines, shift=shift))
    again = saved(changed)
    assert again.lines.shift == pytest.approx(changed.lines.shift)
    assert np.degrees(again.lines.angle_min[0]) == pytest.approx(90.0)
    assert np.degrees(again.lines.angle_max[0]) == pytest.approx(210.0)


def test_a_branch_table_without_angle_columns_is_read():
    network = TINY.with_(branch=[row[:11] for row in TINY.branch]).network()
    assert np.all(network.lines.angle_max == np.pi / 3)


def test_parts_out_of_service_are_left_out_but_stay_in_the_file():
    case = TINY.with_(
        bus=[*TINY.bus, bus(9, 4)],
        gen=[*TINY.gen, gen(2, 50.0, status=0), gen(9, 50.0)],
        gencost=[*TINY.gencost, polynomial(1.0, 1.0, 1.0), polynomial(1.0, 1.0, 1.0)],
        branch=[*TINY.branch, line(1, 2, status=0), line(1, 9)],
    )
    network = case.network()
    assert network == TINY.network()
    assert edited_text(network.case, changes(network)) == case.text()


def test_a_bus_nothing_is_connected_to_is_left_out():
    network = TINY.with_(bus=[*TINY.bus, bus(9, 1)]).network()
    assert network.buses.number.tolist() == [1, 2, 7]


def test_parallel_lines_and_several_generators_on_a_bus_stay_apart():
    case = TINY.with_(
        gen=[*TINY.gen, gen(1, 30.0)],
        gencost=[*TINY.gencost, polynomial(0.0, 1.0, 0.0)],
        branch=[*TINY.branch, line(1, 2)],
    )
    network = case.network()
    assert len(network.lines) == 4
    assert network.generators.bus.tolist() == [0, 2, 0]


def test_islands_are_numbered():
    case = TINY.with_(
        bus=[*TINY.bus, bus(10, 3), bus(11, 1, 10.0)],
        gen=[*TINY.gen, gen(10, 30.0)],
        gencost=[*TINY.gencost, polynomial(0.0, 1.0, 0.0)],
        branch=[*TINY.branch, line(10, 11)],
    )
    network = case.network()
    assert network.buses.island.tolist() == [0, 0, 0, 1, 1]
    assert network.buses.reference.tolist() == [True, False, False, True, False]


def test_arrays_are_read_only():
    network = TINY.network()
    with pytest.raises(ValueError, match="read-only"):
        network.loads.p[0] = 1.0


loads = st.floats(-1e3, 1e3, allow_subnormal=False).filter(lambda p: p != 0)


@given(st.lists(loads, min_size=4, max_size=4), st.sampled_from([1.0, 100.0, 1000.0, 99.7]))
def test_saved_loads_read_back_to_the_last_bit_but_one(values, base):
    network = TINY.with_(base_mva=base).network()
    p, q = np.array(values[:2]), np.array(values[2:])
    again = saved(network.with_loads(p, q))
    assert np.all(np.abs(again.loads.p - p) <= np.spacing(np.abs(p)))
    assert np.all(np.abs(again.loads.q - q) <= np.spacing(np.abs(q)))
    assert saved(again) == again, "a second trip changes nothing"


def test_only_changed_cells_change():
    network = TINY.network()
    changed = network.with_loads(network.loads.p * [1.0, 1.5], network.loads.q)
    before, after = (
        TINY.text().splitlines(),
        edited_text(network.case, changes(changed)).splitlines(),
    )
    different = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert different == [
        (before[6], before[6].replace("\t50.0\t10.0", "\t75.0\t10.0")),
    ]


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("buses", "v_max", 1.05),
        ("buses", "shunt_b", 0.25),
        ("generators", "p_max", 1.75),
        ("generators", "q_max", np.inf),
        ("lines", "x", 0.3),
        ("lines", "tap", 0.97),
        ("lines", "shift", 0.1),
        ("lines", "rate", np.inf),
        ("lines", "rate", 1.25),
        ("lines", "angle_max", 0.4),
    ],
)
def test_every_kind_of_change_survives_a_trip(part, field, value):
    network = TINY.network()
    component = getattr(network, part)
    values = getattr(component, field).copy()
    values[0] = value
    changed = replace(network, **{part: replace(component, **{field: values})})
    assert changed != network
    assert saved(changed) == changed


def test_what_no_column_holds_cannot_be_saved():
    network = TINY.network()
    fewer = replace(network.loads, bus=network.loads.bus[:1])
    with pytest.raises(GridveilError, match=r"loads\.bus differs"):
        changes(replace(network, loads=fewer))
    costs = replace(
        network.generators.costs, coefficients=network.generators.costs.coefficients * 2
    )
    with pytest.raises(GridveilError, match=r"generators\.costs differs"):
        changes(replace(network, generators=replace(network.generators, costs=costs)))
    with pytest.raises(GridveilError, match="base_mva differs"):
        changes(replace(network, base_mva=50.0))


def test_a_change_to_a_column_the_file_lacks_is_refused():
    network = TINY.with_(branch=[row[:11] for row in TINY.branch]).network()
    narrow = replace(network.lines, angle_max=network.lines.angle_max / 2)
    with pytest.raises(GridveilError, match="has no column ang"):
        changes(replace(network, lines=narrow))


def test_loads_must_be_finite_and_as_many_as_before():
    network = TINY.network()
    with pytest.raises(GridveilError, match="2 loads expected"):
        network.with_loads(np.zeros(3), np.zeros(3))
    with pytest.raises(GridveilError, match="finite"):
        network.with_loads(np.array([np.nan, 0.0]), np.zeros(2))


def test_the_text_form_of_a_network_shows_no_load():
    network = TINY.with_cell("bus", 1, 2, 123.456).network()
    for shown in (
        repr(network),
        str(network),
        repr(network.loads),
        repr(network.case.tables["bus"]),
    ):
        assert "123" not in shown
        assert "1.23" not in shown


def test_angle_limits_of_a_line_that_had_none_are_saved_in_pairs():
    case = TINY.with_(branch=[[*line(1, 2)[:11], 0.0, 0.0], *TINY.branch[1:]])
    network = case.network()
    angles = network.lines.angle_min.copy()
    angles[0] = -0.3
    changed = replace(network, lines=replace(network.lines, angle_min=angles))
    again = saved(changed)
    assert again.lines.angle_min[0] == pytest.approx(-0.3, rel=1e-15)
    assert again.lines.angle_max[0] == pytest.approx(np.pi / 3, rel=1e-15)


def test_what_the_file_cannot_hold_is_refused():
    network = TINY.network()
    none = replace(network, lines=replace(network.lines, rate=np.zeros(3)))
    with pytest.raises(GridveilError, match=r"cannot hold the values of lines\.rate"):
        saved_text(none)


def test_a_comment_inside_a_row_is_not_a_cell():
    text = TINY.text().replace("\t80.0\t20.0", " ... 1 2 3\n % Pd Qd follow: 5 6\n 80.0 20.0")
    network = build_network(parse_matpower(text, "tiny.m", "tiny"))
    changed = network.with_loads(network.loads.p * 2, network.loads.q)
    assert saved(changed) == changed
    assert "80.0" not in saved_text(changed)


def test_a_load_of_zero_survives_where_it_is_declared():
    network = TINY.network()
    zero = network.with_loads(np.zeros(2), np.zeros(2))
    assert saved(zero) == zero
