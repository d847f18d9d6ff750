"""The network in per unit: buses, loads, generators and lines, the paper's four component kinds."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gridveil.arrays import ArrayRecord, BoolArray, ComplexArray, FloatArray, Index, IntArray
from gridveil.errors import GridveilError
from gridveil.network.costs import Costs
from gridveil.network.formats.matpower import CaseFile


@dataclass(frozen=True, eq=False)
class Buses(ArrayRecord):
    """The buses in service. Components refer to a bus by its index here, not by its number."""

    number: IntArray
    """The number the case file gives it."""
    v_min: FloatArray
    v_max: FloatArray
    shunt_g: FloatArray
    """Conductance to ground: draws g v² of active power."""
    shunt_b: FloatArray
    """Susceptance to ground: supplies b v² of reactive power."""
    reference: BoolArray
    """Where the voltage angle is 0: one bus in every island."""
    island: IntArray
    """Which connected part of the network it belongs to, from 0."""
    row: IntArray
    """Its row in the case file's bus table, from 0."""

    def __len__(self) -> int:
        return len(self.number)


@dataclass(frozen=True, eq=False)
class Loads(ArrayRecord):
    """The loads S^d = p + jq, one to a bus that has any; negative ones feed in.

    Their values are kept out of the text form, so that no log or traceback shows them.
    """

    bus: IntArray
    p: FloatArray = field(repr=False)
    q: FloatArray = field(repr=False)
    row: IntArray
    """Its row in the case file's bus table, from 0."""

    def __len__(self) -> int:
        return len(self.bus)

    @property
    def values(self) -> FloatArray:
        """P and Q of every load, of shape (loads, 2)."""
        return np.stack([self.p, self.q], axis=1)


@dataclass(frozen=True, eq=False)
class Generators(ArrayRecord):
    """The generators in service, any number to a bus."""

    bus: IntArray
    p_min: FloatArray
    p_max: FloatArray
    q_min: FloatArray
    q_max: FloatArray
    costs: Costs
    row: IntArray
    """Its row in the case file's gen table, from 0."""

    def __len__(self) -> int:
        return len(self.bus)


@dataclass(frozen=True, eq=False)
class Lines(ArrayRecord):
    """The lines and transformers in service, parallel ones included: a π-model with a tap τ∠φ."""

    from_bus: IntArray
    to_bus: IntArray
    r: FloatArray
    x: FloatArray
    b: FloatArray
    """Total charging susceptance."""
    tap: FloatArray
    """Turns ratio τ at the from end, 1 for a plain line."""
    shift: FloatArray
    """Phase shift φ at the from end, in radians."""
    rate: FloatArray
    """Limit of |S| at both ends; infinite where there is none."""
    angle_min: FloatArray
    """Lower limit of θ_from − θ_to, in radians."""
    angle_max: FloatArray
    row: IntArray
    """Its row in the case file's branch table, from 0."""

    def __len__(self) -> int:
        return len(self.from_bus)

    @cached_property
    def y(self) -> ComplexArray:
        """Series admittance."""
        return np.asarray(1 / (self.r + 1j * self.x))

    @cached_property
    def y_ff(self) -> ComplexArray:
        """Current at the from end per voltage at the from end."""
        return self.y_tt / self.tap**2

    @cached_property
    def y_ft(self) -> ComplexArray:
        """Current at the from end per voltage at the to end."""
        return np.asarray(-self.y / (self.tap * np.exp(-1j * self.shift)))

    @cached_property
    def y_tf(self) -> ComplexArray:
        """Current at the to end per voltage at the from end."""
        return np.asarray(-self.y / (self.tap * np.exp(1j * self.shift)))

    @cached_property
    def y_tt(self) -> ComplexArray:
        """Current at the to end per voltage at the to end."""
        return np.asarray(self.y + 0.5j * self.b)


@dataclass(frozen=True, eq=False)
class Network(ArrayRecord):
    """A power network in per unit on `base_mva`, with only the parts that are in service."""

    name: str = field(compare=False)
    base_mva: float
    buses: Buses
    loads: Loads
    generators: Generators
    lines: Lines
    case: CaseFile = field(repr=False, compare=False)
    """The file it came from, which `save_case` writes back with the changes."""

    def with_loads(self, p: FloatArray, q: FloatArray) -> "Network":
        """Return the same network with other loads, in p.u., in the order of `loads`."""
        p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
        if p.shape != self.loads.p.shape or q.shape != self.loads.q.shape:
            raise GridveilError(f"{len(self.loads)} loads expected, got {p.shape} and {q.shape}")
        if not (np.isfinite(p).all() and np.isfinite(q).all()):
            raise GridveilError("every load must be a finite number")
        return replace(self, loads=replace(self.loads, p=p, q=q))

    def bus_load(self) -> tuple[FloatArray, FloatArray]:
        """Return the active and reactive load at every bus, in p.u."""
        p, q = np.zeros(len(self.buses)), np.zeros(len(self.buses))
        np.add.at(p, self.loads.bus, self.loads.p)
        np.add.at(q, self.loads.bus, self.loads.q)
        return p, q

    @property
    def load_buses(self) -> list[int]:
        """The number of each load's bus."""
        return [int(number) for number in self.buses.number[self.loads.bus]]

    def bus_name(self, bus: Index) -> str:
        """Return how to call a bus in a message."""
        return f"bus {self.buses.number[bus]}"

    def generator_name(self, generator: Index) -> str:
        """Return how to call a generator in a message: its row in the file, and its bus."""
        gens = self.generators
        return f"generator {gens.row[generator] + 1} ({self.bus_name(gens.bus[generator])})"

    def line_name(self, line: Index) -> str:
        """Return how to call a line in a message: its row in the file, and its ends."""
        lines, number = self.lines, self.buses.number
        ends = f"{number[lines.from_bus[line]]}–{number[lines.to_bus[line]]}"
        return f"line {lines.row[line] + 1} (bus {ends})"
