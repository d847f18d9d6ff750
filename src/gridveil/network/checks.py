"""Checks a case before any solver sees it, and reports every problem at once."""

from collections.abc import Iterator

import numpy as np

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.network.case_file import LOAD_COLUMNS, CaseFile, Table
from gridveil.network.conversion import (
    ISOLATED,
    PIECEWISE_LINEAR,
    POLYNOMIAL,
    REFERENCE,
    InService,
    in_service,
)
from gridveil.network.problems import Problem, ProblemKind

UNSUPPORTED_SECTIONS = {
    **dict.fromkeys(
        ("busdc", "convdc", "branchdc", "dcbus", "dcconv", "dcbranch", "dcpol"), "a DC grid"
    ),
    **dict.fromkeys(("A", "l", "u"), "user-defined constraints"),
    **dict.fromkeys(("N", "H", "Cw", "fparm"), "user-defined costs"),
    "if": "interface flow limits",
    "ne_branch": "candidate lines of an expansion study",
    "reserves": "reserve requirements",
    "softlims": "soft limits",
    "storage": "storage",
    "switch": "switches",
    "userfcn": "user callbacks",
}
"""Sections that change the optimal power flow and that the network model does not have."""

# What has to be finite is everything the network is built from; limits may be infinite.
_FINITE = {
    "bus": ("bus_i", "type", "Pd", "Qd", "Gs", "Bs", "Vmax", "Vmin"),
    "gen": ("bus", "status"),
    "branch": ("fbus", "tbus", "r", "x", "b", "ratio", "angle", "status"),
}
_NOT_NAN = {
    "gen": ("Qmax", "Qmin", "Pmax", "Pmin"),
    "branch": ("rateA", "angmin", "angmax"),
}
_CAPABILITY = ("Pc1", "Pc2", "Qc1min", "Qc1max", "Qc2min", "Qc2max")
_CONVEXITY_TOLERANCE = 1e-9
_LARGEST_NUMBER = 2**31


def check_case(case: CaseFile, load_rows: IntArray | None = None) -> list[Problem]:
    """Return everything that is wrong with a case; an empty list means it can be built.

    Args:
        case: The tables.
        load_rows: Rows of the bus table that are declared to have a load; None takes those where it
            is not 0. What is found depends on no value of a load but one that is not finite.
    """
    problems = [*_empty(case), *_unsupported(case), *_numbers(case)]
    if problems:
        return problems
    parts = in_service(case, load_rows)
    problems += _buses(case.tables["bus"])
    problems += _generators(case.tables["gen"], parts)
    problems += _costs(case, parts)
    problems += _lines(case.tables["branch"], parts)
    structural = {ProblemKind.DUPLICATE, ProblemKind.UNKNOWN_BUS}
    if not any(problem.kind in structural for problem in problems):
        problems += _connections(case, parts)
    return problems


def _empty(case: CaseFile) -> Iterator[Problem]:
    for table in (case.tables["bus"], case.tables["gen"]):
        if len(table) == 0:
            yield Problem(ProblemKind.MISSING, "the table is empty", table.name, line=table.line)


def _unsupported(case: CaseFile) -> Iterator[Problem]:
    for name, line in case.sections.items():
        root = name.split(".")[0]
        if root in UNSUPPORTED_SECTIONS:
            reason = f"mpc.{name} ({UNSUPPORTED_SECTIONS[root]}) is not supported"
            yield Problem(ProblemKind.UNSUPPORTED, reason, line=line)
    if "dcline" in case.tables:
        dcline = case.tables["dcline"]
        for row in np.flatnonzero(dcline.column("status") != 0):
            reason = "DC lines are not supported; take it out of service to leave it out"
            yield dcline.problem(ProblemKind.UNSUPPORTED, row, "status", 1, reason)
    gen = case.tables["gen"]
    curve = np.any([gen.column(name) != 0 for name in _CAPABILITY], axis=0)
    for row in np.flatnonzero(curve & (gen.column("status") > 0)):
        reason = "P-Q capability curves (Pc1 to Qc2max) are not supported; set all six to 0"
        yield gen.problem(ProblemKind.UNSUPPORTED, row, "Pc1", gen.column("Pc1")[row], reason)


def _numbers(case: CaseFile) -> Iterator[Problem]:
    for names, allowed, what in (
        (_FINITE, np.isfinite, "finite"),
        (_NOT_NAN, lambda v: ~np.isnan(v), "a number"),
    ):
        for table_name, columns in names.items():
            table = case.tables[table_name]
            for column in columns:
                values = table.column(column)
                for row in np.flatnonzero(~allowed(values)):
                    value = None if (table_name, column) in LOAD_COLUMNS else float(values[row])
                    reason = f"{values[row]} is not {what}"
                    yield table.problem(ProblemKind.NOT_A_NUMBER, row, column, value, reason)


