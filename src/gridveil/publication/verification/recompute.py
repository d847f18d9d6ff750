"""The figures of a published network, from the tables of its file, by the verifier's own formulas.

Nothing is shared with who made the release but the reader of case files: power flows come from the
bus admittance matrix, S = V (Y V)*, costs from the rows of gencost, limits from the columns as they
stand, all in the units of the file.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ComplexArray, FloatArray, IntArray
from gridveil.network.case_file import CaseFile
from gridveil.network.conversion import InService, in_service

_NEGLIGIBLE = 1e-6
"""Share of all costs below which a generator's relative gap says nothing."""
_SAME_OUTPUT = 1e-6
"""In p.u.: outputs that differ by less are the same, as limits are kept to this."""
_NO_ANGLE = 360.0
_USUAL_ANGLE = 60.0
"""Degrees either side of the phase shift: the limit where the file has none."""
_TURN = 360.0
_REFERENCE, _PIECEWISE = 3, 1


@dataclass(frozen=True)
class Recomputed:
    """Violations and costs of the operating point of a published file."""

    violations: dict[str, float]
    """The largest violation of each kind of constraint, in p.u. or radians."""
    generator_costs: FloatArray
    """Of every generator in service, in $/h, in the order of the file."""

    megawatts: FloatArray
    """The output of every generator in service, in the order of the file."""
    ranges: FloatArray
    """The highest less the lowest output of each, in MW."""
    has_costs: bool
    """Whether any number of a cost function is not 0."""

    def largest_deviation(self, dispatch: FloatArray, base_mva: float) -> float:
        """Return how far outputs are from a dispatch in MW, as a share of ranges, at most."""
        beyond = np.abs(self.megawatts - dispatch) - _SAME_OUTPUT * base_mva
        shares = [
            off / width
            for off, width in zip(beyond.tolist(), self.ranges.tolist(), strict=True)
            if 0 < width < np.inf
        ]
        return float(max([0.0, *shares]))

    @property
    def largest_violation(self) -> float:
        """The largest of all; not a number if one is not."""
        return float(np.max(list(self.violations.values())))


def recompute(case: CaseFile) -> Recomputed:
    """Return violations and costs at the operating point that a case file holds."""
    parts = in_service(case)
    bus, gen, branch = (case.tables[name] for name in ("bus", "gen", "branch"))
    base, live = case.base_mva, np.flatnonzero(parts.bus)
    gens, lines = np.flatnonzero(parts.generator), np.flatnonzero(parts.line)
    degrees = bus.column("Va")
    voltage = np.asarray(bus.column("Vm") * np.exp(1j * np.radians(degrees)), dtype=complex)
    start, end = (parts.rows_of(branch.column(name)[lines]) for name in ("fbus", "tbus"))
    at_from, at_to = _branch_admittances(case, lines)
    v_from, v_to = voltage[start], voltage[end]
    into_from = np.asarray(v_from * np.conj(at_from[0] * v_from + at_from[1] * v_to))
    into_to = np.asarray(v_to * np.conj(at_to[0] * v_from + at_to[1] * v_to))
    left = _generation(case, parts, gens) - _demand(case, voltage)
    left = left - _sums(start, into_from, len(bus)) - _sums(end, into_to, len(bus))
    rate = branch.column("rateA")[lines] / base
    flow = np.maximum(np.abs(into_from), np.abs(into_to))
    p, q = (gen.column(name)[gens] / base for name in ("Pg", "Qg"))
    low, high = _angle_limits(case, lines)
    limits = {name: gen.column(name)[gens] / base for name in ("Pmin", "Pmax", "Qmin", "Qmax")}
    reference = live[bus.column("type")[live] == _REFERENCE]
    return Recomputed(
        violations={
            "active_balance": _most(np.abs(left.real[live])),
            "reactive_balance": _most(np.abs(left.imag[live])),
            "voltage": _beyond(bus.column("Vm"), bus.column("Vmin"), bus.column("Vmax"), live),
            "generator_active": _beyond(p, limits["Pmin"], limits["Pmax"]),
            "generator_reactive": _beyond(q, limits["Qmin"], limits["Qmax"]),
            "line_rate": _most((flow - rate)[rate > 0]),
            "line_angle": _beyond(np.radians(degrees[start] - degrees[end]), low, high),
            "reference_angle": _most(np.abs(np.radians(degrees[reference]))),
        },
        generator_costs=np.array(
            [_cost(case.tables["gencost"].values[g], float(gen.column("Pg")[g])) for g in gens]
        ),
        megawatts=gen.column("Pg")[gens],
        ranges=gen.column("Pmax")[gens] - gen.column("Pmin")[gens],
        has_costs=any(_costs_anything(case.tables["gencost"].values[g]) for g in gens),
    )


