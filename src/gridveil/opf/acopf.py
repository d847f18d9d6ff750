"""AC optimal power flow, Model 1 of the paper: the cheapest dispatch that serves every load."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridveil.arrays import ArrayRecord, ComplexArray, FloatArray
from gridveil.device import Device
from gridveil.frames import data_frame
from gridveil.html_table import html_table
from gridveil.network.library import as_network
from gridveil.network.marginal_costs import MarginalCosts, with_marginal_costs
from gridveil.network.network import Component, Network
from gridveil.network.proportional import proportional_coefficients
from gridveil.opf.diagnosis import Diagnosis, diagnose
from gridveil.opf.interior_point.solve import INFEASIBLE
from gridveil.opf.interior_point.solve import NAME as INTERIOR_POINT
from gridveil.opf.nonlinear_program import Solution, SolverVersion, Watch
from gridveil.opf.operating_point import (
    FEASIBILITY_TOLERANCE,
    OperatingPoint,
    Violations,
    complex_flows,
    violations,
)
from gridveil.opf.program import ProgramBuilder
from gridveil.opf.solvers import Solver, minimise, using
from gridveil.opf.start import starting_point
from gridveil.opf.status import Status, status_of

if TYPE_CHECKING:
    from pandas import DataFrame

_WORST_SHOWN = 12
"""How many components of a diagnosis are told."""


@dataclass(frozen=True, eq=False, repr=False)
class OPFResult(ArrayRecord):
    """An AC-OPF solution or, where none was found, how far the solver got. All in p.u.

    Its text forms show no voltage and no dispatch, which determine the loads.
    """

    network: Network
    status: Status
    cost: float
    """Total cost in $/h."""
    generator_costs: FloatArray
    """Cost of each generator in $/h: O*_g of the fidelity phase."""
    point: OperatingPoint
    """Voltages and dispatch."""
    flow_from: ComplexArray
    """Power into each line at its from end."""
    flow_to: ComplexArray
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
    solution: Solution
    """All variables and multipliers, for solves of the network with other loads."""

    @property
    def max_violation(self) -> float:
        """The largest violation of any constraint, in p.u. or radians."""
        return self.violations.largest

    @property
    def solver(self) -> SolverVersion:
        """What solved it."""
        return self.solution.solver

    @property
    def stepped_in(self) -> bool:
        """Whether that solver stepped in where another one had not got there."""
        return self.solution.stepped_in

    @property
    def loading(self) -> FloatArray:
        """Apparent power of each line at its more loaded end, as a share of its limit."""
        flow = np.maximum(np.abs(self.flow_from), np.abs(self.flow_to))
        return np.asarray(flow / self.network.lines.rate)

    def __repr__(self) -> str:
        name, status = self.network.name, self.status.name.lower()
        priced = self.status.solved and self.network.has_costs
        cost = f", {self.cost:,.2f} $/h" if priced else ""
        return (
            f"OPFResult({name!r}: {status}{cost}, largest violation {self.max_violation:.1e} p.u.)"
        )

    def _repr_html_(self) -> str:
        """Return status, cost and largest violation as a table."""
        rows = [("status", self.status.value)]
        if self.status.solved and self.network.has_costs:
            rows.append(("cost", f"{self.cost:,.2f} $/h"))
        rows.append(("largest violation", f"{self.max_violation:.1e} p.u."))
        return html_table(f"AC-OPF of {self.network.name}", (), rows)

    def figures(self) -> dict[str, Any]:
        """Return what `gridveil solve --json` prints, the case aside.

        Returns:
            Status, cost in $/h (None without a solution or costs), violations in p.u., sizes,
            seconds and diagnosis, by name.

        Example:
            >>> figures = solve_acopf("case5_pjm").figures()
            >>> figures["status"], round(figures["cost"], 2), figures["loads"]
            ('optimal', 17551.89, 3)
        """
        diagnosis = self.diagnosis
        return {
            "status": self.status.name.lower(),
            "message": self.status.value,
            "cost": self.cost if self.status.solved and self.network.has_costs else None,
            "max_violation": self.max_violation,
            "violations": vars(self.violations),
            **self.network.counts,
            "idle_loads": [list(place) for place in self.network.idle_loads.places],
            "iterations": self.iterations,
            "solver": str(self.solver),
            "device": self.solver.device.value,
            "build_seconds": self.build_seconds,
            "solve_seconds": self.solve_seconds,
            "diagnosis": None
            if diagnosis is None
            else {
                "lacks": {lack.name.lower(): total for lack, total in diagnosis.lacks.items()},
                "worst": [excess.sentence for excess in diagnosis.excesses[:_WORST_SHOWN]],
            },
        }

    def to_frame(self, component: Component) -> "DataFrame":
        """Return components with their results as a pandas data frame, a row to each.

        The columns are those of `Network.to_frame`, followed by

        - buses: voltage in p.u. and degrees, prices in $/MWh and $/MVArh;
        - loads: the prices of their bus; idle loads have none;
        - generators: output in MW and MVAr, cost in $/h;
        - lines: power into both ends in MW and MVAr, loading as a share of the limit.

        Args:
            component: "buses", "loads", "idle_loads", "generators" or "lines".

        Raises:
            GridveilError: It is none of these, or pandas is not installed.

        Example:
            >>> frame = solve_acopf("case5_pjm").to_frame("generators")
            >>> frame[["bus", "p_max_mw", "p_mw"]].round(1).head(2)
               bus  p_max_mw   p_mw
            0    1      40.0   40.0
            1    1     170.0  170.0
        """
        return data_frame(self.table(component))

    def table(self, component: Component) -> dict[str, Any]:
        """Return the columns of `to_frame` as arrays.

        Args:
            component: "buses", "loads", "idle_loads", "generators" or "lines".

        Raises:
            GridveilError: It is none of these.
        """
        return {**self.network.table(component), **self._columns(component)}

    def _columns(self, component: Component) -> dict[str, Any]:
        """Return the results for each component of a kind, by the name of their column."""
        network, point, mva = self.network, self.point, self.network.base_mva
        if component == "buses":
            return {
                "v": point.v,
                "angle_degrees": np.degrees(point.theta),
                "active_price": self.active_price,
                "reactive_price": self.reactive_price,
            }
        if component == "loads":
            return {
                "active_price": self.active_price[network.loads.bus],
                "reactive_price": self.reactive_price[network.loads.bus],
            }
        if component == "idle_loads":
            return {}
        if component == "generators":
            return {"p_mw": point.p * mva, "q_mvar": point.q * mva, "cost": self.generator_costs}
        return {
            "p_from_mw": self.flow_from.real * mva,
            "q_from_mvar": self.flow_from.imag * mva,
            "p_to_mw": self.flow_to.real * mva,
            "q_to_mvar": self.flow_to.imag * mva,
            "loading": self.loading,
        }


def solve_acopf(
    network: Network | str | Path,
    *,
    costs: MarginalCosts | str | Path | None = None,
    start: OperatingPoint | None = None,
    watch: Watch | None = None,
    solver: Solver | str | None = None,
    device: Device | str | None = None,
    near: OPFResult | None = None,
) -> OPFResult:
    """Find the cheapest dispatch of a network (AC-OPF).

    A network without costs gets the proportional dispatch: each unit loaded in the same share of
    its range, as far as limits allow (`gridveil.network.proportional`). Costs and prices are 0.

    Where the solver ends without a solution, a second problem seeks the point with the least total
    excess over the limits. If its excess is 0, the solver starts again from there. Otherwise that
    point is returned, with a diagnosis of what the network is short of.

    Args:
        network: A network, a case name or the path of a case file.
        costs: Marginal costs to take in place of its own; see `with_marginal_costs`.
        start: Where the solver starts; it knows a place by itself if None.
        watch: Called after every iteration of the solver; returning False stops it.
        solver: "ipopt", "interior-point" or "auto", the faster one of both for the network's
            size; None takes that of `using`, or else "auto".
        device: "cpu", "gpu" or "auto", where the interior-point method solves; None takes that of
            `using`, or else "cpu".
        near: The solution of the same network with other loads, which saves the interior-point
            method most of its iterations; Ipopt has no use for it.

    Returns:
        Dispatch, voltages, prices and flows. Look at `status` first: a network without a feasible
        point is a result, not an error.

    Raises:
        GridveilError: The network cannot be opened.

    Example:
        >>> result = solve_acopf("case5_pjm")
        >>> result.status.solved, round(result.cost, 2)
        (True, 17551.89)
        >>> (result.point.p * result.network.base_mva).round(1).tolist()
        [40.0, 170.0, 324.5, 0.0, 470.7]
    """
    network = as_network(network)
    if costs is not None:
        network = with_marginal_costs(network, costs)
    with using(solver, device):
        return _solved(network, start, watch, near, is_infeasible=lambda _: False)


def attempted_acopf(
    network: Network,
    *,
    start: OperatingPoint | None = None,
    watch: Watch | None = None,
    near: OPFResult | None = None,
) -> OPFResult:
    """Find the cheapest dispatch of a network that may well be infeasible; see `solve_acopf`.

    There is no diagnosis where the interior-point method has called it infeasible: that method has
    sought the point of least violation itself.
    """
    return _solved(network, start, watch, near, is_infeasible=_was_restored)


def _was_restored(solution: Solution) -> bool:
    return solution.code == INFEASIBLE and solution.solver.name == INTERIOR_POINT


def _solved(
    network: Network,
    start: OperatingPoint | None,
    watch: Watch | None,
    near: OPFResult | None,
    is_infeasible: Callable[[Solution], bool],
) -> OPFResult:
    started = time.perf_counter()
    builder = acopf_program(network)
    program = builder.build()
    first = builder.start(program, starting_point(network) if start is None else start)
    built = time.perf_counter()
    solution = minimise(program, first, watch, None if near is None else near.solution)
    iterations, diagnosis = solution.iterations, None
    point, status = _evaluate(network, builder, solution)
    if is_infeasible(solution):
        status = Status.INFEASIBLE
    elif not status.solved and status is not Status.STOPPED:
        diagnosis = diagnose(network, point, watch)
        iterations += diagnosis.iterations
        if diagnosis.feasible:
            again = builder.start(program, diagnosis.point)
            solution = minimise(program, again, watch)
            iterations += solution.iterations
            point, status = _evaluate(network, builder, solution)
            diagnosis = None
        elif diagnosis.converged:
            point, status = diagnosis.point, Status.INFEASIBLE
    own_costs = network.generators.costs(point.p)
    flow_from, flow_to = complex_flows(network, point)
    prices = solution.g_multipliers / network.base_mva * network.has_costs
    return OPFResult(
        network=network,
        status=status,
        cost=float(own_costs.sum()),
        generator_costs=own_costs,
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
        solution=solution,
    )


def acopf_program(network: Network) -> ProgramBuilder:
    """Model 1: the physics and limits, a dispatch within its bounds, and its cost to minimise."""
    builder = ProgramBuilder(network, *network.bus_load())
    gens, costs = network.generators, network.generators.costs
    minimised = costs.coefficients if network.has_costs else proportional_coefficients(network)
    builder.add_dispatch(gens.p_min, gens.p_max, gens.q_min, gens.q_max, minimised)
    # A piecewise-linear cost is a variable above all its segments: height − slope p ≥ intercept.
    piecewise = np.unique(costs.segment_generator)
    unbounded = np.full(len(piecewise), np.inf)
    height = builder.add_variables(-unbounded, unbounded, np.tile([0.0, 1.0], (len(piecewise), 1)))
    intercept = costs.segment_intercept
    above = builder.add_rows(intercept, np.full(len(intercept), np.inf))
    builder.add_entries(above, height[np.searchsorted(piecewise, costs.segment_generator)], 1.0)
    builder.add_entries(above, builder.p[costs.segment_generator], -costs.segment_slope)
    return builder


def _evaluate(
    network: Network, builder: ProgramBuilder, solution: Solution
) -> tuple[OperatingPoint, Status]:
    """Return the point that the solver ended at, and the status that its violations allow."""
    point = builder.point(solution.x)
    largest = violations(network, point).largest
    return point, status_of(solution.code, largest, FEASIBILITY_TOLERANCE)


solve = solve_acopf
"""What `gridveil solve` runs, under the command's name."""