def _buses(bus: Table) -> Iterator[Problem]:
    numbers = bus.column("bus_i")
    yield from _each(
        bus,
        (numbers < 1) | (numbers != np.floor(numbers)) | (numbers > _LARGEST_NUMBER),
        ProblemKind.OUT_OF_RANGE,
        "bus_i",
        "this is not a positive whole number; are the columns in order?",
    )
    first: dict[float, int] = {}
    for row, number in enumerate(numbers):
        if first.setdefault(number, row) != row:
            reason = f"bus {number:.0f} is already in line {bus.row_lines[first[number]]}"
            yield bus.problem(ProblemKind.DUPLICATE, row, "bus_i", float(number), reason)
    yield from _each(
        bus,
        ~np.isin(bus.column("type"), (1, 2, REFERENCE, ISOLATED)),
        ProblemKind.OUT_OF_RANGE,
        "type",
        "this is no bus type: 1 load, 2 generator, 3 reference, 4 isolated",
    )
    yield from _each(
        bus, bus.column("Vmin") < 0, ProblemKind.OUT_OF_RANGE, "Vmin", "{value:g} p.u. is negative"
    )
    yield from _crossed(bus, "Vmin", "Vmax", np.ones(len(bus), bool))


def _generators(gen: Table, parts: InService) -> Iterator[Problem]:
    yield from _unknown_bus(gen, "bus", parts)
    for low, high in (("Pmin", "Pmax"), ("Qmin", "Qmax")):
        yield from _crossed(gen, low, high, parts.generator)
        for column, never in ((low, np.inf), (high, -np.inf)):
            bad = (gen.column(column) == never) & parts.generator
            yield from _each(gen, bad, ProblemKind.OUT_OF_RANGE, column, "{value} leaves no output")


def _lines(branch: Table, parts: InService) -> Iterator[Problem]:
    yield from _unknown_bus(branch, "fbus", parts)
    yield from _unknown_bus(branch, "tbus", parts)
    yield from _each(
        branch,
        (branch.column("fbus") == branch.column("tbus")) & parts.line,
        ProblemKind.OUT_OF_RANGE,
        "tbus",
        "the line starts and ends at bus {value:.0f}",
    )
    zero = (branch.column("r") == 0) & (branch.column("x") == 0)
    yield from _each(
        branch,
        zero & parts.line,
        ProblemKind.ZERO_IMPEDANCE,
        "x",
        "r and x are both 0; merge the two buses, or give the line a small x",
    )
    yield from _each(
        branch,
        (branch.column("rateA") < 0) & parts.line,
        ProblemKind.OUT_OF_RANGE,
        "rateA",
        "{value:g} MVA is negative; 0 means no limit",
    )
    yield from _each(
        branch,
        (branch.column("ratio") < 0) & parts.line,
        ProblemKind.OUT_OF_RANGE,
        "ratio",
        "{value:g} is negative; 0 means a line without a transformer",
    )
    yield from _crossed(branch, "angmin", "angmax", parts.line)


def _costs(case: CaseFile, parts: InService) -> Iterator[Problem]:
    gencost, gens = case.tables["gencost"], len(case.tables["gen"])
    if len(gencost) < gens:
        reason = f"no cost for gen row {len(gencost) + 1}" + (
            f" to {gens}" if gens > len(gencost) + 1 else ""
        )
        yield Problem(
            ProblemKind.NO_COST,
            f"{reason}: {gens} generators, but {len(gencost)} rows of cost",
            "gencost",
            line=gencost.line,
        )
        return
    if len(gencost) not in (gens, 2 * gens):
        reason = f"{len(gencost)} rows for {gens} generators; one each, or two with reactive costs"
        yield Problem(ProblemKind.SHAPE, reason, "gencost", line=gencost.line)
        return
    for row in np.flatnonzero(parts.generator):
        yield from _cost_row(gencost, int(row))
        if len(gencost) == 2 * gens and np.any(gencost.values[gens + row, 4:] != 0):
            reason = "costs of reactive power are not supported; set the row's numbers to 0"
            yield gencost.problem(ProblemKind.UNSUPPORTED, gens + int(row), "", None, reason)


