"""The check step: every kind of nonsense found, with its place, all at once."""

import pytest

from gridveil.network.checks import check_case
from gridveil.network.formats.matpower_parser import parse_matpower
from gridveil.network.problems import ProblemKind
from tests.cases import TINY, bus, gen, line, polynomial


def problems(case):
    return check_case(parse_matpower(case.text(), "tiny.m", "tiny"))


def test_a_good_case_has_none():
    assert problems(TINY) == []


def test_everything_is_told_at_once():
    case = (
        TINY.with_cell("bus", 1, 11, 0.8)
        .with_cell("gen", 0, 9, 300.0)
        .with_cell("branch", 1, 3, 0.0)
        .with_cell("branch", 1, 2, 0.0)
        .with_cell("branch", 2, 11, 50.0)
        .with_cell("gencost", 1, 0, 3)
    )
    found = [(p.kind, p.component, p.row, p.field) for p in problems(case)]
    assert found == [
        (ProblemKind.BOUNDS_CROSSED, "bus", 2, "Vmin"),
        (ProblemKind.BOUNDS_CROSSED, "gen", 1, "Pmin"),
        (ProblemKind.OUT_OF_RANGE, "gencost", 2, "model"),
        (ProblemKind.ZERO_IMPEDANCE, "branch", 2, "x"),
        (ProblemKind.BOUNDS_CROSSED, "branch", 3, "angmin"),
    ]


ISLAND = TINY.with_(
    bus=[*TINY.bus, bus(10, 1, 5.0, 1.0), bus(11, 2)],
    branch=[*TINY.branch, line(10, 11)],
)


