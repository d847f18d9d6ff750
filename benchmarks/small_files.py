"""Small networks in formats of fixed columns, made up here: nobody's data."""

from collections.abc import Iterable

_Cells = Iterable[tuple[int, object]]


def _line(*cells: tuple[int, object]) -> str:
    """Return a line with texts at columns, from 1."""
    line = ""
    for column, text in cells:
        line = line.ljust(column - 1) + str(text)
    return line


def _cdf_bus(number: int, kind: int, voltage: float, p: float, q: float, generated: float) -> str:
    limits = ((85, voltage), (91, 60.0), (99, -60.0)) if kind >= 2 else ()
    return _line(
        (1, f"{number:4d}"), (6, f"BUS {number}"), (19, 1), (21, 1), (25, f"{kind:2d}"),
        (28, voltage), (34, 0.0), (41, p), (50, q), (60, generated), (68, 0.0), (77, 110.0),
        *limits, (107, 0.0), (115, 0.12 if number == 3 else 0.0), (124, 0),
    )  # fmt: skip


def _cdf_branch(one: int, other: int, r: float, x: float, b: float, ratio: float) -> str:
    return _line(
        (1, f"{one:4d}"), (6, f"{other:4d}"), (11, 1), (13, 1), (17, 1), (19, 1 if ratio else 0),
        (20, r), (30, x), (41, b), (51, 0), (57, 0), (63, 0), (69, 0), (74, 0), (77, ratio),
        (84, 0.0),
    )  # fmt: skip


IEEE_CDF = "\n".join([
    _line((2, "08/19/93"), (11, "MADE UP"), (32, "100.0"), (39, 1993), (44, "W"), (46, "FOUR")),
    "BUS DATA FOLLOWS                            4 ITEMS",
    _cdf_bus(11, 3, 1.04, 0.0, 0.0, 0.0),
    _cdf_bus(12, 0, 1.0, 41.7, 12.3, 0.0),
    _cdf_bus(13, 2, 1.02, 23.9, 7.1, 40.0),
    _cdf_bus(14, 0, 1.0, 0.0, -3.3, 0.0),
    "-999",
    "BRANCH DATA FOLLOWS                         4 ITEMS",
    _cdf_branch(11, 12, 0.01, 0.08, 0.03, 0.0),
    _cdf_branch(12, 13, 0.02, 0.11, 0.02, 0.0),
    _cdf_branch(11, 13, 0.015, 0.09, 0.025, 0.0),
    _cdf_branch(13, 14, 0.0, 0.15, 0.0, 0.97),
    "-999",
    "LOSS ZONES FOLLOWS                     1 ITEMS",
    "  1 ALL",
    "-99",
    "INTERCHANGE DATA FOLLOWS                 0 ITEMS",
    "-9",
    "TIE LINES FOLLOWS                     0 ITEMS",
    "-999",
    "END OF DATA",
    "",
])  # fmt: skip
"""Four buses in the IEEE Common Data Format: a generator, a transformer, a load with P = 0."""


def _node(code: str, kind: int, kv: float | str, p: float, q: float, output: _Cells = ()) -> str:
    return _line((1, code), (10, code), (23, 0), (25, kind), (27, kv), (34, p), (42, q), *output)


def _generator(p: float) -> _Cells:
    return ((50, -p), (58, 0.0), (66, -0.0), (74, -900.0), (82, 300.0), (90, -300.0))


UCTE = "\n".join([
    "##C 2007.05.01",
    "made up: two areas, a phase shifter, a boundary",
    "##N",
    "##ZBE",
    _node("BBE1AA1 ", 3, 400.0, 0.0, 0.0, _generator(500.0)),
    _node("BBE2AA1 ", 0, "", 310.5, 90.25, ()),
    _node("BBE3AA1 ", 2, 401.0, 120.0, 15.5, _generator(250.0)),
    "##ZFR",
    _node("FFR1AA1 ", 0, "", 205.0, -12.0, ()),
    _node("FFR1AA2 ", 0, "", 33.5, 4.0, ()),
    "##ZXX",
    _node("XBEFR11 ", 0, "", 61.0, 8.0, ()),
    "##L",
    _line((1, "BBE1AA1 "), (10, "BBE2AA1 "), (19, 1), (21, 0), (23, 1.5), (30, 18.0), (37, 210.0),
          (46, 2000)),
    _line((1, "BBE2AA1 "), (10, "BBE3AA1 "), (19, 1), (21, 0), (23, 1.1), (30, 14.0), (37, 150.0),
          (46, 1800)),
    _line((1, "BBE3AA1 "), (10, "FFR1AA1 "), (19, 1), (21, 0), (23, 2.0), (30, 25.0), (37, 300.0),
          (46, 1500)),
    _line((1, "BBE1AA1 "), (10, "BBE3AA1 "), (19, 1), (21, 8), (23, 2.0), (30, 25.0), (37, 300.0),
          (46, 1500)),
    _line((1, "FFR1AA1 "), (10, "XBEFR11 "), (19, 1), (21, 0), (23, 0.9), (30, 11.0), (37, 120.0),
          (46, 1500)),
    "##T",
    _line((1, "BBE1AA1 "), (10, "BBE3AA1 "), (19, 2), (21, 0), (23, 400.0), (29, 400.0),
          (35, 600.0), (41, 0.7), (48, 20.0), (55, 3.0), (64, 1.5), (71, 1000)),
    _line((1, "FFR1AA2 "), (10, "FFR1AA1 "), (19, 1), (21, 0), (23, 225.0), (29, 400.0),
          (35, 400.0), (41, 0.9), (48, 22.0), (55, -3.0), (64, 2.0), (71, 600)),
    "##R",
    _line((1, "BBE1AA1 "), (10, "BBE3AA1 "), (19, 2), (40, "0.68"), (46, "90.0"), (52, 16),
          (55, 7), (65, "SYMM")),
    _line((1, "FFR1AA2 "), (10, "FFR1AA1 "), (19, 1), (21, "0.96"), (27, 8), (30, -3)),
    "##E",
    "",
])  # fmt: skip
"""Five nodes and a boundary node in UCTE-DEF: transformers that shift the phase and the voltage."""

