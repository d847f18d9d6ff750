"""The layout of a network's agents, and of a party's."""

import numpy as np
import pytest

from gridveil import load_case
from gridveil.admm.initial_state import flat_state
from gridveil.admm.layout import (
    FOREIGN_GENERATORS,
    FOREIGN_LINES,
    FOREIGN_LOADS,
    GENERATORS,
    LOADS,
    build_layout,
)
from gridveil.admm.policy import Policy
from gridveil.federation.partition.local_agents import build_local_agents
from gridveil.federation.partition.ownership import partition
from gridveil.federation.partition.splitting import split
from gridveil.fidelity.bands import limit_bands


def parties(name, count):
    """Return the slices of a network cut into parties, and their layouts."""
    network = load_case(name)
    parts = split(network, partition(network, count), "derived", declare_public="costs")
    return [(part, build_local_agents(part, 0.1).layout) for part in parts]


@pytest.fixture(scope="module")
def small():
    return parties("case14_ieee", 4)


def test_a_network_has_all_its_components():
    network = load_case("case14_ieee")
    layout = build_layout(network, [band.intervals for band in limit_bands(network.generators)])
    assert (layout.loads, layout.generators) == (len(network.loads), len(network.generators))
    assert layout.first_generator == 2 * len(network.loads)
    assert layout.group.min() == LOADS
    assert layout.group.max() == layout.groups + FOREIGN_LOADS - 1  # nothing is foreign here


def test_a_party_counts_its_own_components_only(small):
    for part, layout in small:
        assert layout.loads == len(part.loads)
        assert layout.generators == len(part.generators)
    foreign = [port for part, _ in small for bus in part.buses for port in bus.ports
               if port.owner != part.party]  # fmt: skip
    assert foreign  # or the counts above would say nothing


def test_foreign_components_have_groups_of_their_own(small):
    place = {"load": FOREIGN_LOADS, "generator": FOREIGN_GENERATORS, "line": FOREIGN_LINES}
    width = {"load": 2, "generator": 2, "line": 4}
    for part, layout in small:
        counts = np.bincount(layout.group, minlength=layout.groups)
        expected = dict.fromkeys(place, 0)
        for bus in part.buses:
            for port in bus.ports:
                if port.owner != part.party:
                    expected[port.component] += width[port.component]
        assert {kind: counts[group] for kind, group in place.items()} == expected
        assert counts[LOADS] == 2 * len(part.loads)
        assert counts[GENERATORS] == 2 * len(part.generators)
        assert len(flat_state(layout, np.zeros(2 * layout.loads), Policy.FAST).window_gap) == len(
            counts
        )
