"""Between a case file's tables (MW, degrees, bus numbers) and a `Network` (p.u., radians, indices).

Every field of buses, generators and lines that stands in a column of the file is one row of
`FIELDS`; building and saving both read it, so that they always agree. Of the loads, the bus table
holds the sum at each bus.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gridveil.arrays import BoolArray, FloatArray, IntArray
from gridveil.errors import GridveilError
from gridveil.network.case_file import CaseFile, Edit, Table
from gridveil.network.components import Buses, Generators, Lines, Loads
from gridveil.network.costs import CostFunctions
from gridveil.network.load_values import idle_loads, load_cells, load_values, sums_by_row
from gridveil.network.network import Network
from gridveil.network.source_loads import (
    LoadIdentity,
    SourceLoad,
    bus_key,
    numbers_at_buses,
)
from gridveil.network.units import DEGREES, PLAIN, POWER, Unit, encoded

DEFAULT_ANGLE_LIMIT = np.pi / 3
"""Limit of θ_from − θ_to where the file gives none, counted from the phase shift: ±60°, far beyond
any stable operation."""

ISOLATED = 4
"""MATPOWER's bus type for a bus that is out of service."""
REFERENCE = 3
"""MATPOWER's bus type for a reference bus."""
PIECEWISE_LINEAR, POLYNOMIAL = 1, 2
"""MATPOWER's cost models."""
_LOAD_COLUMNS = ("Pd", "Qd")
"""The columns of the bus table with the sums of loads."""


@dataclass(frozen=True)
class InService:
    """Which rows of the tables are in service, and which of them are connected."""

    bus: BoolArray
    load: BoolArray
    generator: BoolArray
    line: BoolArray
    bus_row: Mapping[float, int]
    """Row of the bus table for each bus number."""
    island: IntArray
    """Connected part of each row of the bus table, from 0, numbered over all rows."""

    def rows_of(self, numbers: FloatArray) -> IntArray:
        """Return the bus-table rows of bus numbers, −1 where there is no such bus."""
        return _rows_of(self.bus_row, numbers)


def in_service(case: CaseFile, load_rows: IntArray | None = None) -> InService:
    """Find the rows in service; a component at an unknown bus counts as out of service.

    With the rows of a declared list of load buses, nothing depends on the value of any load. An
    isolated bus is out of service with its load.

    Args:
        case: The tables.
        load_rows: Rows of the bus table with a load; None takes those of the loads that the case
            lists one by one, or else those where it is not 0.
    """
    bus, gen, branch = (case.tables[name] for name in ("bus", "gen", "branch"))
    index = _bus_row(case)
    isolated = bus.column("type") == ISOLATED

    def has_bus(at: IntArray) -> BoolArray:
        return np.asarray((at >= 0) & ~isolated[at])

    gen_bus = _rows_of(index, gen.column("bus"))
    ends = [_rows_of(index, branch.column(name)) for name in ("fbus", "tbus")]
    generator = (gen.column("status") > 0) & has_bus(gen_bus)
    line = (branch.column("status") > 0) & has_bus(ends[0]) & has_bus(ends[1])
    load = has_load(bus)
    listed = _listed_rows(case, index) if load_rows is None else load_rows
    if listed is not None:
        load = np.zeros(len(bus), bool)
        load[listed] = True
    shunt = (bus.column("Gs") != 0) | (bus.column("Bs") != 0)

    used = load | shunt | (bus.column("type") == REFERENCE)
    used[gen_bus[generator]] = True
    used[ends[0][line]] = True
    used[ends[1][line]] = True
    graph = coo_array(
        (np.ones(line.sum()), (ends[0][line], ends[1][line])), shape=(len(bus), len(bus))
    )
    island = connected_components(graph, directed=False)[1].astype(np.int64)
    bus_in_service = used & ~isolated
    return InService(bus_in_service, load & bus_in_service, generator, line, index, island)


def _listed_rows(case: CaseFile, index: Mapping[float, int]) -> IntArray | None:
    """Return the rows of the loads in service that a case lists; None where it lists none."""
    if case.loads is None:
        return None
    numbers = [float(load.bus) for load in case.loads if load.in_service]
    rows = _rows_of(index, np.array(numbers, dtype=float))
    return rows[rows >= 0]