PSSE_33 = """0, 50.0, 33, 0, 1, 60.0 / made up
four buses in version 33

7,'HYDRO       ',110.0,3,1,1,1,1.02,0.0,1.08,0.94,1.1,0.9
101,'TOWN        ',110.0,1,1,1,1,0.99,-2.0,1.06,0.95,1.1,0.9
102,'MILL        ',20.0,1,1,1,1,0.98,-3.0,1.1,0.9,1.1,0.9
103,'STATION     ',110.0,2,1,1,1,1.01,-1.0,1.1,0.9,1.1,0.9
0 / END OF BUS DATA, BEGIN LOAD DATA
101,'1 ',1,1,1,31.5,9.25,0.0,0.0,0.0,0.0,1,1,0
101,'2 ',1,1,1,12.75,3.5,0.0,0.0,0.0,0.0,1,1,0
102,'1 ',1,1,1,8.5,2.25,0.0,0.0,0.0,0.0,1,1,0
102,'X ',0,1,1,4.75,1.5,0.0,0.0,0.0,0.0,1,1,0
0 / END OF LOAD DATA, BEGIN FIXED SHUNT DATA
101,'1 ',1,0.5,6.0
0 / END OF FIXED SHUNT DATA, BEGIN GENERATOR DATA
7,'1 ',40.0,5.0,60.0,-30.0,1.02,0,100.0,0.0,1.0,0.0,0.0,1.0,1,100.0,90.0,5.0,1,1.0
103,'1 ',20.0,2.0,25.0,-25.0,1.01,0,50.0,0.0,1.0,0.0,0.0,1.0,1,100.0,40.0,0.0,1,1.0
0 / END OF GENERATOR DATA, BEGIN BRANCH DATA
7,101,'1 ',0.01,0.05,0.02,120.0,0.0,0.0,0.0,0.0,0.0,0.0,1,1,0.0,1,1.0
101,103,'1 ',0.012,0.06,0.015,80.0,0.0,0.0,0.0,0.0,0.0,0.0,1,1,0.0,1,1.0
7,103,'1 ',0.02,0.09,0.01,0.0,0.0,0.0,0.001,0.002,0.0,0.004,1,1,0.0,1,1.0
0 / END OF BRANCH DATA, BEGIN TRANSFORMER DATA
101,102,0,'1 ',1,1,1,0.001,-0.01,2,'T1          ',1,1,1.0
0.005,0.11,50.0
0.975,0.0,30.0,40.0,0.0,0.0,0,0,1.1,0.9,1.1,0.9,33,0,0.0,0.0
1.0,0.0
0 / END OF TRANSFORMER DATA, BEGIN AREA DATA
0 / END OF AREA DATA, BEGIN TWO-TERMINAL DC DATA
0 / END OF TWO-TERMINAL DC DATA, BEGIN VSC DC LINE DATA
0 / END OF VSC DC LINE DATA, BEGIN IMPEDANCE CORRECTION DATA
0 / END OF IMPEDANCE CORRECTION DATA, BEGIN MULTI-TERMINAL DC DATA
0 / END OF MULTI-TERMINAL DC DATA, BEGIN MULTI-SECTION LINE DATA
0 / END OF MULTI-SECTION LINE DATA, BEGIN ZONE DATA
0 / END OF ZONE DATA, BEGIN INTER-AREA TRANSFER DATA
0 / END OF INTER-AREA TRANSFER DATA, BEGIN OWNER DATA
0 / END OF OWNER DATA, BEGIN FACTS DEVICE DATA
0 / END OF FACTS DEVICE DATA, BEGIN SWITCHED SHUNT DATA
103,0,0,1,1.1,0.9,0,100.0,'            ',7.5,1,7.5
0 / END OF SWITCHED SHUNT DATA, BEGIN GNE DATA
0 / END OF GNE DATA
Q
"""
"""Four buses in version 33 of PSS/E's raw format: two loads at a bus, one switched off."""
