"""A party's slice of a network: all that it knows, and nothing that is another party's.

Of others' components a slice has what its owner sees when looking at its own: that something is
connected to one of its buses, whose that is; and of the bus at the far end of its own line, the
number, the owner and the voltage limits that hold for the line there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gridveil.arrays import FloatArray
from gridveil.errors import told_as_mistakes
from gridveil.federation.names import check_party_name
from gridveil.federation.partition.ownership import GENERATOR, LINE, LOAD, Partition, numbers
from gridveil.files import read_file
from gridveil.network.case_file import CaseFile
from gridveil.network.components import Buses, Generators, Lines, Loads
from gridveil.network.costs import CostFunctions
from gridveil.network.network import Network
from gridveil.privacy.ledger import network_id

FROM, TO = 0, 1
T = TypeVar("T")


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, ser_json_inf_nan="constants"
    )


Finite = Annotated[float, Field(allow_inf_nan=False)]


class Port(_Part):
    """Something that is connected to a bus, and whose it is."""

    component: Literal["load", "generator", "line"]
    number: int
    end: Literal[0, 1] = 0
    """Of a line: its from end or its to end."""
    owner: str


class BusPart(_Part):
    """A bus of the party, with everything connected to it in a fixed order."""

    number: int
    v_min: Finite
    v_max: Finite
    shunt_g: Finite
    shunt_b: Finite
    reference: bool
    ports: tuple[Port, ...]


class LoadPart(_Part):
    """A load of the party, at its own or another's bus. The true values: for its owner alone."""

    bus: int
    bus_owner: str
    p: Finite = Field(repr=False)
    q: Finite = Field(repr=False)


class GeneratorPart(_Part):
    """A generator of the party."""

    number: int
    bus: int
    bus_owner: str
    p_min: float
    p_max: float
    q_min: float
    q_max: float
    coefficients: tuple[Finite, ...]
    """Of its cost as a polynomial of p, ascending."""
    segments: tuple[tuple[Finite, Finite], ...]
    """Slope and intercept of each piece, if its cost is piecewise linear."""
    public_cost: Finite
    """O*, in $/h."""


class End(_Part):
    """One end of a line."""

    bus: int
    owner: str
    v_min: Finite
    v_max: Finite


class LinePart(_Part):
    """A line of the party."""

    number: int
    ends: tuple[End, End]
    r: Finite
    x: Finite
    b: Finite
    tap: Finite
    shift: Finite
    rate: float
    angle_min: float
    angle_max: float