def has_load(bus: Table) -> BoolArray:
    """Return for which rows of the bus table P or Q is not 0."""
    return np.asarray((bus.column("Pd") != 0) | (bus.column("Qd") != 0))


def bus_rows(case: CaseFile, numbers: Sequence[int]) -> IntArray:
    """Return the bus-table rows of bus numbers, −1 where there is no such bus."""
    return _rows_of(_bus_row(case), np.array(list(numbers), dtype=float))


def _bus_row(case: CaseFile) -> dict[float, int]:
    return {n: i for i, n in enumerate(case.tables["bus"].column("bus_i").tolist())}


def _rows_of(index: Mapping[float, int], numbers: FloatArray) -> IntArray:
    """Return the rows of bus numbers, −1 where there is no such bus."""
    return np.fromiter((index.get(n, -1) for n in numbers.tolist()), np.int64)


def build_network(case: CaseFile, load_rows: IntArray | None = None) -> Network:
    """Return the network of a case that `check_case` found nothing wrong with.

    Its loads are those that the case lists one by one, or else one at each of the given rows of the
    bus table, or else one at every row in service that has a load.
    """
    parts = in_service(case, load_rows)
    bus_row = np.flatnonzero(parts.bus)
    row_to_index = np.full(len(parts.bus), -1, dtype=np.int64)
    row_to_index[bus_row] = np.arange(len(bus_row))
    rows = {
        "buses": bus_row,
        "generators": np.flatnonzero(parts.generator),
        "lines": np.flatnonzero(parts.line),
    }

    def at_bus(table: str, column: str, part: str) -> IntArray:
        return row_to_index[parts.rows_of(case.tables[table].column(column)[rows[part]])]

    def values(part: str) -> dict[str, FloatArray]:
        return {
            f.name: f.read(case.tables[f.table], case.base_mva)[rows[part]]
            for f in FIELDS
            if f.part == part
        }

    bus = case.tables["bus"]
    active, load_row, idle = _loads_of(case, parts, load_rows)
    return Network(
        name=case.name,
        base_mva=case.base_mva,
        buses=Buses(
            number=bus.column("bus_i")[bus_row].astype(np.int64),
            reference=bus.column("type")[bus_row] == REFERENCE,
            island=np.unique(parts.island[bus_row], return_inverse=True)[1].astype(np.int64),
            row=bus_row,
            **values("buses"),
        ),
        loads=Loads(
            bus=row_to_index[load_row],
            number=np.array(numbers_at_buses(load.bus for load in active), dtype=np.int64),
            row=load_row,
            **load_values(active, case.base_mva),
        ),
        generators=Generators(
            bus=at_bus("gen", "bus", "generators"),
            costs=cost_functions(case.tables["gencost"].values[rows["generators"]], case.base_mva),
            row=rows["generators"],
            **values("generators"),
        ),
        lines=Lines(
            from_bus=at_bus("branch", "fbus", "lines"),
            to_bus=at_bus("branch", "tbus", "lines"),
            row=rows["lines"],
            **values("lines"),
        ),
        case=case,
        load_identities=tuple(map(LoadIdentity.of, active)),
        idle_loads=idle_loads(active, idle, case.base_mva),
    )


def _loads_of(
    case: CaseFile, parts: InService, load_rows: IntArray | None
) -> tuple[list[SourceLoad], IntArray, list[SourceLoad]]:
    """Return the loads in service by rows of the bus table, these rows, and the idle loads."""
    if case.loads is not None:
        found = parts.rows_of(np.array([load.bus for load in case.loads], dtype=float))
        active = np.array([load.in_service for load in case.loads], dtype=bool)
        active &= (found >= 0) & parts.bus[found]
        order = np.flatnonzero(active)[np.argsort(found[active], kind="stable")]
        idle = [load for load, on in zip(case.loads, active.tolist(), strict=True) if not on]
        return [case.loads[i] for i in order.tolist()], found[order], idle
    bus = case.tables["bus"]
    rows = np.flatnonzero(parts.load) if load_rows is None else load_rows
    out_of_service = np.flatnonzero(has_load(bus) & ~parts.bus)
    return _table_loads(bus, rows), rows, _table_loads(bus, out_of_service)