@pytest.mark.parametrize(
    ("case", "kind", "says"),
    [
        (TINY.with_cell("bus", 1, 0, 1), ProblemKind.DUPLICATE, "bus 1 is already in line 5"),
        (TINY.with_cell("bus", 1, 0, 2.5), ProblemKind.OUT_OF_RANGE, "not a positive whole"),
        (TINY.with_cell("bus", 1, 0, -2), ProblemKind.OUT_OF_RANGE, "not a positive whole"),
        (TINY.with_cell("bus", 1, 1, 5), ProblemKind.OUT_OF_RANGE, "this is no bus type"),
        (TINY.with_cell("bus", 1, 3, "NaN"), ProblemKind.NOT_A_NUMBER, "nan is not finite"),
        (TINY.with_cell("bus", 1, 4, "Inf"), ProblemKind.NOT_A_NUMBER, "inf is not finite"),
        (TINY.with_cell("bus", 1, 12, -0.1), ProblemKind.OUT_OF_RANGE, "-0.1 p.u. is negative"),
        (TINY.with_cell("gen", 1, 0, 99), ProblemKind.UNKNOWN_BUS, "there is no bus 99"),
        (TINY.with_cell("gen", 1, 4, 300), ProblemKind.BOUNDS_CROSSED, "300 is above Qmax, 200"),
        (TINY.with_cell("gen", 1, 8, "NaN"), ProblemKind.NOT_A_NUMBER, "nan is not a number"),
        (TINY.with_cell("branch", 0, 1, 99), ProblemKind.UNKNOWN_BUS, "there is no bus 99"),
        (TINY.with_cell("branch", 0, 1, 1), ProblemKind.OUT_OF_RANGE, "starts and ends at bus 1"),
        (TINY.with_cell("branch", 0, 5, -5), ProblemKind.OUT_OF_RANGE, "-5 MVA is negative"),
        (TINY.with_cell("branch", 0, 8, -1), ProblemKind.OUT_OF_RANGE, "-1 is negative"),
        (
            TINY.with_(gencost=TINY.gencost[:1]),
            ProblemKind.NO_COST,
            "no cost for gen row 2: 2 generators",
        ),
        (TINY.with_(gencost=[TINY.gencost[0]] * 3), ProblemKind.SHAPE, "3 rows for 2 generators"),
        (
            TINY.with_cell("gencost", 0, 3, 9),
            ProblemKind.SHAPE,
            "9 needs 9 numbers after it; the row has 3",
        ),
        (TINY.with_cell("gencost", 0, 3, 0), ProblemKind.OUT_OF_RANGE, "0 is not a whole number"),
        (
            TINY.with_cell("gencost", 0, 3, "NaN"),
            ProblemKind.OUT_OF_RANGE,
            "nan is not a whole number",
        ),
        (TINY.with_cell("gencost", 0, 4, "NaN"), ProblemKind.NOT_A_NUMBER, "must be finite"),
        (
            TINY.with_cell("bus", 0, 1, 2),
            ProblemKind.REFERENCE,
            "no reference bus (type 3) among the 3",
        ),
        (TINY.with_cell("bus", 2, 1, 3), ProblemKind.REFERENCE, "bus 7 is a second reference bus"),
        (ISLAND, ProblemKind.DISCONNECTED, "bus 10 has no path to a generator"),
        (TINY.with_(bus=[]), ProblemKind.MISSING, "the table is empty"),
        (TINY.with_(gen=[], gencost=[]), ProblemKind.MISSING, "the table is empty"),
        (
            TINY.with_(extra="mpc.dcline = [1 2 1];"),
            ProblemKind.UNSUPPORTED,
            "DC lines are not supported",
        ),
        (
            TINY.with_(extra="mpc.convdc = [1 2 1];"),
            ProblemKind.UNSUPPORTED,
            "mpc.convdc (a DC grid)",
        ),
        (TINY.with_(extra="mpc.storage = [1];"), ProblemKind.UNSUPPORTED, "mpc.storage (storage)"),
        (
            TINY.with_(extra="mpc.reserves.zones = [1];"),
            ProblemKind.UNSUPPORTED,
            "mpc.reserves.zones",
        ),
        (TINY.with_(extra="mpc.A = [1];"), ProblemKind.UNSUPPORTED, "user-defined constraints"),
        (
            TINY.with_(gen=[[*gen(1, 9.0), 1, 2, 0, 0, 0, 0], [*gen(7, 9.0), 0, 0, 0, 0, 0, 0]]),
            ProblemKind.UNSUPPORTED,
            "capability curves",
        ),
        (
            TINY.with_(gencost=[*TINY.gencost, polynomial(0, 0, 0), polynomial(0, 1, 0)]),
            ProblemKind.UNSUPPORTED,
            "costs of reactive power",
        ),
        (
            TINY.with_(gencost=[[1, 0, 0, 3, 0, 0, 10, 100, 20, 150], polynomial(1, 0)]),
            ProblemKind.UNSUPPORTED,
            "its slope falls from 10 to 5 $/MWh at 10 MW",
        ),
        (
            TINY.with_(gencost=[[1, 0, 0, 2, 10, 0, 10, 100], polynomial(1, 0)]),
            ProblemKind.OUT_OF_RANGE,
            "must increase",
        ),
    ],
)
def test_each_kind_is_found_and_said(case, kind, says):
    found = problems(case)
    assert any(p.kind is kind and says in p.reason for p in found), found
    assert all(p.line is not None for p in found)


def test_what_is_out_of_service_may_be_nonsense():
    case = TINY.with_(
        gen=[*TINY.gen, gen(1, -5.0, status=0)],
        gencost=[*TINY.gencost, polynomial(0.0, 0.0, 0.0)],
        branch=[*TINY.branch, line(1, 2, r=0.0, x=0.0, status=0)],
        bus=[*TINY.bus, bus(9, 4, 12.0, 3.0)],
        extra="mpc.dcline = [1 2 0];",
    )
    assert problems(case) == []


def test_zero_reactive_costs_and_infinite_limits_are_fine():
    case = TINY.with_(gencost=[*TINY.gencost, polynomial(0, 0, 0), polynomial(0, 0, 0)])
    assert problems(case.with_cell("gen", 0, 3, "Inf")) == []


def test_no_problem_shows_a_load():
    case = TINY.with_(bus=[*TINY.bus, bus(9, 1, 123.456)])
    for found in (problems(case), problems(TINY.with_cell("bus", 1, 2, "Inf"))):
        assert found
        for problem in found:
            assert "123" not in str(problem)
            assert problem.value != 123.456
