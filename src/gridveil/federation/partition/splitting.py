"""Splits a network into the slices of its parties."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from gridveil.arrays import FloatArray
from gridveil.errors import GridveilError
from gridveil.federation.partition.ownership import (
    GENERATOR,
    LINE,
    LOAD,
    Partition,
    as_partition,
)
from gridveil.federation.partition.slices import (
    FROM,
    TO,
    LineEnd,
    Port,
    Slice,
    SliceBus,
    SliceGenerator,
    SliceLine,
    SliceLoad,
)
from gridveil.network.costs import CostFunctions
from gridveil.network.library import as_network
from gridveil.network.network import Network
from gridveil.network.surroundings import surroundings
from gridveil.privacy.ledger.owner import network_id
from gridveil.privacy.plausible_distance import plausible_range
from gridveil.publication.costs import CostsLike, PublicCosts, derived_costs
from gridveil.publication.folder import write_folder
from gridveil.publication.target_choice import TargetChoice, choose_target
from gridveil.publication.targets import Provenance

T = TypeVar("T")


def split(
    network: Network | str | Path,
    partition: Partition | str | Path,
    costs: CostsLike | None = None,
    costs_source: str = "",
    declare_public: Collection[str] | str = (),
) -> list[Slice]:
    """Split a network into the slices of its parties, sorted by name.

    Slices hold true loads: each is for its party only.

    Args:
        network: The network, its name or its file.
        partition: Who owns what, or the CSV file that says so.
        costs: The costs O* of the generators in $/h: known ones, an array of them, a CSV file, or
            "derived", computed from the raw loads, which no noise protects. Private costs follow
            from private loads, which nobody has yet.
        costs_source: Where known costs were published.
        declare_public: "costs": the owner declares costs public that are derived.

    Raises:
        GridveilError: Partition or costs do not fit the network.

    Example:
        >>> from gridveil.federation.partition.ownership import partition
        >>> owned = partition("case14_ieee", parties=3)
        >>> slices = split("case14_ieee", owned, "derived", declare_public="costs")
        >>> slices[0].party, slices[0].neighbours
        ('party-1', ('party-2', 'party-3'))
    """
    choice = choose_costs(as_network(network), costs, costs_source, declare_public)
    network, public = choice.network, _costs(choice, costs)
    owned = as_partition(partition, network)
    buses = _buses(network, owned)
    loads = _loads(network, owned)
    generators = _generators(network, owned, public.values)
    lines = _lines(network, owned)
    return [
        Slice(
            party=party,
            network=network.name,
            network_id=network_id(network),
            base_mva=network.base_mva,
            costs_derived=public.derived_digest,
            plausible_mva=plausible_range(network),
            cost_scale=float(np.abs(public.values).sum()),
            buses=_owned_by(party, owned.buses, buses),
            loads=_owned_by(party, owned.loads, loads),
            generators=_owned_by(party, owned.generators, generators),
            lines=_owned_by(party, owned.lines, lines),
        )
        for party in owned.parties
    ]


def choose_costs(
    network: Network,
    costs: CostsLike | None,
    source: str,
    declare_public: Collection[str] | str,
) -> TargetChoice:
    """Return what costs parties keep, or refuse a network that has none: parties know no others."""
    choice = choose_target(network, None, costs, source, None, "", declare_public)
    if not choice.band.on_costs:
        raise GridveilError(
            f"{network.name} has no generator costs, and parties keep bands on costs only. Give "
            "marginal costs (--costs FILE; with_marginal_costs in Python), or make the release in "
            "one place: gridveil release --band dispatch"
        )
    return choice


def _costs(choice: TargetChoice, costs: CostsLike | None) -> PublicCosts:
    if isinstance(costs, PublicCosts):
        return costs
    if isinstance(choice.known, PublicCosts):
        return choice.known
    if choice.provenance is Provenance.DERIVED:
        return derived_costs(choice.network)
    raise GridveilError(
        "--costs (costs in Python): a slice holds the costs O* of its generators, and private ones "
        "follow from loads that no party has drawn yet. Give costs that were published "
        "(--costs FILE --costs-source TEXT), or '--costs derived --declare-public costs'. The "
        "command 'gridveil federate' draws first, and has private costs"
    )


def write_slices(slices: Sequence[Slice], folder: Path) -> None:
    """Write each slice as PARTY.json into a new folder that only its owner can read."""
    files = {f"{each.party}.json": each.model_dump_json(indent=1).encode() for each in slices}
    write_folder(folder, files, private=True)


def _owned_by(party: str, owners: Sequence[str], components: Sequence[T]) -> tuple[T, ...]:
    return tuple(each for owner, each in zip(owners, components, strict=True) if owner == party)


def _buses(network: Network, partition: Partition) -> list[SliceBus]:
    buses, ports = network.buses, _ports(network, partition)
    return [
        SliceBus(
            number=int(buses.number[i]),
            v_min=float(buses.v_min[i]),
            v_max=float(buses.v_max[i]),
            shunt_g=float(buses.shunt_g[i]),
            shunt_b=float(buses.shunt_b[i]),
            reference=bool(buses.reference[i]),
            ports=tuple(ports[i]),
        )
        for i in range(len(buses))
    ]


def _ports(network: Network, partition: Partition) -> list[list[Port]]:
    """Return the ports of each bus: loads, generators, from ends and to ends, by number."""
    ports: list[list[Port]] = [[] for _ in range(len(network.buses))]
    loads, gens, lines = network.loads, network.generators, network.lines
    line, start, to = lines.row + 1, np.full(len(lines), FROM), np.full(len(lines), TO)
    load, gen = network.buses.number[loads.bus], gens.row + 1
    connections = (
        (LOAD, loads.bus, load, loads.number - 1, partition.loads),
        (GENERATOR, gens.bus, gen, np.full(len(gens), FROM), partition.generators),
        (LINE, lines.from_bus, line, start, partition.lines),
        (LINE, lines.to_bus, line, to, partition.lines),
    )
    for component, buses, *columns, owners in connections:
        numbers, ends = (column.tolist() for column in columns)
        for bus, number, end, owner in zip(buses.tolist(), numbers, ends, owners, strict=True):
            ports[bus].append(
                Port.model_validate(
                    {"component": component, "number": number, "end": end, "owner": owner}
                )
            )
    return ports


def _loads(network: Network, partition: Partition) -> list[SliceLoad]:
    number = network.buses.number.tolist()
    own = {
        party: set(network.lines.row[[owner == party for owner in partition.lines]].tolist())
        for party in partition.parties
    }
    around = {party: surroundings(network, network.load_buses, rows) for party, rows in own.items()}
    return [
        SliceLoad(
            bus=number[bus],
            number=place[1],
            bus_owner=partition.buses[bus],
            p=p,
            q=q,
            keys=(identity.key,),
            branches=tuple(sorted(around[owner][i])),
        )
        for i, (bus, place, (p, q), identity, owner) in enumerate(
            zip(
                network.loads.bus.tolist(),
                network.listed_loads.places,
                network.loads.values.tolist(),
                network.load_identities,
                partition.loads,
                strict=True,
            )
        )
    ]


def _generators(network: Network, partition: Partition, costs: FloatArray) -> list[SliceGenerator]:
    gens = network.generators
    limits = ("p_min", "p_max", "q_min", "q_max")
    return [
        SliceGenerator(
            number=int(gens.row[g]) + 1,
            bus=int(network.buses.number[bus]),
            bus_owner=partition.buses[bus],
            **{name: float(getattr(gens, name)[g]) for name in limits},
            coefficients=tuple(gens.costs.coefficients[g].tolist()),
            segments=_segments(gens.costs, g),
            public_cost=float(costs[g]),
        )
        for g, bus in enumerate(gens.bus.tolist())
    ]


def _segments(costs: CostFunctions, generator: int) -> tuple[tuple[float, float], ...]:
    own = costs.segment_generator == generator
    slopes, intercepts = costs.segment_slope[own].tolist(), costs.segment_intercept[own].tolist()
    return tuple(zip(slopes, intercepts, strict=True))


def _lines(network: Network, partition: Partition) -> list[SliceLine]:
    lines = network.lines
    parameters = ("r", "x", "b", "tap", "shift", "rate", "angle_min", "angle_max")
    return [
        SliceLine(
            number=int(lines.row[k]) + 1,
            ends=(
                _line_end(network, partition, int(lines.from_bus[k])),
                _line_end(network, partition, int(lines.to_bus[k])),
            ),
            **{name: float(getattr(lines, name)[k]) for name in parameters},
        )
        for k in range(len(lines))
    ]


def _line_end(network: Network, partition: Partition, bus: int) -> LineEnd:
    return LineEnd(
        bus=int(network.buses.number[bus]),
        owner=partition.buses[bus],
        v_min=float(network.buses.v_min[bus]),
        v_max=float(network.buses.v_max[bus]),
    )