class Slice(_Part):
    """What one party holds of a network, in p.u. on `base_mva`."""

    format: Literal["gridveil-slice-1"] = "gridveil-slice-1"
    party: str
    network: str
    network_id: str
    base_mva: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    costs_derived: str
    """A digest of O* where it was computed from raw loads, else nothing."""
    cost_scale: Finite
    """Σ|O*| of the whole network, public: below a trillionth of it a cost is rounding."""
    buses: tuple[BusPart, ...]
    loads: tuple[LoadPart, ...]
    generators: tuple[GeneratorPart, ...]
    lines: tuple[LinePart, ...]

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        """Refuse a slice whose buses and components do not know of each other."""
        own = self.party
        at_buses = [
            (port.component, port.number, port.end, bus.number)
            for bus in self.buses
            for port in bus.ports
            if port.owner == own
        ]
        components: list[tuple[str, int, int, int, str]] = [
            *(("load", load.bus, FROM, load.bus, load.bus_owner) for load in self.loads),
            *(("generator", g.number, FROM, g.bus, g.bus_owner) for g in self.generators),
            *(
                ("line", line.number, i, end.bus, end.owner)
                for line in self.lines
                for i, end in enumerate(line.ends)
            ),
        ]
        at_home = [component[:4] for component in components if component[4] == own]
        if sorted(at_buses) != sorted(at_home):
            odd = sorted(set(at_buses) ^ set(at_home)) or [("something", 0, 0, 0)]
            raise ValueError(
                f"{odd[0][0]} {odd[0][1]} at bus {odd[0][3]}: its bus and itself do not agree on "
                "where it is connected"
            )
        names = [component[:3] for component in components]
        numbered = [bus.number for bus in self.buses]
        if len(set(names)) < len(names) or len(set(numbered)) < len(numbered):
            raise ValueError("something is there twice")
        for name in self.neighbours:
            check_party_name(name)
        return self

    @property
    def neighbours(self) -> tuple[str, ...]:
        """The parties it shares a bus with."""
        others = {port.owner for bus in self.buses for port in bus.ports}
        others |= {load.bus_owner for load in self.loads}
        others |= {generator.bus_owner for generator in self.generators}
        others |= {end.owner for line in self.lines for end in line.ends}
        return tuple(sorted(others - {self.party}))

    def own_loads(self) -> FloatArray:
        """Return the true loads, of shape (loads, 2)."""
        return np.array([(load.p, load.q) for load in self.loads]).reshape(-1, 2)

    def part(self) -> Network:
        """Return its components as a network: its own buses first, then the far ends."""
        own = [bus.number for bus in self.buses]
        ends = {end.bus: end for line in self.lines for end in line.ends}
        far = {load.bus for load in self.loads} | {gen.bus for gen in self.generators} | {*ends}
        buses = [*own, *sorted(far - {*own})]
        index = {number: i for i, number in enumerate(buses)}
        limits = {number: (end.v_min, end.v_max) for number, end in ends.items()}
        limits |= {bus.number: (bus.v_min, bus.v_max) for bus in self.buses}
        v_min, v_max = (
            np.array([limits.get(number, (1.0, 1.0)) for number in buses]).reshape(-1, 2).T
        )
        padding = np.zeros(len(buses) - len(own))

        def column(values: Sequence[float]) -> FloatArray:
            return np.concatenate([np.array(values, dtype=float), padding])

        unknown = np.full(len(buses), -1)
        loads, gens, lines = self.loads, self.generators, self.lines
        order = max((len(gen.coefficients) for gen in gens), default=1)
        pieces = [(g, piece) for g, gen in enumerate(gens) for piece in gen.segments]
        return Network(
            name=self.network,
            base_mva=self.base_mva,
            buses=Buses(
                number=np.array(buses, dtype=np.int64),
                v_min=v_min,
                v_max=v_max,
                shunt_g=column([bus.shunt_g for bus in self.buses]),
                shunt_b=column([bus.shunt_b for bus in self.buses]),
                reference=column([bus.reference for bus in self.buses]).astype(bool),
                island=np.zeros(len(buses), dtype=np.int64),
                row=unknown,
            ),
            loads=Loads(
                bus=np.array([index[load.bus] for load in loads], dtype=np.int64),
                p=self.own_loads()[:, 0],
                q=self.own_loads()[:, 1],
                row=np.full(len(loads), -1),
            ),
            generators=Generators(
                bus=np.array([index[gen.bus] for gen in gens], dtype=np.int64),
                **{
                    name: np.array([getattr(gen, name) for gen in gens], dtype=float)
                    for name in ("p_min", "p_max", "q_min", "q_max")
                },
                costs=CostFunctions(
                    coefficients=np.array(
                        [
                            (*gen.coefficients, *[0.0] * (order - len(gen.coefficients)))
                            for gen in gens
                        ]
                    ).reshape(len(gens), order),
                    segment_generator=np.array([g for g, _ in pieces], dtype=np.int64),
                    segment_slope=np.array([slope for _, (slope, _) in pieces], dtype=float),
                    segment_intercept=np.array([base for _, (_, base) in pieces], dtype=float),
                ),
                row=np.array([gen.number - 1 for gen in gens], dtype=np.int64),
            ),
            lines=Lines(
                from_bus=np.array([index[line.ends[FROM].bus] for line in lines], dtype=np.int64),
                to_bus=np.array([index[line.ends[TO].bus] for line in lines], dtype=np.int64),
                **{
                    name: np.array([getattr(line, name) for line in lines], dtype=float)
                    for name in ("r", "x", "b", "tap", "shift", "rate", "angle_min", "angle_max")
                },
                row=np.array([line.number - 1 for line in lines], dtype=np.int64),
            ),
            case=CaseFile(self.party, self.network, "", self.base_mva, {}, {}),
        )


