"""The network in per unit, made of the paper's four kinds of components."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gridveil.arrays import ArrayRecord, FloatArray, Index
from gridveil.errors import GridveilError
from gridveil.frames import data_frame
from gridveil.html_table import html_table
from gridveil.network.case_file import CaseFile
from gridveil.network.components import Buses, Generators, Lines, LoadList, Loads
from gridveil.network.plot import plot_components
from gridveil.network.source_loads import LoadIdentity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

Component = Literal["buses", "loads", "idle_loads", "generators", "lines"]
"""The name of a kind of components."""


@dataclass(frozen=True, eq=False, repr=False)
class Network(ArrayRecord):
    """A power network in per unit on `base_mva`, with only the components in service.

    Its text forms show no load. `load_case` reads one from a file.

    Example:
        >>> from gridveil import load_case
        >>> network = load_case("case5_pjm")
        >>> network
        Network('pglib_opf_case5_pjm': 5 buses, 3 loads, 5 generators, 6 lines, base 100 MVA)
        >>> network.loads
        Loads(3)
        >>> (network.generators.p_max * network.base_mva).tolist()
        [40.0, 170.0, 520.0, 200.0, 600.0]
    """

    name: str = field(compare=False)
    base_mva: float
    buses: Buses
    loads: Loads
    generators: Generators
    lines: Lines
    case: CaseFile = field(compare=False)
    """The file it came from, which `save_case` writes back with the changes."""
    load_identities: tuple[LoadIdentity, ...] = field(default=(), compare=False, repr=False)
    """Who each load is to its owner, in the order of `loads`."""
    idle_loads: LoadList = field(default_factory=LoadList.none, compare=False, repr=False)
    """The loads that are out of service."""
    lists_idle_loads: bool = field(default=False, compare=False, repr=False)
    """Whether a release lists them too, with noise and budget as all others."""
    conversion_notes: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """What a reader did with elements that no network has as they are, in sentences."""
    fuels: tuple[str, ...] | None = field(default=None, compare=False, repr=False)
    """The fuel of each generator, empty where there is none, if the source knows fuels."""

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in self.counts.items())
        idle = f", {len(self.idle_loads)} loads out of service" if len(self.idle_loads) else ""
        return f"Network({self.name!r}: {counts}{idle}, base {self.base_mva:g} MVA)"

    def _repr_html_(self) -> str:
        """Return the counts as a table."""
        rows = [(kind, f"{count:,}") for kind, count in self.counts.items()]
        return html_table(f"{self.name}, base {self.base_mva:g} MVA", (), rows)

    @property
    def counts(self) -> dict[str, int]:
        """How many buses, loads, generators and lines it has."""
        return {
            "buses": len(self.buses),
            "loads": len(self.loads),
            "generators": len(self.generators),
            "lines": len(self.lines),
        }

    @property
    def has_costs(self) -> bool:
        """Whether any generator costs anything; a source may know no costs at all.

        Example:
            >>> from gridveil import load_case
            >>> load_case("case5_pjm").has_costs
            True
        """
        return self.generators.costs.any()

    def with_loads(self, p: FloatArray, q: FloatArray) -> "Network":
        """Return the same network with other loads.

        Args:
            p: Active power of each load in p.u., in the order of `loads`.
            q: Reactive power of each load in p.u.

        Raises:
            GridveilError: There is not one finite number to each load.

        Example:
            >>> from gridveil import load_case
            >>> network = load_case("case5_pjm")
            >>> heavier = network.with_loads(1.1 * network.loads.p, network.loads.q)
            >>> float(heavier.loads.p.sum() / network.loads.p.sum())
            1.1
        """
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

    @property
    def listed_loads(self) -> LoadList:
        """The loads that a release lists: those in service and, if it was chosen so, idle ones."""
        loads, idle = self.loads, self.idle_loads if self.lists_idle_loads else LoadList.none()
        return LoadList(
            np.concatenate([np.array(self.load_buses, dtype=np.int64), idle.bus]),
            np.concatenate([loads.number, idle.number]),
            np.concatenate([loads.p, idle.p]),
            np.concatenate([loads.q, idle.q]),
            (*self.load_identities, *idle.identities),
        )

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

    def table(self, component: Component) -> dict[str, Any]:
        """Return the columns of `to_frame` as arrays.

        Args:
            component: "buses", "loads", "idle_loads", "generators" or "lines".

        Raises:
            GridveilError: It is none of these.
        """
        tables = {
            "buses": self._buses_table,
            "loads": self._loads_table,
            "idle_loads": self._idle_loads_table,
            "generators": self._generators_table,
            "lines": self._lines_table,
        }
        if component not in tables:
            raise GridveilError(f"component: {component!r} is none of {', '.join(tables)}")
        return tables[component]()

    def to_frame(self, component: Component) -> "DataFrame":
        """Return components as a pandas data frame, a row to each.

        Power is in MW, MVAr and MVA, angles are in degrees, everything else is in p.u. Buses have
        the numbers of the case file; generators and lines have the number of their row in it, from
        1. The frames of loads, and of idle loads, which are out of service, hold their values.

        Args:
            component: "buses", "loads", "idle_loads", "generators" or "lines".

        Raises:
            GridveilError: It is none of these, or pandas is not installed.

        Example:
            >>> from gridveil import load_case
            >>> load_case("case5_pjm").to_frame("generators")[["bus", "p_max_mw"]].head(2)
               bus  p_max_mw
            0    1      40.0
            1    1     170.0
        """
        return data_frame(self.table(component))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw a map of the network: buses near those they have a line to.

        The map shows which buses have a load and which a generator, but no size of either. Up to
        60 buses it shows their numbers.

        Args:
            ax: The Matplotlib axes to draw in; None makes new ones.

        Returns:
            The axes.

        Raises:
            GridveilError: Matplotlib is not installed.

        Example:
            >>> from gridveil import load_case
            >>> load_case("case5_pjm").plot().get_title()
            'pglib_opf_case5_pjm'
        """
        return plot_components(self.name, self.buses, self.loads, self.generators, self.lines, ax)

    def _buses_table(self) -> dict[str, Any]:
        buses, mva = self.buses, self.base_mva
        return {
            "bus": buses.number,
            "v_min": buses.v_min,
            "v_max": buses.v_max,
            "shunt_mw": buses.shunt_g * mva,
            "shunt_mvar": buses.shunt_b * mva,
            "reference": buses.reference,
            "island": buses.island,
        }

    def _loads_table(self) -> dict[str, Any]:
        loads, mva = self.loads, self.base_mva
        return {
            "bus": self.buses.number[loads.bus],
            "number": loads.number,
            "p_mw": loads.p * mva,
            "q_mvar": loads.q * mva,
        }

    def _idle_loads_table(self) -> dict[str, Any]:
        idle, mva = self.idle_loads, self.base_mva
        return {
            "bus": idle.bus,
            "number": idle.number,
            "key": [load.key for load in idle.identities],
            "p_mw": idle.p * mva,
            "q_mvar": idle.q * mva,
        }

    def _generators_table(self) -> dict[str, Any]:
        gens, mva = self.generators, self.base_mva
        return {
            "generator": gens.row + 1,
            "bus": self.buses.number[gens.bus],
            "p_min_mw": gens.p_min * mva,
            "p_max_mw": gens.p_max * mva,
            "q_min_mvar": gens.q_min * mva,
            "q_max_mvar": gens.q_max * mva,
        }

    def _lines_table(self) -> dict[str, Any]:
        lines = self.lines
        return {
            "line": lines.row + 1,
            "from_bus": self.buses.number[lines.from_bus],
            "to_bus": self.buses.number[lines.to_bus],
            "r": lines.r,
            "x": lines.x,
            "b": lines.b,
            "tap": lines.tap,
            "shift_degrees": np.degrees(lines.shift),
            "rate_mva": lines.rate * self.base_mva,
            "angle_min_degrees": np.degrees(lines.angle_min),
            "angle_max_degrees": np.degrees(lines.angle_max),
        }


def released_idle_loads(network: Network) -> LoadList:
    """Return the idle loads of a network to be written: 0 unless it lists them as released."""
    idle, nothing = network.idle_loads, np.zeros(len(network.idle_loads))
    return idle if network.lists_idle_loads else replace(idle, p=nothing, q=nothing)
