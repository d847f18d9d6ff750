"""AC optimal power flow, Model 1 of the paper: the cheapest dispatch that serves every load."""

import time
from dataclasses import dataclass, field

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, IntArray
from gridveil.network.network import Network
from gridveil.opf import ipopt
from gridveil.opf.nlp import NetworkProgram, ProgramBuilder
from gridveil.opf.status import Status, status_of
from gridveil.opf.violations import OperatingPoint, Violations, complex_flows, violations

FEASIBILITY_TOLERANCE = 1e-6
"""Largest violation, in p.u. or radians, of a point that counts as feasible."""

IPOPT_OPTIONS: ipopt.Options = {
    "linear_solver": "mumps",
    "tol": 1e-8,
    "print_level": 0,
    "sb": "yes",
}


@dataclass(frozen=True, eq=False)
class OPFResult(ArrayRecord):
    """An AC-OPF solution, or how far the solver got. Powers in p.u., angles in radians."""

    network: Network = field(repr=False)
    status: Status
    cost: float
    """Total cost in $/h."""
    generator_costs: FloatArray
    """Cost of each generator in $/h: the O*_g of the fidelity phase."""
    point: OperatingPoint
    flow_from: FloatArray
    """Complex power into each line at its from end."""
    flow_to: FloatArray
    active_price: FloatArray
    """What one more MW of load at each bus would cost, in $/MWh."""
    reactive_price: FloatArray
    """The same for one more MVAr."""
    violations: Violations
    iterations: int
    build_seconds: float
    solve_seconds: float


def solve_acopf(network: Network, *, watch: ipopt.Watch | None = None) -> OPFResult:
    started = time.perf_counter()
    builder = ProgramBuilder(network)
    gens = network.generators
    p, q = add_dispatch(builder, network)
    program = builder.build()
    start = flat_start(network, builder, program)
    built = time.perf_counter()
    solution = ipopt.minimise(program, ipopt.Start(start), IPOPT_OPTIONS, watch)
    solved = time.perf_counter()
    x = solution.x
    point = OperatingPoint(x[builder.v], x[builder.theta], x[p], x[q])
    broken = violations(network, point)
    costs = gens.costs(point.p)
    flows = complex_flows(network, point.v, point.theta)
    return OPFResult(network, status_of(solution.code, broken.largest, FEASIBILITY_TOLERANCE), float(costs.sum()), costs, point, *flows, solution.g_multipliers[builder.active]/network.base_mva, solution.g_multipliers[builder.reactive]/network.base_mva, broken, solution.iterations, built-started, solved-built)


def add_dispatch(builder: ProgramBuilder, network: Network) -> tuple[IntArray, IntArray]:
    gens = network.generators
    costs = gens.costs
    p = builder.add_variables(gens.p_min, gens.p_max, costs.coefficients)
    q = builder.add_variables(gens.q_min, gens.q_max)
    builder.add_entries(builder.active[gens.bus], p, -1.0)
    builder.add_entries(builder.reactive[gens.bus], q, -1.0)
    curved = np.unique(costs.segment_generator)
    unbounded = np.full(len(curved), np.inf)
    height = builder.add_variables(-unbounded, unbounded, np.tile([0.0, 1.0], (len(curved), 1)))
    above = builder.add_rows(costs.segment_intercept, np.full(len(costs.segment_intercept), np.inf))
    builder.add_entries(above, height[np.searchsorted(curved, costs.segment_generator)], 1.0)
    builder.add_entries(above, p[costs.segment_generator], -costs.segment_slope)
    return p, q


def flat_start(network: Network, builder: ProgramBuilder, program: NetworkProgram) -> FloatArray:
    x = np.zeros(len(program.x_min))
    x[builder.v] = 1.0
    return np.clip(x, program.x_min, program.x_max)