def split(
    network: Network, partition: Partition, costs: FloatArray, costs_derived: str = ""
) -> list[Slice]:
    """Cut a network into the slices of its parties, by name; `costs` are the public O*.

    `costs_derived` is their digest if they were computed from raw loads.
    """
    ports = _ports(network, partition)
    buses, gens = network.buses, network.generators
    number = buses.number.tolist()
    own_buses = [
        BusPart(
            number=number[i],
            v_min=float(buses.v_min[i]),
            v_max=float(buses.v_max[i]),
            shunt_g=float(buses.shunt_g[i]),
            shunt_b=float(buses.shunt_b[i]),
            reference=bool(buses.reference[i]),
            ports=tuple(ports[i]),
        )
        for i in range(len(buses))
    ]
    own_loads = [
        LoadPart(bus=number[bus], bus_owner=partition.buses[bus], p=p, q=q)
        for bus, p, q in zip(
            network.loads.bus.tolist(),
            network.loads.p.tolist(),
            network.loads.q.tolist(),
            strict=True,
        )
    ]
    own_gens = [
        GeneratorPart(
            number=int(gens.row[g]) + 1,
            bus=number[bus],
            bus_owner=partition.buses[bus],
            **{
                name: float(getattr(gens, name)[g]) for name in ("p_min", "p_max", "q_min", "q_max")
            },
            coefficients=tuple(gens.costs.coefficients[g].tolist()),
            segments=_segments(gens.costs, g),
            public_cost=float(costs[g]),
        )
        for g, bus in enumerate(gens.bus.tolist())
    ]
    own_lines = [_line(network, partition, k) for k in range(len(network.lines))]
    return [
        Slice(
            party=party,
            network=network.name,
            network_id=network_id(network),
            base_mva=network.base_mva,
            costs_derived=costs_derived,
            cost_scale=float(np.abs(costs).sum()),
            buses=_of(party, partition.buses, own_buses),
            loads=_of(party, partition.loads, own_loads),
            generators=_of(party, partition.generators, own_gens),
            lines=_of(party, partition.lines, own_lines),
        )
        for party in partition.parties
    ]


def read_slice(path: Path) -> Slice:
    """Read a slice, or say what is wrong with it."""
    return parse_slice(read_file(path), str(path))


def parse_slice(data: bytes, where: str) -> Slice:
    """Read a slice from bytes that came from somewhere."""
    with told_as_mistakes(where):
        return Slice.model_validate_json(data)


def _of(party: str, owners: Sequence[str], parts: Sequence[T]) -> tuple[T, ...]:
    return tuple(part for owner, part in zip(owners, parts, strict=True) if owner == party)


def _segments(costs: CostFunctions, generator: int) -> tuple[tuple[float, float], ...]:
    own = costs.segment_generator == generator
    pieces = zip(
        costs.segment_slope[own].tolist(), costs.segment_intercept[own].tolist(), strict=True
    )
    return tuple(pieces)


def _line(network: Network, partition: Partition, k: int) -> LinePart:
    lines, buses = network.lines, network.buses
    ends = tuple(
        End(
            bus=int(buses.number[bus]),
            owner=partition.buses[bus],
            v_min=float(buses.v_min[bus]),
            v_max=float(buses.v_max[bus]),
        )
        for bus in (int(lines.from_bus[k]), int(lines.to_bus[k]))
    )
    names = ("r", "x", "b", "tap", "shift", "rate", "angle_min", "angle_max")
    return LinePart(
        number=int(lines.row[k]) + 1,
        ends=(ends[0], ends[1]),
        **{name: float(getattr(lines, name)[k]) for name in names},
    )


def _ports(network: Network, partition: Partition) -> list[list[Port]]:
    """Return what is connected to each bus: loads, generators, from ends and to ends, by number."""
    ports: list[list[Port]] = [[] for _ in range(len(network.buses))]
    named, lines = numbers(network), network.lines
    kinds = (
        (LOAD, network.loads.bus, partition.loads, FROM),
        (GENERATOR, network.generators.bus, partition.generators, FROM),
        (LINE, lines.from_bus, partition.lines, FROM),
        (LINE, lines.to_bus, partition.lines, TO),
    )
    for kind, at, owners, end in kinds:
        for bus, number, owner in zip(at.tolist(), named[kind], owners, strict=True):
            ports[bus].append(
                Port.model_validate(
                    {"component": kind, "number": number, "end": end, "owner": owner}
                )
            )
    return ports
