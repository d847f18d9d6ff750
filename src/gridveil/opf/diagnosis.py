"""Why a network cannot serve its loads: the least excess over its limits, and of what kind.

The elastic problem lets generators and lines exceed their limits, and adds slack power at buses,
each at a price, and minimises the total. A total above zero shows what is missing and where; a
total of zero is a feasible point.

An angle limit on a short line can cost more to exceed than all the generation it holds back. So
where a line is at its angle limit, a second problem lets angles exceed theirs and nothing else: if
that does, angle limits are all that is in the way.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from gridveil.arrays import FloatArray, IntArray
from gridveil.network.network import Network
from gridveil.opf.nonlinear_program import Watch
from gridveil.opf.operating_point import (
    FEASIBILITY_TOLERANCE,
    OperatingPoint,
    complex_flows,
    mismatch,
    violations,
)
from gridveil.opf.program import ProgramBuilder
from gridveil.opf.solvers import minimise
from gridveil.opf.start import flat_start

# Prices of one p.u. of excess. Lines are cheap, so that a generator exceeds its limits only where
# no line could bring the power: then generation is short. Slack power at a bus is the last resort,
# so that a shortage is attributed to components that could remove it.
_LINE_PRICE = 0.02
_GENERATOR_PRICE = 1.0
_BUS_PRICE = 5.0
_NOTICEABLE = 1e-4
"""Excess in p.u. below which a component is not named."""
_AT_LIMIT = 1e-4
"""Distance in radians within which a line is at its angle limit."""


class Lack(Enum):
    """What a network is short of; the value is the phrase for it."""

    GENERATION = "short of generation"
    SURPLUS = "generators that must run give more than the loads take"
    REACTIVE = "short of reactive power (or of ways to absorb it)"
    LINES = "short of line capacity"
    ANGLES = "held back by angle limits of lines"


@dataclass(frozen=True)
class Excess:
    """One component that would have to exceed its limits, and by how much."""

    lack: Lack
    component: str
    amount: float
    """In p.u., or radians for an angle."""
    sentence: str


@dataclass(frozen=True)
class Diagnosis:
    """The point of least total excess, and the limits it exceeds."""

    point: OperatingPoint
    feasible: bool
    """Whether the point keeps every limit."""
    converged: bool
    """Whether it is a local optimum; otherwise it is where the solver stopped."""
    excesses: tuple[Excess, ...]
    """Every component that exceeds a limit, the largest excess first."""
    iterations: int

    @property
    def lacks(self) -> dict[Lack, float]:
        """What the network is short of in p.u.; what nothing else could replace comes first."""
        totals = {
            lack: sum(excess.amount for excess in self.excesses if excess.lack is lack)
            for lack in Lack
        }
        return {lack: total for lack, total in totals.items() if total > 0}

    def __str__(self) -> str:
        if not self.excesses:
            return "no limit was found that the network cannot keep"
        first = next(iter(self.lacks))
        worst = next(excess for excess in self.excesses if excess.lack is first)
        return f"{'; '.join(lack.value for lack in self.lacks)}. Worst: {worst.sentence}"


def diagnose(network: Network, start: OperatingPoint, watch: Watch | None = None) -> Diagnosis:
    """Find the least excess of `network` over its limits, from `start`."""
    found = _least_excess(network, start, watch)
    if found.feasible or not _at_angle_limits(network, found.point):
        return found
    turned = _least_excess_of_angles(network, watch)
    iterations = found.iterations + turned.iterations
    return replace(turned if set(turned.lacks) == {Lack.ANGLES} else found, iterations=iterations)


def _at_angle_limits(network: Network, point: OperatingPoint) -> bool:
    """Return whether a line is at or beyond an angle limit."""
    return bool(np.any(_beyond_angle_limits(network, point) > -_AT_LIMIT))


def _beyond_angle_limits(network: Network, point: OperatingPoint) -> FloatArray:
    lines = network.lines
    delta = point.theta[lines.from_bus] - point.theta[lines.to_bus]
    return np.asarray(np.maximum(lines.angle_min - delta, delta - lines.angle_max))


def _least_excess_of_angles(network: Network, watch: Watch | None) -> Diagnosis:
    """Solve the problem in which nothing but angles may exceed limits."""
    gens = network.generators
    builder = ProgramBuilder(network, *network.bus_load())
    builder.add_dispatch(gens.p_min, gens.p_max, gens.q_min, gens.q_max)
    for sign in (1.0, -1.0):
        _add_slack(builder, builder.angle, sign, 1.0)
    return _solved(network, builder, flat_start(network, np.zeros(len(gens))), watch)


def _least_excess(network: Network, start: OperatingPoint, watch: Watch | None) -> Diagnosis:
    """Solve the elastic problem."""
    gens, lines = network.generators, network.lines
    builder = ProgramBuilder(network, *network.bus_load())
    free = np.full(len(gens), np.inf)
    builder.add_dispatch(-free, free, -free, free)
    for variable, low, high in (
        (builder.p, gens.p_min, gens.p_max),
        (builder.q, gens.q_min, gens.q_max),
    ):
        _add_soft_limits(builder, variable, low, high)
    for balance in (builder.active, builder.reactive):
        _add_slack(builder, balance, 1.0, _BUS_PRICE)
        _add_slack(builder, balance, -1.0, _BUS_PRICE)
    # |S|² ≤ rate² + t, where a small excess e over the rate is t = 2 rate e.
    rate = np.tile(lines.rate[builder.physics.limited], 2)
    _add_slack(builder, builder.thermal, -1.0, _LINE_PRICE / np.maximum(2 * rate, 1e-3))
    for sign in (1.0, -1.0):
        _add_slack(builder, builder.angle, sign, _LINE_PRICE * np.abs(lines.y))
    return _solved(network, builder, start, watch)


def _solved(
    network: Network, builder: ProgramBuilder, start: OperatingPoint, watch: Watch | None
) -> Diagnosis:
    """Return what a problem of least excess ends with."""
    program = builder.build()
    solution = minimise(program, builder.start(program, start), watch)
    found = builder.point(solution.x)
    return Diagnosis(
        point=found,
        feasible=violations(network, found).largest <= FEASIBILITY_TOLERANCE,
        converged=solution.converged,
        excesses=tuple(sorted(_excesses(network, found), key=lambda e: -e.amount)),
        iterations=solution.iterations,
    )


def _add_slack(
    builder: ProgramBuilder, rows: IntArray, sign: float, price: FloatArray | float
) -> None:
    """Add a variable ≥ 0 to each row, with the sign and at the price given."""
    count = len(rows)
    costs = np.stack([np.zeros(count), np.broadcast_to(price, count)], axis=1)
    slack = builder.add_variables(np.zeros(count), np.full(count, np.inf), costs)
    builder.add_entries(rows, slack, sign)


def _add_soft_limits(
    builder: ProgramBuilder, variable: IntArray, low: FloatArray, high: FloatArray
) -> None:
    """Let a variable exceed its limits at the price of a generator."""
    rows = builder.add_rows(low, high)
    builder.add_entries(rows, variable, 1.0)
    _add_slack(builder, rows, 1.0, _GENERATOR_PRICE)
    _add_slack(builder, rows, -1.0, _GENERATOR_PRICE)


def _excesses(network: Network, point: OperatingPoint) -> Iterator[Excess]:
    """Yield every component that exceeds a limit, recomputed from the point alone."""
    gens, lines, mva = network.generators, network.lines, network.base_mva
    balance = mismatch(network, point)
    rate_excess = np.abs(complex_flows(network, point)).max(axis=0, initial=0.0) - lines.rate
    angles, degrees = _beyond_angle_limits(network, point), 180 / np.pi
    bus, generator, line = network.bus_name, network.generator_name, network.line_name
    for lack, name, excess, unit, says in (
        (Lack.GENERATION, bus, -balance.real, mva, "{} lacks {:.4g} MW"),
        (Lack.SURPLUS, bus, balance.real, mva, "{} has {:.4g} MW too much"),
        (Lack.REACTIVE, bus, -balance.imag, mva, "{} lacks {:.4g} MVAr"),
        (Lack.REACTIVE, bus, balance.imag, mva, "{} has {:.4g} MVAr too much"),
        (Lack.GENERATION, generator, point.p - gens.p_max, mva, "{} needs {:.4g} MW above Pmax"),
        (Lack.SURPLUS, generator, gens.p_min - point.p, mva, "{} needs {:.4g} MW below Pmin"),
        (Lack.REACTIVE, generator, point.q - gens.q_max, mva, "{} needs {:.4g} MVAr above Qmax"),
        (Lack.REACTIVE, generator, gens.q_min - point.q, mva, "{} needs {:.4g} MVAr below Qmin"),
        (Lack.LINES, line, rate_excess, mva, "{} needs {:.4g} MVA above its rating"),
        (Lack.ANGLES, line, angles, degrees, "{} needs {:.4g}° beyond its angle limit"),
    ):
        for i in np.flatnonzero(excess > _NOTICEABLE):
            sentence = says.format(name(i), excess[i] * unit)
            yield Excess(lack, name(i), float(excess[i]), sentence)