def _table_loads(bus: Table, rows: IntArray) -> list[SourceLoad]:
    """Return the loads that stand in rows of the bus table, one in each."""
    columns = (bus.column(name)[rows].tolist() for name in ("bus_i", "Pd", "Qd"))
    return [
        SourceLoad(int(number), bus_key(int(number)), p, q)
        for number, p, q in zip(*columns, strict=True)
    ]


def changes(network: Network) -> list[Edit]:
    """Return the cells of the source file that must change for it to hold this network."""
    source = build_network(network.case, network.loads.row)
    _refuse_unsaveable(network, source)
    edits = _load_edits(network, source)
    for f in FIELDS:
        part = getattr(network, f.part)
        changed = np.flatnonzero(_changed(f, source, network))
        if len(changed) and f.column not in network.case.tables[f.table].columns:
            raise GridveilError(
                f"cannot save {network.name}: {f.part}.{f.name} changed, but the file's {f.table} "
                f"table has no column {f.column}"
            )
        for i in changed:
            value = _cell(f, float(getattr(part, f.name)[i]), network.base_mva)
            edits.append(Edit(f.table, int(part.row[i]), f.column, value))
    return edits


def _load_edits(network: Network, source: Network) -> list[Edit]:
    """Return the cells of the bus table that get another sum of loads."""
    changed = network.loads.values != source.loads.values
    if not changed.any():
        return []
    edits, rows, cells = [], network.loads.row, load_cells(network.loads.values, network.base_mva)
    for k, column in enumerate(_LOAD_COLUMNS):
        sums = sums_by_row(rows, cells[:, k])
        edits += [
            Edit("bus", row, column, sums[row]) for row in np.unique(rows[changed[:, k]]).tolist()
        ]
    return edits


def _changed(f: "Field", source: Network, network: Network) -> BoolArray:
    """Return which cells have to be written: a default moves with what it counts from."""
    changed = np.any([_differs(t, source, network) for t in f.tied()], axis=0)
    if f.absent is None or f.counts_from is None:
        return np.asarray(changed)
    table = network.case.tables[f.table]
    absent = f.absent(table)[getattr(network, f.part).row]
    origin = next(o for o in FIELDS if (o.table, o.column) == (f.table, f.counts_from))
    return np.asarray(changed | (absent & _differs(origin, source, network)))


def _differs(f: "Field", source: Network, network: Network) -> BoolArray:
    old, new = (getattr(getattr(n, f.part), f.name) for n in (source, network))
    return np.asarray(old != new)


def _refuse_unsaveable(network: Network, source: Network) -> None:
    saved = {(f.part, f.name) for f in FIELDS} | {("loads", "p"), ("loads", "q")}
    for part in ("buses", "loads", "generators", "lines"):
        for spec in fields(getattr(network, part)):
            old, new = (getattr(getattr(n, part), spec.name) for n in (source, network))
            same = np.array_equal(old, new) if isinstance(old, np.ndarray) else old == new
            if (part, spec.name) not in saved and not same:
                raise GridveilError(
                    f"cannot save {network.name}: {part}.{spec.name} differs from its source file; "
                    "only values that stand in a column of the bus, gen or branch table can change"
                )
    left_out = set(np.flatnonzero(in_service(network.case).load)) - set(network.loads.row)
    if left_out:
        raise GridveilError(
            f"cannot save {network.name}: it leaves out {len(left_out)} loads that its source file "
            "has; set them to 0 instead"
        )
    if network.base_mva != source.base_mva:
        raise GridveilError(f"cannot save {network.name}: base_mva differs from its source file")