def _cost_row(gencost: Table, row: int) -> Iterator[Problem]:
    values = gencost.values[row]
    model, count = values[0], values[3]
    if model not in (PIECEWISE_LINEAR, POLYNOMIAL):
        reason = f"{model:g} is no cost model: 1 is piecewise linear, 2 is polynomial"
        yield gencost.problem(ProblemKind.OUT_OF_RANGE, row, "model", model, reason)
        return
    least, width = (2, 2) if model == PIECEWISE_LINEAR else (1, 1)
    if not (least <= count <= _LARGEST_NUMBER and count == np.floor(count)):
        reason = f"{count:g} is not a whole number of at least {least}"
        yield gencost.problem(ProblemKind.OUT_OF_RANGE, row, "n", count, reason)
        return
    numbers = values[4 : 4 + width * int(count)]
    if len(numbers) < width * count:
        reason = f"{count:g} needs {width * count:g} numbers after it; the row has {len(numbers)}"
        yield gencost.problem(ProblemKind.SHAPE, row, "n", count, reason)
    elif not np.isfinite(numbers).all():
        yield gencost.problem(
            ProblemKind.NOT_A_NUMBER, row, "", None, "every number must be finite"
        )
    elif model == PIECEWISE_LINEAR:
        yield from _piecewise_linear(gencost, row, numbers.reshape(-1, 2))


def _piecewise_linear(gencost: Table, row: int, points: FloatArray) -> Iterator[Problem]:
    p, cost = points.T
    if np.any(np.diff(p) <= 0):
        reason = "the outputs of a piecewise-linear cost must increase from point to point"
        yield gencost.problem(ProblemKind.OUT_OF_RANGE, row, "", None, reason)
        return
    slopes = np.diff(cost) / np.diff(p)
    falls = np.flatnonzero(np.diff(slopes) < -_CONVEXITY_TOLERANCE * np.abs(slopes).max())
    for k in falls:
        reason = (
            f"a piecewise-linear cost that is not convex is not supported: its slope falls from "
            f"{slopes[k]:g} to {slopes[k + 1]:g} $/MWh at {p[k + 1]:g} MW"
        )
        yield gencost.problem(ProblemKind.UNSUPPORTED, row, "", None, reason)


def _connections(case: CaseFile, parts: InService) -> Iterator[Problem]:
    bus = case.tables["bus"]
    numbers, kinds = bus.column("bus_i"), bus.column("type")
    fed = np.zeros(len(bus), bool)
    generator_rows = parts.rows_of(case.tables["gen"].column("bus")[parts.generator])
    fed[parts.island[generator_rows]] = True
    for row in np.flatnonzero(parts.load & ~fed[parts.island]):
        reason = f"the load of bus {numbers[row]:.0f} has no path to a generator in service"
        yield bus.problem(ProblemKind.DISCONNECTED, row, "bus_i", float(numbers[row]), reason)
    for island in np.unique(parts.island[parts.bus]):
        members = np.flatnonzero(parts.bus & (parts.island == island))
        references = members[kinds[members] == REFERENCE]
        if len(references) == 0:
            reason = (
                f"no reference bus (type 3) among the {len(members)} buses connected to bus "
                f"{numbers[members[0]]:.0f}: give one of them type 3"
            )
            yield bus.problem(ProblemKind.REFERENCE, members[0], "type", kinds[members[0]], reason)
        for row in references[1:]:
            reason = (
                f"bus {numbers[row]:.0f} is a second reference bus, connected to bus "
                f"{numbers[references[0]]:.0f}: an island has exactly one"
            )
            yield bus.problem(ProblemKind.REFERENCE, row, "type", float(REFERENCE), reason)


def _each(
    table: Table, bad: BoolArray, kind: ProblemKind, column: str, reason: str
) -> Iterator[Problem]:
    """Yield a problem for each bad row; `reason` may show the cell's value."""
    values = table.column(column)
    for row in np.flatnonzero(bad):
        value = float(values[row])
        shown = value if "{value" in reason else None
        yield table.problem(kind, row, column, shown, reason.format(value=value))


def _crossed(table: Table, low: str, high: str, rows: BoolArray) -> Iterator[Problem]:
    lows, highs = table.column(low), table.column(high)
    for row in np.flatnonzero((lows > highs) & rows):
        reason = f"{lows[row]:g} is above {high}, {highs[row]:g}"
        yield table.problem(ProblemKind.BOUNDS_CROSSED, row, low, float(lows[row]), reason)


def _unknown_bus(table: Table, column: str, parts: InService) -> Iterator[Problem]:
    missing = parts.rows_of(table.column(column)) < 0
    yield from _each(
        table,
        missing,
        ProblemKind.UNKNOWN_BUS,
        column,
        "there is no bus {value:.15g} in the bus table",
    )
