"""AC optimal power flow, Model 1 of the paper: the cheapest dispatch that serves every load."""

import time
from dataclasses import dataclass, field

import numpy as np

from gridveil.arrays import ArrayRecord, ComplexArray, FloatArray
from gridveil.network.network import Network
from gridveil.opf import ipopt
from gridveil.opf.diagnosis import Diagnosis, diagnose
from gridveil.opf.operating_point import (
    FEASIBILITY_TOLERANCE,
    OperatingPoint,
    Violations,
    complex_flows,
    violations,
)
from gridveil.opf.program import ProgramBuilder
from gridveil.opf.status import Status, status_of


@dataclass(frozen=True, eq=False)
class OPFResult(ArrayRecord):
    """An AC-OPF solution or, where none was found, how far the solver got. All in p.u."""

    network: Network = field(repr=False)
    status: Status
    cost: float
    """Total cost in $/h."""
    generator_costs: FloatArray
    """Cost of each generator in $/h: O*_g of the fidelity phase."""
    point: OperatingPoint
    """Voltages and dispatch."""
    flow_from: ComplexArray = field(repr=False)
    """Power into each line at its from end."""
    flow_to: ComplexArray = field(repr=False)
    """Power into each line at its to end."""
    active_price: FloatArray
    """Locational price: what one more MW of load at each bus would cost, in $/MWh."""
    reactive_price: FloatArray
    """What one more MVAr of load at each bus would cost, in $/MVArh."""
    violations: Violations
    """Recomputed from the network, not taken from the solver."""
    iterations: int
    build_seconds: float
    solve_seconds: float
    diagnosis: Diagnosis | None
    """Why no feasible point was found, where none was."""

    @property
    def max_violation(self) -> float:
        """The largest violation of any constraint, in p.u. or radians."""
        return self.violations.largest


def solve_acopf(network: Network, *, watch: ipopt.Watch | None = None) -> OPFResult:
    """Find the cheapest dispatch of `network`, from a flat start.

    Where Ipopt ends without a solution, the point with the least total excess over the limits is
    sought: if it has none, Ipopt starts again from there, and otherwise it is returned with a
    diagnosis of what the network is short of. `watch` is called after every iteration.
    """
    started = time.perf_counter()
    builder = _model(network)
    program = builder.build()
    start = builder.start(program, _flat(network))
    built = time.perf_counter()
    solution = ipopt.minimise(program, start, watch=watch)
    iterations, diagnosis = solution.iterations, None
    point, status = _judge(network, builder, solution)
    if not status.solved and status is not Status.STOPPED:
        diagnosis = diagnose(network, point, watch)
        iterations += diagnosis.iterations
        if diagnosis.feasible:
            start = builder.start(program, diagnosis.point)
            solution = ipopt.minimise(program, start, watch=watch)
            iterations += solution.iterations
            point, status = _judge(network, builder, solution)
            diagnosis = None
        elif diagnosis.converged:
            point, status = diagnosis.point, Status.INFEASIBLE
    costs = network.generators.costs(point.p)
    flow_from, flow_to = complex_flows(network, point)
    prices = solution.g_multipliers / network.base_mva
    return OPFResult(
        network=network,
        status=status,
        cost=float(costs.sum()),
        generator_costs=costs,
        point=point,
        flow_from=flow_from,
        flow_to=flow_to,
        active_price=prices[builder.active],
        reactive_price=prices[builder.reactive],
        violations=violations(network, point),
        iterations=iterations,
        build_seconds=built - started,
        solve_seconds=time.perf_counter() - built,
        diagnosis=diagnosis,
    )


def _model(network: Network) -> ProgramBuilder:
    """Model 1: the physics and limits, a dispatch within its bounds, and its cost to minimise."""
    builder = ProgramBuilder(network, *network.bus_load())
    gens, costs = network.generators, network.generators.costs
    builder.add_dispatch(gens.p_min, gens.p_max, gens.q_min, gens.q_max, costs.coefficients)
    # A piecewise-linear cost is a variable above all its segments: height − slope p ≥ intercept.
    curved = np.unique(costs.segment_generator)
    unbounded = np.full(len(curved), np.inf)
    height = builder.add_variables(-unbounded, unbounded, np.tile([0.0, 1.0], (len(curved), 1)))
    intercept = costs.segment_intercept
    above = builder.add_rows(intercept, np.full(len(intercept), np.inf))
    builder.add_entries(above, height[np.searchsorted(curved, costs.segment_generator)], 1.0)
    builder.add_entries(above, builder.p[costs.segment_generator], -costs.segment_slope)
    return builder


def _flat(network: Network) -> OperatingPoint:
    """Return the flat start: every voltage 1∠0, no output; limits are applied to it later."""
    buses, gens = len(network.buses), len(network.generators)
    return OperatingPoint(np.ones(buses), np.zeros(buses), np.zeros(gens), np.zeros(gens))


def _judge(
    network: Network, builder: ProgramBuilder, solution: ipopt.Solution
) -> tuple[OperatingPoint, Status]:
    point = builder.point(solution.x)
    broken = violations(network, point).largest
    return point, status_of(solution.code, broken, FEASIBILITY_TOLERANCE)