def cost_functions(rows: FloatArray, base_mva: float) -> CostFunctions:
    """Turn gencost rows into cost functions of the output in p.u."""
    model, count = rows[:, 0], rows[:, 3].astype(np.int64)
    polynomial = model == POLYNOMIAL
    order = int(count[polynomial].max(initial=1))
    coefficients = np.zeros((len(rows), order))
    for n in np.unique(count[polynomial]):
        at = polynomial & (count == n)
        coefficients[at, :n] = rows[at, 4 : 4 + n][:, ::-1] * base_mva ** np.arange(n)
    generator: list[int] = []
    slope: list[float] = []
    intercept: list[float] = []
    for g in np.flatnonzero(~polynomial):
        p, cost = rows[g, 4 : 4 + 2 * count[g]].reshape(-1, 2).T
        slopes = np.diff(cost) / np.diff(p / base_mva)
        generator += [int(g)] * len(slopes)
        slope += slopes.tolist()
        intercept += (cost[:-1] - slopes * p[:-1] / base_mva).tolist()
    return CostFunctions(
        coefficients, np.array(generator, dtype=np.int64), np.array(slope), np.array(intercept)
    )


def _cell(f: "Field", value: float, base_mva: float) -> float:
    """Return the shortest file value that reads back as `value`, or the nearest there is."""
    if np.isinf(value) and value == f.default:
        return 0.0
    return encoded(f.unit, value, base_mva)


@dataclass(frozen=True)
class Field:
    """A field of the network, and the column of the case file that holds it."""

    part: str
    name: str
    table: str
    column: str
    unit: Unit
    absent: Callable[[Table], BoolArray] | None = None
    """Where the file gives no value, so that `default` holds."""
    default: float = np.nan
    counts_from: str | None = None
    """The column of angles that `default` counts from, whole turns aside."""

    def tied(self) -> "list[Field]":
        """Return the fields that are absent together: a value for one gives the others a value."""
        if self.absent is None:
            return [self]
        return [f for f in FIELDS if f.absent is self.absent]

    def read(self, table: Table, base_mva: float) -> FloatArray:
        """Return the field for every row of the table."""
        values = self.unit.decode(table.column(self.column), base_mva)
        if self.absent is None:
            return values
        default: FloatArray | float = self.default
        if self.counts_from is not None:
            origin = within_half_a_turn(table.column(self.counts_from))
            default = self.unit.decode(origin, base_mva) + default
        return np.where(self.absent(table), default, values)


def within_half_a_turn(degrees: FloatArray) -> FloatArray:
    """Return angles of −180° to 180°: those outside by whole turns more or less."""
    return np.where(np.abs(degrees) <= 180, degrees, np.remainder(degrees + 180, 360) - 180)


def _no_rate(branch: Table) -> BoolArray:
    return np.asarray(branch.column("rateA") == 0)


def _no_tap(branch: Table) -> BoolArray:
    return np.asarray(branch.column("ratio") == 0)


def _no_angle_limit(branch: Table) -> BoolArray:
    low, high = branch.column("angmin"), branch.column("angmax")
    return np.asarray(((low == 0) | (low <= -360)) & ((high == 0) | (high >= 360)))


FIELDS = (
    Field("buses", "v_min", "bus", "Vmin", PLAIN),
    Field("buses", "v_max", "bus", "Vmax", PLAIN),
    Field("buses", "shunt_g", "bus", "Gs", POWER),
    Field("buses", "shunt_b", "bus", "Bs", POWER),
    Field("generators", "p_min", "gen", "Pmin", POWER),
    Field("generators", "p_max", "gen", "Pmax", POWER),
    Field("generators", "q_min", "gen", "Qmin", POWER),
    Field("generators", "q_max", "gen", "Qmax", POWER),
    Field("lines", "r", "branch", "r", PLAIN),
    Field("lines", "x", "branch", "x", PLAIN),
    Field("lines", "b", "branch", "b", PLAIN),
    Field("lines", "tap", "branch", "ratio", PLAIN, _no_tap, 1.0),
    Field("lines", "shift", "branch", "angle", DEGREES),
    Field("lines", "rate", "branch", "rateA", POWER, _no_rate, np.inf),
    Field(
        "lines",
        "angle_min",
        "branch",
        "angmin",
        DEGREES,
        _no_angle_limit,
        -DEFAULT_ANGLE_LIMIT,
        counts_from="angle",
    ),
    Field(
        "lines",
        "angle_max",
        "branch",
        "angmax",
        DEGREES,
        _no_angle_limit,
        DEFAULT_ANGLE_LIMIT,
        counts_from="angle",
    ),
)
