"""An operating point, and how far it violates each kind of constraint, in complex arithmetic.

Nothing here is shared with the solver: the flows come from S = V (Y V)*, not from the real formulas
that Ipopt differentiates, so that a mistake there shows here.
"""

from dataclasses import dataclass

import numpy as np

from gridveil.arrays import ArrayRecord, ComplexArray, FloatArray
from gridveil.network.network import Network

FEASIBILITY_TOLERANCE = 1e-6
"""Largest violation, in p.u. or radians, of a point that counts as feasible."""


@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoint(ArrayRecord):
    """Voltages and dispatch of a network, in p.u. and radians.

    They determine the loads, so no text form shows them.
    """

    v: FloatArray
    theta: FloatArray
    p: FloatArray
    """Active output of each generator."""
    q: FloatArray
    """Reactive output of each generator."""

    def __repr__(self) -> str:
        return f"OperatingPoint({len(self.v)} buses, {len(self.p)} generators)"


@dataclass(frozen=True)
class Violations:
    """The largest violation of each constraint kind of Model 1, in p.u. or radians; 0 is none."""

    active_balance: float
    reactive_balance: float
    voltage: float
    generator_active: float
    generator_reactive: float
    line_rate: float
    line_angle: float
    reference_angle: float

    @property
    def largest(self) -> float:
        """The largest of all."""
        return float(np.max(list(vars(self).values())))  # unlike max(), lets no NaN slip by


def complex_flows(network: Network, point: OperatingPoint) -> tuple[ComplexArray, ComplexArray]:
    """Return the complex power into every line at its from and its to end, in p.u."""
    lines = network.lines
    voltage = point.v * np.exp(1j * point.theta)
    v_from, v_to = voltage[lines.from_bus], voltage[lines.to_bus]
    return (
        v_from * np.conj(lines.y_ff * v_from + lines.y_ft * v_to),
        v_to * np.conj(lines.y_tf * v_from + lines.y_tt * v_to),
    )


def mismatch(network: Network, point: OperatingPoint) -> ComplexArray:
    """Return the power balance of every bus in p.u.: generation less load, shunt and flows."""
    buses, lines, n = network.buses, network.lines, len(network.buses)
    p_load, q_load = network.bus_load()
    balance = np.zeros(n, dtype=complex)
    np.add.at(balance, network.generators.bus, point.p + 1j * point.q)
    balance -= p_load + 1j * q_load
    balance -= (buses.shunt_g - 1j * buses.shunt_b) * point.v**2
    flow_from, flow_to = complex_flows(network, point)
    np.subtract.at(balance, lines.from_bus, flow_from)
    np.subtract.at(balance, lines.to_bus, flow_to)
    return balance


def violations(network: Network, point: OperatingPoint) -> Violations:
    """Return the largest violation of each constraint kind at a point."""
    buses, lines, gens = network.buses, network.lines, network.generators
    balance = mismatch(network, point)
    delta = point.theta[lines.from_bus] - point.theta[lines.to_bus]
    rates = [np.abs(flow) - lines.rate for flow in complex_flows(network, point)]
    return Violations(
        active_balance=_worst(np.abs(balance.real)),
        reactive_balance=_worst(np.abs(balance.imag)),
        voltage=_outside(point.v, buses.v_min, buses.v_max),
        generator_active=_outside(point.p, gens.p_min, gens.p_max),
        generator_reactive=_outside(point.q, gens.q_min, gens.q_max),
        line_rate=_worst(np.concatenate(rates)),
        line_angle=_outside(delta, lines.angle_min, lines.angle_max),
        reference_angle=_worst(np.abs(point.theta[buses.reference])),
    )


def _outside(value: FloatArray, low: FloatArray, high: FloatArray) -> float:
    return _worst(np.maximum(low - value, value - high))


def _worst(excess: FloatArray) -> float:
    return float(excess.max(initial=0.0))
