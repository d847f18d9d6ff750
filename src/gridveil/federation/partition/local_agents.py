"""A party's agents as arrays, and which entries of its shared vectors it exchanges with whom.

The shared vectors hold the party's loads and generators first, then the components of others at
its buses (foreign components), then its lines. So the same compiled functions serve one party and
a whole network.
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
from gridveil.federation.partition.slice_network import slice_network
from gridveil.federation.partition.slices import FROM, TO, Port, Slice
from gridveil.fidelity.bands import cost_bands
from gridveil.network.flows import P_FROM, P_TO, Q_FROM, Q_TO

_SIGN = {"load": -1.0, "generator": 1.0, "line": -1.0}
_FOREIGN_GROUP = {
    "load": FOREIGN_LOADS,
    "generator": FOREIGN_GENERATORS,
    "line": FOREIGN_LINES,
}
_ENTRIES = {"load": 2, "generator": 2, "line": 4}
"""Entries that a component, or the end of a line, shares with its bus: p, q, and of a line w, θ."""
_P, _Q, _W, _ANGLE = range(4)
_POWERS = {FROM: (P_FROM, Q_FROM), TO: (P_TO, Q_TO)}
_DIGEST_BYTES = 16
_Key = tuple[str, int, int]
"""Kind, number and end of a component."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """The entries of the shared vectors that a party exchanges with one neighbour.

    Both sides have the same order.
    """

    neighbour: str
    away: IntArray
    """Its own components at the neighbour's buses: it sends their x and receives their z."""
    away_lines: IntArray
    """The lines among them, of which it also sends the penalties."""
    foreign: IntArray
    """The neighbour's components at its own buses: it receives their x and sends their z."""
    foreign_lines: IntArray
    digest: bytes
    """Of the names of all these components; the same on both sides."""


@dataclass(frozen=True, eq=False)
class LocalAgents:
    """The agents of a party."""

    layout: Layout
    exchanges: tuple[Exchange, ...]

    @property
    def neighbours(self) -> list[str]:
        """The parties it exchanges entries with."""
        return [exchange.neighbour for exchange in self.exchanges]


def build_local_agents(party_slice: Slice, beta: float) -> LocalAgents:
    """Lay out the agents of a party. The values of its loads are not used."""
    network = slice_network(party_slice)
    costs = np.array([generator.public_cost for generator in party_slice.generators])
    bands = cost_bands(network, costs, beta, scale=party_slice.cost_scale)
    own = build_layout(network, [band.intervals for band in bands])
    foreign = [
        port for bus in party_slice.buses for port in bus.ports if port.owner != party_slice.party
    ]
    entries = [_ENTRIES[port.component] for port in foreign]
    places = _own_places(party_slice, own, sum(entries))
    place = own.first_line
    for port, count in zip(foreign, entries, strict=True):
        places[_key(port)] = np.arange(place, place + count)
        place += count
    kinds = [
        _FOREIGN_GROUP[port.component]
        for port, count in zip(foreign, entries, strict=True)
        for _ in range(count)
    ]
    groups = own.groups + np.array(kinds, dtype=np.int64)
    layout = _party_layout(party_slice, own, places, groups)
    return LocalAgents(layout, tuple(_exchanges(party_slice, places)))


def _own_places(party_slice: Slice, own: Layout, foreign: int) -> dict[_Key, IntArray]:
    """Return the entries of the party's components: p, q and, of the end of a line, w and θ.

    `foreign` entries of others stand before the lines.
    """
    loads, gens = len(party_slice.loads), len(party_slice.generators)
    places: dict[_Key, IntArray] = {}
    for i, load in enumerate(party_slice.loads):
        places["load", *load.port] = np.array([i, loads + i])
    for g, generator in enumerate(party_slice.generators):
        place = 2 * loads + g
        places["generator", generator.number, FROM] = np.array([place, place + gens])
    lines = own.first_line + foreign
    copies = lines + np.arange(LINE_COPIES * len(party_slice.lines)).reshape(LINE_COPIES, -1)
    for k, line in enumerate(party_slice.lines):
        for end in (FROM, TO):
            shared = (*_POWERS[end], VOLTAGES[end], ANGLES[end])
            places["line", line.number, end] = copies[shared, k]
    return places


def _party_layout(
    party_slice: Slice, own: Layout, places: dict[_Key, IntArray], foreign_groups: IntArray
) -> Layout:
    """Return the layout with the party's buses only, and with the foreign components at them."""
    ports = [places[_key(port)] for bus in party_slice.buses for port in bus.ports]
    sign = [_SIGN[port.component] for bus in party_slice.buses for port in bus.ports]
    ends = [place for place in ports if len(place) == _ENTRIES["line"]]
    ends_at = [sum(port.component == "line" for port in bus.ports) for bus in party_slice.buses]
    buses = len(party_slice.buses)
    return own._replace(
        port_start=np.cumsum([0, *(len(bus.ports) for bus in party_slice.buses)]),
        port_p=_column(ports, _P),
        port_q=_column(ports, _Q),
        port_sign=np.array(sign, dtype=float),
        end_start=np.cumsum([0, *ends_at]),
        end_w=_column(ends, _W),
        end_angle=_column(ends, _ANGLE),
        shunt_g=own.shunt_g[:buses].copy(),
        shunt_b=own.shunt_b[:buses].copy(),
        w_min=own.w_min[:buses].copy(),
        w_max=own.w_max[:buses].copy(),
        reference=own.reference[:buses].copy(),
        group=np.insert(own.group, own.first_line, foreign_groups),
    )


def _exchanges(party_slice: Slice, places: dict[_Key, IntArray]) -> Iterable[Exchange]:
    """Give the exchange with each neighbour, its components sorted by kind, number and end."""
    at_buses_of: list[tuple[str, _Key]] = [
        *((load.bus_owner, ("load", *load.port)) for load in party_slice.loads),
        *((gen.bus_owner, ("generator", gen.number, FROM)) for gen in party_slice.generators),
        *(
            (line.ends[end].owner, ("line", line.number, end))
            for line in party_slice.lines
            for end in (FROM, TO)
        ),
    ]
    at_own_buses = [(port.owner, _key(port)) for bus in party_slice.buses for port in bus.ports]
    for neighbour in party_slice.neighbours:
        away = sorted(key for owner, key in at_buses_of if owner == neighbour)
        foreign = sorted(key for owner, key in at_own_buses if owner == neighbour)
        names = sorted({party_slice.party: away, neighbour: foreign}.items())
        text = f"{party_slice.network_id} {names}"
        yield Exchange(
            neighbour=neighbour,
            away=_entries(away, places),
            away_lines=_entries(_lines_of(away), places),
            foreign=_entries(foreign, places),
            foreign_lines=_entries(_lines_of(foreign), places),
            digest=hashlib.sha256(text.encode()).digest()[:_DIGEST_BYTES],
        )


def _lines_of(keys: list[_Key]) -> list[_Key]:
    return [key for key in keys if key[0] == "line"]


def _entries(keys: list[_Key], places: dict[_Key, IntArray]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(places[key] for key in keys)])


def _column(places: list[IntArray], i: int) -> IntArray:
    return np.array([place[i] for place in places], dtype=np.int64)


def _key(port: Port) -> _Key:
    return port.component, port.number, port.end
