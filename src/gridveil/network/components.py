"""The four kinds of components of a network, in per unit: buses, loads, generators and lines."""

from collections import Counter
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np

from gridveil.arrays import ArrayRecord, BoolArray, ComplexArray, FloatArray, IntArray
from gridveil.html_table import html_table
from gridveil.network.costs import CostFunctions
from gridveil.network.source_loads import LoadIdentity


class Components(ArrayRecord):
    """What the four kinds share: a length, and text forms that show it."""

    row: IntArray
    """The row of each component in its table of the case file, from 0."""

    def __len__(self) -> int:
        return len(self.row)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"

    def _repr_html_(self) -> str:
        """Return the range of every quantity as a table."""
        quantities = [
            (spec.name, getattr(self, spec.name))
            for spec in fields(self)  # type: ignore[arg-type]
            if spec.type is FloatArray and len(self)
        ]
        rows = [(name, f"{value.min():g}", f"{value.max():g}") for name, value in quantities]
        return html_table(repr(self), ("in p.u. or radians", "smallest", "largest"), rows)


@dataclass(frozen=True, eq=False, repr=False)
class Buses(Components):
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


@dataclass(frozen=True, eq=False, repr=False)
class Loads(Components):
    """The loads S^d = p + jq, any number to a bus; negative ones feed in.

    No text form shows their values, so that no log and no traceback does.
    """

    bus: IntArray
    number: IntArray
    """1, 2, … among the loads of its bus, in the order of the source."""
    p: FloatArray
    q: FloatArray
    row: IntArray
    """The row of its bus in the case file's bus table, from 0."""

    def _repr_html_(self) -> str:
        """Return the count alone."""
        return html_table(repr(self), (), ())

    @property
    def values(self) -> FloatArray:
        """P and Q of every load, of shape (loads, 2)."""
        return np.stack([self.p, self.q], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class LoadList(ArrayRecord):
    """Loads by the numbers of their buses, in service or not; no text form shows their values."""

    bus: IntArray
    """The number of its bus in the case file; that of an idle load may not be in it."""
    number: IntArray
    """Among the loads of its bus; idle loads come after those in service."""
    p: FloatArray
    q: FloatArray
    identities: tuple[LoadIdentity, ...] = field(default=(), repr=False)

    @classmethod
    def none(cls) -> "LoadList":
        """Return a list without a load."""
        return cls(np.zeros(0, int), np.zeros(0, int), np.zeros(0), np.zeros(0))

    @property
    def places(self) -> list[tuple[int, int]]:
        """The bus of each load, and its number there."""
        return list(zip(self.bus.tolist(), self.number.tolist(), strict=True))

    @property
    def labels(self) -> list[str]:
        """How to call each load in a message: by its bus, and by its number among several."""
        at = Counter(self.bus.tolist())
        return [
            f"bus {bus}, load {number}" if at[bus] > 1 or number > 1 else f"bus {bus}"
            for bus, number in self.places
        ]

    def __len__(self) -> int:
        return len(self.bus)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"

    @property
    def values(self) -> FloatArray:
        """P and Q of every load, of shape (loads, 2)."""
        return np.stack([self.p, self.q], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class Generators(Components):
    """The generators in service, any number to a bus."""

    bus: IntArray
    p_min: FloatArray
    p_max: FloatArray
    q_min: FloatArray
    q_max: FloatArray
    costs: CostFunctions
    row: IntArray
    """Its row in the case file's gen table, from 0."""


@dataclass(frozen=True, eq=False, repr=False)
class Lines(Components):
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