def relative_difference(value: float, target: float) -> float:
    """Return how far a cost is from its target, relative to the target's size."""
    if target == 0:
        return 0.0 if value == 0 else float(np.copysign(np.inf, value))
    return (value - target) / abs(target)


def worst_generator(costs: FloatArray, targets: FloatArray) -> float:
    """Return the largest relative difference of a generator that is worth counting."""
    total = np.abs(targets).sum()
    gaps = [
        abs(cost - target) / abs(target)
        for cost, target in zip(costs.tolist(), targets.tolist(), strict=True)
        if abs(target) > _NEGLIGIBLE * total
    ]
    return max(gaps, default=0.0)


def _branch_admittances(
    case: CaseFile, lines: IntArray
) -> tuple[tuple[ComplexArray, ComplexArray], tuple[ComplexArray, ComplexArray]]:
    """Return the two rows of every line's admittance matrix: of its from and of its to end."""
    branch = case.tables["branch"]
    r, x, b, ratio, angle = (
        branch.column(name)[lines] for name in ("r", "x", "b", "ratio", "angle")
    )
    series = 1 / (r + 1j * x)
    tap = np.where(ratio == 0, 1.0, ratio) * np.exp(1j * np.radians(angle))
    own = series + 0.5j * b
    return (own / np.abs(tap) ** 2, -series / np.conj(tap)), (-series / tap, own)


def _generation(case: CaseFile, parts: InService, gens: IntArray) -> ComplexArray:
    gen, buses = case.tables["gen"], len(case.tables["bus"])
    mva = gen.column("Pg")[gens] + 1j * gen.column("Qg")[gens]
    power = np.asarray(mva / case.base_mva, dtype=complex)
    return _sums(parts.rows_of(gen.column("bus")[gens]), power, buses)


def _demand(case: CaseFile, voltage: ComplexArray) -> ComplexArray:
    """Return loads and shunts of every row of the bus table, in p.u."""
    bus = case.tables["bus"]
    load = bus.column("Pd") + 1j * bus.column("Qd")
    shunt = np.conj(bus.column("Gs") + 1j * bus.column("Bs")) * np.abs(voltage) ** 2
    return np.asarray((load + shunt) / case.base_mva)


def _angle_limits(case: CaseFile, lines: IntArray) -> tuple[FloatArray, FloatArray]:
    branch = case.tables["branch"]
    low, high = branch.column("angmin")[lines], branch.column("angmax")[lines]
    none = ((low == 0) | (low <= -_NO_ANGLE)) & ((high == 0) | (high >= _NO_ANGLE))
    shift = branch.column("angle")[lines]
    shift = shift - _TURN * np.where(np.abs(shift) > _TURN / 2, np.floor(shift / _TURN + 0.5), 0.0)
    return (
        np.radians(np.where(none, shift - _USUAL_ANGLE, low)),
        np.radians(np.where(none, shift + _USUAL_ANGLE, high)),
    )


def _cost(row: FloatArray, mw: float) -> float:
    """Return what an output costs by a row of gencost, in $/h."""
    count = int(row[3])
    if row[0] != _PIECEWISE:
        return float(np.polyval(row[4 : 4 + count], mw))
    outputs, costs = row[4 : 4 + 2 * count].reshape(-1, 2).T
    slopes = np.diff(costs) / np.diff(outputs)
    return float(np.max(costs[:-1] + slopes * (mw - outputs[:-1])))


def _costs_anything(row: FloatArray) -> bool:
    """Whether a row of gencost has a cost that is not 0."""
    count = int(row[3])
    if row[0] == _PIECEWISE:
        return bool(np.any(row[5 : 4 + 2 * count : 2] != 0))
    return bool(np.any(row[4 : 4 + count] != 0))


def _sums(rows: IntArray, values: ComplexArray, count: int) -> ComplexArray:
    """Add values up by row."""
    real, imaginary = (np.bincount(rows, part, count) for part in (values.real, values.imag))
    return np.asarray(real + 1j * imaginary)


def _beyond(
    values: FloatArray, low: FloatArray, high: FloatArray, rows: IntArray | None = None
) -> float:
    excess = np.maximum(low - values, values - high)
    return _most(excess if rows is None else excess[rows])


def _most(excess: FloatArray) -> float:
    return float(np.max(excess, initial=0.0))
