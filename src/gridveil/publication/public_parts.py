"""What a release publishes as it is, listed for the owner before anything is drawn.

Some customers are not loads in a case file: a large consumer may be a generator whose output is
negative, a reactor a shunt. They are public with the rest of the model, unless the owner makes
loads of them first.
"""

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from gridveil.arrays import IntArray
from gridveil.network.load_tables import Place
from gridveil.network.network import Network
from gridveil.publication.post_processing import PostProcessing
from gridveil.publication.statements import COSTS, TARGET_DERIVED, TARGET_PUBLISHED

_SHOWN = 5
"""Components that are named; the others are counted."""


def public_parts(
    network: Network,
    provenance: str,
    kept: Collection[str],
    done: PostProcessing,
    ratings: str = "",
    target: str = COSTS,
) -> tuple[str, ...]:
    """Return what is published as it is, a phrase for each kind.

    Args:
        network: The network.
        provenance: Where what generators are held to comes from.
        kept: What of the source file is published as it stands.
        done: What is done to the private loads.
        ratings: Where the ratings of loads were published; empty where none are used.
        target: What generators are held to.
    """
    rated = (f"the rating of every load, from {ratings}",) if ratings else ()
    return (*_parts(network, provenance, kept, target), *rated, *_declared(network, done))


def _parts(network: Network, provenance: str, kept: Collection[str], target: str) -> Iterator[str]:
    buses, gens, lines = network.buses, network.generators, network.lines
    yield f"the name {network.name!r} and the base of {network.base_mva:g} MVA"
    yield _load_places(network)
    yield (
        f"{len(network.case.tables['bus'])} buses with numbers, areas, zones, base and limit "
        "voltages"
    )
    yield f"{len(lines)} lines and transformers in service: ends, impedances, taps, limits"
    costs = "cost functions" if network.has_costs else "without costs"
    yield f"{len(gens)} generators in service: bus, limits, {costs}"
    consumers = np.flatnonzero((gens.p_min < 0) & (gens.p_max <= 0))
    if len(consumers):
        names = [network.generator_name(g) for g in consumers]
        yield (
            f"{_count(names, 'consumer')} modelled as generators with negative output, with their "
            f"limits and costs: {_listed(names)}"
        )
    storage = np.flatnonzero((gens.p_min < 0) & (gens.p_max > 0))
    if len(storage):
        names = [network.generator_name(g) for g in storage]
        yield f"{_count(names, 'generator')} that can also consume: {_listed(names)}"
    shunts: IntArray = np.flatnonzero((buses.shunt_g != 0) | (buses.shunt_b != 0))
    if len(shunts):
        names = [network.bus_name(bus) for bus in shunts]
        yield f"the size of {_count(names, 'shunt')}: {_listed(names)}"
    out = {name: len(table) for name, table in network.case.tables.items()}
    idle = out["branch"] - len(lines) + out["gen"] - len(gens)
    if idle:
        yield f"{idle} lines and generators that are out of service, with all their columns"
    if provenance == TARGET_PUBLISHED:
        yield f"{target}, which {_was(target)} published before"
    if provenance == TARGET_DERIVED:
        yield f"{target} of the raw loads, by your declaration"
    yield from (f"{kind} of the source file, as they stand" for kind in kept)


def _was(target: str) -> str:
    return "were" if target == COSTS else "was"


def _declared(network: Network, done: PostProcessing) -> Iterator[str]:
    """Give what the owner declares of consumers."""
    consumers = done.consumers(network.load_buses)
    if consumers:
        names = [_place_name(place) for place in consumers]
        count = done.consumer_count
        loads = f"{count} load{'' if count == 1 else 's'}"
        yield f"that {loads} never {'feeds' if count == 1 else 'feed'} power back: {_listed(names)}"
    if done.power_factor is not None:
        yield f"that their power factor is {done.power_factor:g} or more"


def _load_places(network: Network) -> str:
    """Say that the places of loads are public, and that their sizes are not."""
    loads, buses = len(network.loads), len(set(network.load_buses))
    where = f"which {buses} buses have a load, but not how large it is"
    if loads > buses:
        where = f"which {buses} buses have how many of {loads} loads, but not how large each is"
    idle = len(network.listed_loads) - loads
    return f"{where}; the buses of {idle} loads that are out of service" if idle else where


def _place_name(place: Place) -> str:
    return f"bus {place}" if isinstance(place, int) else f"load {place[1]} of bus {place[0]}"


def _count(names: Sequence[str], noun: str) -> str:
    return f"{len(names)} {noun}{'' if len(names) == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
