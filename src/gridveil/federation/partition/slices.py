"""A party's slice of a network: all the data it needs, and none that is private to another party.

Of another party's component a slice holds only that it is connected to one of the party's buses,
and its owner. Of the bus at the far end of one of the party's lines it holds the number, the owner
and the voltage limits.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from gridveil.arrays import FloatArray
from gridveil.errors import document_errors
from gridveil.federation.names import check_party_name
from gridveil.files import read_file
from gridveil.network.source_loads import bus_key

FROM, TO = 0, 1
"""The ends of a line; of a load and a generator, which have one end, `FROM`."""


class _Record(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, ser_json_inf_nan="constants"
    )


Finite = Annotated[float, Field(allow_inf_nan=False)]


class Port(_Record):
    """A load, a generator or the end of a line, as the bus it is connected to sees it."""

    component: Literal["load", "generator", "line"]
    number: int
    end: Annotated[int, Field(ge=0)] = 0
    """Of a line: 0 for its from end, 1 for its to end. Of a load, whose number is that of its bus:
    which load of the bus it is, from 0."""
    owner: str


class SliceBus(_Record):
    """A bus of the party, with everything connected to it in a fixed order."""

    number: int
    v_min: Finite
    v_max: Finite
    shunt_g: Finite
    shunt_b: Finite
    reference: bool
    ports: tuple[Port, ...]


class SliceLoad(_Record):
    """A load of the party, with its true values, which are for the owner only."""

    bus: int
    number: Annotated[int, Field(ge=1)] = 1
    """Which load of the bus it is."""
    bus_owner: str
    p: Finite = Field(repr=False)
    q: Finite = Field(repr=False)
    keys: tuple[str, ...] = ()
    """Its accounts in a ledger; none in slices before 0.3, where it is known by its bus."""
    branches: tuple[str, ...] = ()
    """Digests of those branches at its bus that are the party's own, and of what is next to it."""

    @model_serializer(mode="wrap")
    def _without_number_one(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = whole(self)
        if self.number == 1:  # the only load of most buses
            content.pop("number", None)
        return content

    @property
    def port(self) -> tuple[int, int]:
        """The number and the end of its port."""
        return self.bus, self.number - 1


class SliceGenerator(_Record):
    """A generator of the party."""

    number: int
    bus: int
    bus_owner: str
    p_min: float
    p_max: float
    q_min: float
    q_max: float
    coefficients: tuple[Finite, ...]
    """Of its cost as a polynomial of p, in ascending powers."""
    segments: tuple[tuple[Finite, Finite], ...]
    """Slope and intercept of each segment, if its cost is piecewise linear."""
    public_cost: Finite
    """O*, in $/h."""


class LineEnd(_Record):
    """The bus at one end of a line."""

    bus: int
    owner: str
    v_min: Finite
    v_max: Finite


class SliceLine(_Record):
    """A line of the party."""

    number: int
    ends: tuple[LineEnd, LineEnd]
    r: Finite
    x: Finite
    b: Finite
    tap: Finite
    shift: Finite
    rate: float
    angle_min: float
    angle_max: float


class Slice(_Record):
    """What one party holds of a network, in p.u. on `base_mva`."""

    format: Literal["gridveil-slice-1"] = "gridveil-slice-1"
    party: str
    network: str
    network_id: str
    base_mva: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    costs_derived: str
    """Digest of O* if they were computed from the raw loads, else empty."""
    plausible_mva: tuple[Finite, float] | None = None
    """The distances α, in MVA, that can be meant for the network; slices before 0.3 lack them."""
    cost_scale: Finite
    """Σ|O*| of the whole network, which is public: the scale of rounding errors in costs."""
    buses: tuple[SliceBus, ...]
    loads: tuple[SliceLoad, ...]
    generators: tuple[SliceGenerator, ...]
    lines: tuple[SliceLine, ...]

    @model_validator(mode="after")
    def _check_connections(self) -> Self:
        """Refuse a slice whose buses and components contradict each other."""
        at_buses = [
            (port.component, port.number, port.end, bus.number)
            for bus in self.buses
            for port in bus.ports
            if port.owner == self.party
        ]
        connected = self._connected_components()
        at_own_buses = [component[:4] for component in connected if component[4] == self.party]
        if sorted(at_buses) != sorted(at_own_buses):
            odd = sorted(set(at_buses) ^ set(at_own_buses)) or [("a component", 0, 0, 0)]
            raise ValueError(
                f"{odd[0][0]} {odd[0][1]} at bus {odd[0][3]}: the bus and the component do not "
                "agree on where it is connected"
            )
        names = [component[:3] for component in connected]
        numbers = [bus.number for bus in self.buses]
        if len(set(names)) < len(names) or len(set(numbers)) < len(numbers):
            raise ValueError("a component or a bus is listed twice")
        for name in self.neighbours:
            check_party_name(name)
        return self

    def _connected_components(self) -> list[tuple[str, int, int, int, str]]:
        """Return kind, number and end of the party's components, with their bus and its owner."""
        return [
            *(("load", *load.port, load.bus, load.bus_owner) for load in self.loads),
            *(("generator", gen.number, FROM, gen.bus, gen.bus_owner) for gen in self.generators),
            *(
                ("line", line.number, i, end.bus, end.owner)
                for line in self.lines
                for i, end in enumerate(line.ends)
            ),
        ]

    @property
    def neighbours(self) -> tuple[str, ...]:
        """The parties it shares a bus with."""
        others = {port.owner for bus in self.buses for port in bus.ports}
        others |= {load.bus_owner for load in self.loads}
        others |= {generator.bus_owner for generator in self.generators}
        others |= {end.owner for line in self.lines for end in line.ends}
        return tuple(sorted(others - {self.party}))

    @property
    def load_buses(self) -> list[int]:
        """The number of each load's bus."""
        return [load.bus for load in self.loads]

    @property
    def load_places(self) -> list[tuple[int, int]]:
        """The bus of each load, and its number there."""
        return [(load.bus, load.number) for load in self.loads]

    @property
    def load_keys(self) -> list[tuple[str, ...]]:
        """The accounts of each load in a ledger."""
        return [load.keys or (bus_key(load.bus, load.number),) for load in self.loads]

    def true_loads(self) -> FloatArray:
        """Return the true loads, of shape (loads, 2)."""
        return np.array([(load.p, load.q) for load in self.loads]).reshape(-1, 2)


def read_slice(path: Path) -> Slice:
    """Read a slice from its file, or say what is wrong with it."""
    return parse_slice(read_file(path), str(path))


def parse_slice(data: bytes, source: str) -> Slice:
    """Read a slice from bytes; `source` says in messages where these came from."""
    with document_errors(source):
        return Slice.model_validate_json(data)
