"""A party's agents as arrays, and where in them the numbers stand that it shares with others.

The shared vectors hold its own loads and generators, then the copies of others' components at its
buses, then its own lines: the same compiled rounds then serve a party and a whole network.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gridveil.admm.layout import (
    ANGLES,
    FOREIGN_GENERATORS,
    FOREIGN_LINES,
    FOREIGN_LOADS,
    LINE_COPIES,
    VOLTAGES,
    Layout,
    build_layout,
)
from gridveil.arrays import IntArray
from gridveil.federation.partition.slices import FROM, TO, Port, Slice
from gridveil.fidelity.bands import cost_bands
from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO

_SIGN = {"load": -1.0, "generator": 1.0, "line": -1.0}
_FOREIGN_GROUP = {
    "load": FOREIGN_LOADS,
    "generator": FOREIGN_GENERATORS,
    "line": FOREIGN_LINES,
}
_POWERS = {FROM: (P_FROM, Q_FROM), TO: (P_TO, Q_TO)}
_Key = tuple[str, int, int]
"""Kind, number and end of a component."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """Where the numbers stand that a party shares with one neighbour, in an order both know."""

    neighbour: str
    out: IntArray
    """Its own components at the neighbour's buses: copies go out, answers come back."""
    out_lines: IntArray
    """Those of them that are lines': their penalties go along."""
    into: IntArray
    """The neighbour's components at its own buses: copies come in, answers go back."""
    into_lines: IntArray
    agreement: bytes
    """A digest of what both call these numbers, the same on both sides."""


@dataclass(frozen=True, eq=False)
class Local:
    """The agents of a party."""

    layout: Layout
    exchanges: tuple[Exchange, ...]


def build_local(part: Slice, beta: float) -> Local:
    """Lay out the agents of a party. The values of its loads play no part."""
    network = part.part()
    costs = np.array([generator.public_cost for generator in part.generators])
    bands = cost_bands(network, costs, beta, scale=part.cost_scale)
    own = build_layout(network, [band.intervals for band in bands])
    foreign = [port for bus in part.buses for port in bus.ports if port.owner != part.party]
    widths = [4 if port.component == "line" else 2 for port in foreign]
    first, count = own.first_line, sum(widths)
    where = _own_places(part, own, count)
    group = np.empty(count, dtype=np.int64)
    place = first
    for port, width in zip(foreign, widths, strict=True):
        where[_key(port)] = np.arange(place, place + width)
        kind = _FOREIGN_GROUP[port.component]
        group[place - first : place - first + width] = own.groups + kind
        place += width
    return Local(_with_buses(part, own, where, group), tuple(_exchanges(part, where)))


def _own_places(part: Slice, own: Layout, foreign: int) -> dict[_Key, IntArray]:
    """Return where p, q and, of the end of a line, w and θ of the party's components stand."""
    loads, gens = len(part.loads), len(part.generators)
    where: dict[_Key, IntArray] = {}
    for i, load in enumerate(part.loads):
        where["load", load.bus, FROM] = np.array([i, loads + i])
    for g, generator in enumerate(part.generators):
        place = 2 * loads + g
        where["generator", generator.number, FROM] = np.array([place, place + gens])
    lines = own.first_line + foreign
    copies = lines + np.arange(LINE_COPIES * len(part.lines)).reshape(LINE_COPIES, -1)
    for k, line in enumerate(part.lines):
        for end in (FROM, TO):
            things = (*_POWERS[end], VOLTAGES[end], ANGLES[end])
            where["line", line.number, end] = copies[things, k]
    return where


def _with_buses(part: Slice, own: Layout, where: dict[_Key, IntArray], group: IntArray) -> Layout:
    """Return the layout with the party's buses alone, and with others' components at them."""
    ports = [where[_key(port)] for bus in part.buses for port in bus.ports]
    ends = [places for places in ports if len(places) == 4]
    count = len(part.buses)
    sign = [_SIGN[port.component] for bus in part.buses for port in bus.ports]
    at_bus = [sum(port.component == "line" for port in bus.ports) for bus in part.buses]
    return own._replace(
        port_start=np.cumsum([0, *(len(bus.ports) for bus in part.buses)]),
        port_p=_column(ports, 0),
        port_q=_column(ports, 1),
        port_sign=np.array(sign, dtype=float),
        end_start=np.cumsum([0, *at_bus]),
        end_w=_column(ends, 2),
        end_angle=_column(ends, 3),
        shunt_g=own.shunt_g[:count].copy(),
        shunt_b=own.shunt_b[:count].copy(),
        w_min=own.w_min[:count].copy(),
        w_max=own.w_max[:count].copy(),
        reference=own.reference[:count].copy(),
        group=np.insert(own.group, own.first_line, group),
    )


def _exchanges(part: Slice, where: dict[_Key, IntArray]) -> Iterable[Exchange]:
    """Give what is shared with each neighbour, sorted by kind, number and end."""
    away: list[tuple[str, _Key]] = [
        *((load.bus_owner, ("load", load.bus, FROM)) for load in part.loads),
        *((gen.bus_owner, ("generator", gen.number, FROM)) for gen in part.generators),
        *(
            (line.ends[end].owner, ("line", line.number, end))
            for line in part.lines
            for end in (FROM, TO)
        ),
    ]
    visiting = [(port.owner, _key(port)) for bus in part.buses for port in bus.ports]
    for neighbour in part.neighbours:
        out = sorted(key for owner, key in away if owner == neighbour)
        into = sorted(key for owner, key in visiting if owner == neighbour)
        told = {part.party: out, neighbour: into}
        text = f"{part.network_id} {sorted(told.items())}"
        yield Exchange(
            neighbour=neighbour,
            out=_places(out, where),
            out_lines=_places([key for key in out if key[0] == "line"], where),
            into=_places(into, where),
            into_lines=_places([key for key in into if key[0] == "line"], where),
            agreement=hashlib.sha256(text.encode()).digest()[:16],
        )


def _places(keys: list[_Key], where: dict[_Key, IntArray]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(where[key] for key in keys)])


def _column(places: list[IntArray], i: int) -> IntArray:
    return np.array([place[i] for place in places], dtype=np.int64)


def _key(port: Port) -> _Key:
    return port.component, port.number, port.end
